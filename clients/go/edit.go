package adjourn

import (
	"context"

	"github.com/adjourn/adjourn-go/internal/wire"
)

// EditOption is one part of a job that [Client.Edit] changes. [Body], [Headers] and the options that begin with Without are
// made for it. It also takes [IfVersion], and of the options of a push [Delay], [At], [Priority], [TTR], [Attempts],
// [RetryBackoff], [ExpiresAfter], [ExpiresAt], [Remember] and [Group].
type EditOption interface {
	edit(e *edit) error
}

// edit is what the options of one call say.
type edit struct {
	job       NewJob // the new values
	changed   uint16 // the parts that have a new value
	removed   uint16 // the parts that are taken away
	ifVersion uint64
}

type editFunc func(e *edit)

func (f editFunc) edit(e *edit) error {
	f(e)
	return nil
}

func (o PushOption) edit(e *edit) error {
	e.job.parts = 0
	o(&e.job)
	if e.job.parts == 0 {
		return usage("an option of a push that Edit does not take: to change headers, use Headers")
	}
	e.changed |= e.job.parts
	return nil
}

func (o RescheduleOption) edit(e *edit) error {
	e.ifVersion = o.ifVersion
	return nil
}

// Body is the new body: bytes go as they are, a string as text, anything else by the client's codec. The header content-type
// goes with it, as in a push.
func Body(body any) EditOption {
	return editFunc(func(e *edit) {
		e.job.Body = body
		e.changed |= wire.EditedBody
	})
}

// Headers replaces all headers of the job but content-type, which goes with the body unless it is given here.
func Headers(headers ...Header) EditOption {
	return editFunc(func(e *edit) {
		e.job.Headers = append([]Header(nil), headers...)
		e.changed |= wire.EditedHeaders
	})
}

// WithoutHeaders takes all headers but content-type away.
func WithoutHeaders() EditOption { return without(wire.EditedHeaders) }

// WithoutExpiry takes the expiry away: the topic's default counts, if it has one.
func WithoutExpiry() EditOption { return without(wire.EditedExpires) }

// WithoutAttempts takes the limit of [Attempts] away: the default of the topic or the server counts.
func WithoutAttempts() EditOption { return without(wire.EditedAttemptsMax) }

// WithoutRetryBackoff takes the backoff away: the default of the topic or the server counts.
func WithoutRetryBackoff() EditOption { return without(wire.EditedBackoff) }

// WithoutRemember takes away what [Remember] set: the topic's default counts, if it has one.
func WithoutRemember() EditOption { return without(wire.EditedDedupeRetention) }

// WithoutGroup takes the job out of its group.
func WithoutGroup() EditOption { return without(wire.EditedGroup) }

func without(part uint16) EditOption { return editFunc(func(e *edit) { e.removed |= part }) }

// Edit changes the given parts of a delayed, ready or buried job; all others stay. At least one part is needed. A reserved
// job is refused with [ErrReserved], and a new due time of a buried job with [ErrWrongState]: kick it first.
//
// [Priority] and [TTR] work as in a push: a TTR of 0 is the topic's default. The middleware of pushes is not called.
func (q *Client) Edit(ctx context.Context, job JobRef, edits ...EditOption) (Change, error) {
	var e edit
	for _, one := range edits {
		if err := one.edit(&e); err != nil {
			return Change{}, err
		}
	}
	req, err := e.toWire(q.s.cfg.codec)
	if err != nil {
		return Change{}, err
	}
	req.Ref = job.ref
	return q.change(ctx, job, req)
}

// toWire checks the new values as a push does.
func (e *edit) toWire(codec Codec) (*wire.Edit, error) {
	switch {
	case e.changed|e.removed == 0:
		return nil, usage("an edit needs at least one part to change")
	case e.changed&e.removed != 0:
		return nil, usage("an edit changes a part and takes it away")
	}
	job, err := e.job.toWire(codec)
	if err != nil {
		return nil, err
	}
	if err := e.checkValues(&job.Attributes); err != nil {
		return nil, err
	}
	return &wire.Edit{
		DueMs: job.DueMs, Priority: job.Priority, TtrMs: job.TtrMs, Edited: e.changed | e.removed, DueKind: job.DueKind,
		Attributes: job.Attributes, Body: job.Body, IfVersion: e.ifVersion,
	}, nil
}

// checkValues refuses changed attributes without a value, which the server would take away.
func (e *edit) checkValues(a *wire.Attributes) error {
	for _, one := range []struct {
		part     uint16
		hasValue bool
		name     string
	}{
		{wire.EditedHeaders, len(a.Headers) > 0, "Headers"},
		{wire.EditedExpires, a.Expires != nil, "Expiry"},
		{wire.EditedAttemptsMax, a.AttemptsMax != nil, "Attempts"},
		{wire.EditedBackoff, a.Backoff != nil, "RetryBackoff"},
		{wire.EditedDedupeRetention, a.DedupeRetentionMs != nil, "Remember"},
	} {
		if e.changed&one.part != 0 && !one.hasValue {
			return usage("an edit with an empty value: to take it away, use Without%s", one.name)
		}
	}
	return nil
}
