<?php

// Generated from schema/*.toml by `make generate`. Do not edit.

declare(strict_types=1);

namespace Adjourn\Error;

/** Error codes of the protocol: why a request, or one item of it, is refused. */
enum ErrorCode: int
{
    /** The frame or a field in it cannot be decoded. */
    case Malformed = 1;
    /** The opcode, version, group, choice or critical attribute is not supported by this server, or not by every member. */
    case Unsupported = 2;
    /** A frame, body, batch or text exceeds its limit. */
    case TooLarge = 3;
    /** HELLO is missing, or has no token, an unknown one, or one that was revoked or has expired. */
    case Unauthenticated = 4;
    /** A value is out of range. */
    case Invalid = 5;
    /** The token lacks the right that this request needs. */
    case Forbidden = 6;
    /** This node does not lead. */
    case NotLeader = 16;
    /** No leader is elected yet. */
    case NoLeader = 17;
    /** Too much work is in flight; for PUSH also: the server has reached its memory limit, and the message says so. */
    case Busy = 18;
    /** The disk is nearly full: pushes are refused. */
    case DiskFull = 19;
    /** The server is stopping. */
    case Stopping = 20;
    /** The server's disk cannot read the requested data. */
    case Unreadable = 21;
    /** Every requested topic is paused. */
    case Paused = 32;
    /** Too many topics, sessions or subscriptions; in PUSHED, the topic's policy allows no more jobs or bytes. */
    case Quota = 33;
    /** The lease has ended. */
    case StaleLease = 34;
    /** The topic has a job with this key, alive or remembered. */
    case KeyExists = 35;
    /** There is no such job, topic or subscription. */
    case NotFound = 36;
    /** The job is reserved, and the request needs a job that is not. */
    case Reserved = 37;
    /** The job is not in the required state. */
    case WrongState = 38;
    /** The session is no longer known. */
    case SessionUnknown = 39;
    /** The queue has forgotten the outcome of this push. */
    case OutcomeUnknown = 40;
    /** The job would expire before it is due. */
    case ExpiresBeforeDue = 41;
    /** The sequence number, or the idempotency key, of the job was used for another job. */
    case SequenceReused = 42;
    /** The job is no longer of the version that the request names. */
    case Changed = 43;

    /** Whether the same request may succeed later, as it is. */
    public function isRetryable(): bool
    {
        return match ($this) {
            self::NotLeader, self::NoLeader, self::Busy, self::DiskFull, self::Stopping, self::Paused => true,
            default => false,
        };
    }

    /** What it means, for a person. */
    public function meaning(): string
    {
        return match ($this) {
            self::Malformed => 'The frame or a field in it cannot be decoded.',
            self::Unsupported => 'The opcode, version, group, choice or critical attribute is not supported by this server, or not by every member.',
            self::TooLarge => 'A frame, body, batch or text exceeds its limit.',
            self::Unauthenticated => 'HELLO is missing, or has no token, an unknown one, or one that was revoked or has expired.',
            self::Invalid => 'A value is out of range.',
            self::Forbidden => 'The token lacks the right that this request needs.',
            self::NotLeader => 'This node does not lead.',
            self::NoLeader => 'No leader is elected yet.',
            self::Busy => 'Too much work is in flight; for PUSH also: the server has reached its memory limit, and the message says so.',
            self::DiskFull => 'The disk is nearly full: pushes are refused.',
            self::Stopping => 'The server is stopping.',
            self::Unreadable => 'The server\'s disk cannot read the requested data.',
            self::Paused => 'Every requested topic is paused.',
            self::Quota => 'Too many topics, sessions or subscriptions; in PUSHED, the topic\'s policy allows no more jobs or bytes.',
            self::StaleLease => 'The lease has ended.',
            self::KeyExists => 'The topic has a job with this key, alive or remembered.',
            self::NotFound => 'There is no such job, topic or subscription.',
            self::Reserved => 'The job is reserved, and the request needs a job that is not.',
            self::WrongState => 'The job is not in the required state.',
            self::SessionUnknown => 'The session is no longer known.',
            self::OutcomeUnknown => 'The queue has forgotten the outcome of this push.',
            self::ExpiresBeforeDue => 'The job would expire before it is due.',
            self::SequenceReused => 'The sequence number, or the idempotency key, of the job was used for another job.',
            self::Changed => 'The job is no longer of the version that the request names.',
        };
    }

    /** What to do, for a person. */
    public function remedy(): string
    {
        return match ($this) {
            self::Malformed => 'Fix the client.',
            self::Unsupported => 'Use only features of this version, or a newer server.',
            self::TooLarge => 'Send less at once; see WELCOME and limits.',
            self::Unauthenticated => 'Send HELLO first, with a valid token.',
            self::Invalid => 'Correct the value; the message names it.',
            self::Forbidden => 'Use a token with that right, or add the right to this one; the message names it.',
            self::NotLeader => 'Connect to `leader`, or to each of `members` in turn: clusters.',
            self::NoLeader => 'Try again after `retry_after_ms`, here or at another member.',
            self::Busy => 'Wait `retry_after_ms`, then send less at once; finishing or deleting jobs frees memory.',
            self::DiskFull => 'Free space on the server; settling and deleting still work.',
            self::Stopping => 'Connect again, here or to another member.',
            self::Unreadable => 'Tell the operator; the message names the file.',
            self::Paused => 'RESUME one, or wait.',
            self::Quota => 'Finish or delete jobs; use fewer names; send GOODBYE; UNSUBSCRIBE. After HELLO it has the mark *retryable*: wait `retry_after_ms`.',
            self::StaleLease => 'Drop the work; another consumer may have the job.',
            self::KeyExists => 'Use the id in the result, or push with keep or replace.',
            self::NotFound => 'Treat it as finished, or as never there.',
            self::Reserved => 'Wait until it is settled.',
            self::WrongState => 'Check with GET.',
            self::SessionUnknown => 'Connect again; HELLO resumes the session or opens a new one.',
            self::OutcomeUnknown => 'Look for the job by its key.',
            self::ExpiresBeforeDue => 'Set a later expiry or an earlier due time.',
            self::SequenceReused => 'Fix the client: each job needs its own number. Push the job under a new one.',
            self::Changed => 'Look at the job again, and decide anew.',
        };
    }
}
