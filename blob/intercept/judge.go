package intercept

import (
	"context"
	"errors"
	"os"
	"strings"

	"github.com/lethe-storage/lethe/blob"
)

// result is how a call ended, as to the backend's health.
type result int

const (
	neutral result = iota // no evidence: the caller left, or its body ended early
	well
	failure // counts towards the rate
	outage  // counts towards the rate, and in a row
)

// judge returns what the end of a call means for the backend's health.
func judge(ctx context.Context, err error) result {
	switch {
	case err == nil:
		return well
	case errors.Is(err, blob.ErrUnfit):
		return neutral // it answers, and can be read
	case errors.Is(err, blob.ErrDown):
		return outage
	case errors.Is(err, blob.ErrNotExist), errors.Is(err, blob.ErrExist), errors.Is(err, blob.ErrFull):
		return well
	case ctx.Err() != nil, errors.Is(err, blob.ErrInvalidKey), errors.Is(err, errors.ErrUnsupported):
		return neutral
	case timeout(err):
		return outage
	case errors.Is(err, blob.ErrNotDone):
		return neutral
	}
	return failure
}

// timeout reports whether the call took too long by the backend's own limit.
func timeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) || errors.As(err, &t) && t.Timeout()
}

// evidence returns the error of a call by which the backend is judged. Changes of
// foreign bytes by their owner do not count against it; outages of single keys do.
func evidence(c *Call, err error) error {
	if errors.Is(err, blob.ErrChanged) {
		return nil
	}
	for _, r := range c.Results {
		if err == nil && r.Err != nil && judge(c.Ctx, r.Err) == outage {
			err = r.Err
		}
	}
	return err
}

// hidden keeps the text of an error without its kinds: the result of the probe must
// not be taken for that of the refused call.
type hidden struct{ err error }

// Error implements error.
func (h hidden) Error() string { return reason(h.err) }

// reason returns the text of an error, without saying that the backend is down: who shows it
// has said so.
func reason(err error) string { return strings.ReplaceAll(err.Error(), blob.ErrDown.Error()+": ", "") }
