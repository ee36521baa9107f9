package app

import (
	"context"
	"errors"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/reclaim"
)

// outcomes are the kinds of errors, the most specific first, as metrics and spans
// label them.
var outcomes = []struct {
	err  error
	name string
}{
	{lethe.ErrUnknownOutcome, "unknown"}, {blob.ErrUnknown, "unknown"},
	{blob.ErrMisplaced, "misplaced"}, {blob.ErrUnfit, "unfit"}, {blob.ErrDown, "down"}, {blob.ErrFull, "full"},
	{blob.ErrNotExist, "absent"}, {blob.ErrExist, "exists"}, {blob.ErrInvalidKey, "invalid"},
	{lethe.ErrUnavailable, "unavailable"}, {lethe.ErrCorrupt, "corrupt"},
	{lethe.ErrNoSuchKey, "absent"}, {lethe.ErrNoSuchBucket, "absent"}, {lethe.ErrNoSuchUpload, "absent"},
	{lethe.ErrContentKnown, "exists"}, {lethe.ErrContentGone, "absent"}, {lethe.ErrReaped, "fenced"},
	{lethe.ErrPreconditionFailed, "refused"}, {lethe.ErrNotModified, "refused"}, {lethe.ErrQuotaExceeded, "refused"},
	{lethe.ErrFenced, "fenced"}, {lethe.ErrBackendMismatch, "held"}, {reclaim.ErrRunning, "elsewhere"},
	{context.Canceled, "canceled"}, {context.DeadlineExceeded, "timeout"},
	{blob.ErrNotDone, "refused"},
}

// expected are the outcomes that are not errors of the store.
var expected = map[string]bool{"ok": true, "absent": true, "exists": true, "refused": true, "fenced": true, "elsewhere": true, "canceled": true}

// outcomeOf returns how a call ended, as one of a fixed set of words.
func outcomeOf(err error) string {
	if err == nil {
		return "ok"
	}
	for _, o := range outcomes {
		if errors.Is(err, o.err) {
			return o.name
		}
	}
	return "error"
}
