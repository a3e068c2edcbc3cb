package main

import (
	"context"
	"errors"
	"time"

	adjourn "github.com/adjourn/adjourn-go"
)

func shownError(err error) map[string]any {
	shown := map[string]any{"code": "USAGE", "retryable": false, "applied": "no", "message": err.Error()}
	var refused *adjourn.Error
	var unknown *adjourn.OutcomeUnknownError
	var timeout *adjourn.TimeoutError
	var connect *adjourn.ConnectError
	var cluster *adjourn.WrongClusterError
	var protocol *adjourn.ProtocolError
	switch {
	case errors.As(err, &unknown):
		shown["code"], shown["applied"] = "OUTCOME_UNKNOWN", "unknown"
	case errors.As(err, &refused):
		shown["code"], shown["retryable"] = refused.Code.Name(), refused.Retryable
		if refused.Applied == adjourn.UnknownOutcome {
			shown["applied"] = "unknown"
		}
		if refused.RetryAfter > 0 {
			shown["retry_after_ms"] = refused.RetryAfter / time.Millisecond
		}
		if refused.Job != 0 {
			shown["job"] = decimal(uint64(refused.Job))
		}
	case errors.As(err, &timeout):
		shown["code"], shown["retryable"] = "TIMEOUT", true
	case errors.As(err, &connect):
		shown["code"], shown["retryable"] = "CANNOT_CONNECT", true
	case errors.As(err, &cluster):
		shown["code"] = "WRONG_CLUSTER"
	case errors.As(err, &protocol):
		shown["code"], shown["applied"] = "PROTOCOL", "unknown"
	case errors.Is(err, adjourn.ErrStaleLease):
		shown["code"] = "STALE_LEASE"
	case errors.Is(err, context.Canceled):
		shown["code"] = "CANCELLED"
	case errors.Is(err, adjourn.ErrClosed):
		shown["code"] = "CLOSED"
	}
	return shown
}

func results(errs []error) map[string]any {
	list := make([]any, len(errs))
	for i, err := range errs {
		if err == nil {
			list[i] = map[string]any{}
		} else {
			list[i] = map[string]any{"error": shownError(err)}
		}
	}
	return map[string]any{"results": list}
}
