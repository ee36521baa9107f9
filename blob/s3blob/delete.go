package s3blob

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"golang.org/x/sync/errgroup"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
)

// deleteTries is how often one Delete requests a key whose deletion did not
// succeed. A deletion may land twice: the name is not used again.
const deleteTries = 4

// patience is the longest pause requested by the service that a Delete waits for.
// Beyond it the keys wait in the ledger.
const patience = 5 * time.Second

var (
	// errMarker: the bytes remain, as a version.
	errMarker = errors.New("the service added a delete marker and kept the bytes")
	// errProtocol: the response does not match the request.
	errProtocol = errors.New("the response does not match the request")
	// errUnsaid: the response omits a key.
	errUnsaid = errors.New("the response omits the key")
)

// target is one key of a Delete.
type target struct {
	key  string
	err  error
	left bool  // to be requested, again
	open error // of the last request whose outcome is unknown
	late bool  // that a request had no response: it may yet take effect
}

// end records the error of a request that is answered, or nil.
func (t *target) end(err error, again bool) {
	if t.err, t.left = err, again; blob.Unknown(err) {
		t.open = err
	}
}

// silent records the error of a request that had no whole response.
func (t *target) silent(err error, again bool) {
	t.end(err, again)
	t.late = true
}

// failed records the error of a request.
func (s *Store) failed(t *target, v verdict, again bool) {
	t.end(s.changing("delete", t.key, v), again)
	t.late = t.late || v.silent && !v.certain
}

// outcome is the error of all requests together: what one of them may have done,
// or may yet do, a later one does not undo.
func (t *target) outcome() error {
	switch {
	case t.open == nil, blob.Unknown(t.err), blob.Gone(t.err) && !t.late:
		return t.err
	case blob.Gone(t.err):
		return fmt.Errorf("s3blob: delete %s: %w: %s", t.key, blob.ErrLate, t.open.Error())
	}
	return fmt.Errorf("%w: %w, and %w", blob.ErrUnknown, t.open, t.err)
}

// Delete implements blob.Store. An absent key gets nil where the service reports it
// as deleted, as S3 does. The size of requests, and how many run at once, follow
// the pace of the service (Events.Pace).
func (s *Store) Delete(ctx context.Context, keys []string) ([]blob.Result, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("s3blob: delete %d keys: %w: %w", len(keys), blob.ErrNotDone, err)
	}
	results := make([]blob.Result, len(keys))
	first := make(map[string]*target, len(keys))
	var targets []*target
	for i, key := range keys {
		results[i].Key = key
		if results[i].Err = s.checkKey(key); results[i].Err == nil && first[key] == nil {
			t := &target{key: key, left: true}
			first[key] = t
			targets = append(targets, t)
		}
	}
	if len(targets) == 0 {
		return results, nil
	}
	if err := s.may(ctx, forDelete); err != nil {
		return nil, fmt.Errorf("s3blob: delete %d keys: %w: %w", len(keys), blob.ErrNotDone, err)
	}
	s.deleteAll(ctx, targets)
	for i, key := range keys {
		t := first[key]
		switch {
		case t == nil:
		case t.left: // settled before: this is the same key once more
			results[i].Err = t.outcome()
			if results[i].Err == nil {
				results[i].Err = fmt.Errorf("s3blob: delete %s: %w", key, blob.ErrNotExist)
			}
		default:
			results[i].Err, t.left = t.outcome(), true
		}
	}
	return results, whole(targets)
}

// whole is the error of a call that had no success because the service, or the
// caller, gave up.
func whole(targets []*target) error {
	for _, t := range targets {
		if blob.Gone(t.err) || !errors.Is(t.err, blob.ErrDown) && !errors.Is(t.err, context.Canceled) && !errors.Is(t.err, context.DeadlineExceeded) {
			return nil
		}
	}
	return targets[0].outcome()
}

// deleteAll requests all targets, and again those whose outcome is open. On return
// none is left.
func (s *Store) deleteAll(ctx context.Context, targets []*target) {
	for try := 0; try < deleteTries && len(targets) > 0; try++ {
		if try > 0 && lethe.Sleep(ctx, firstPause<<try/4) != nil {
			break
		}
		s.deleteOnce(ctx, targets)
		var left []*target
		for _, t := range targets {
			if t.left {
				left = append(left, t)
			}
		}
		targets = left
	}
	for _, t := range targets {
		t.left = false
	}
}

// deleteOnce requests all targets once, in batches whose size and number in flight
// the pace allows.
func (s *Store) deleteOnce(ctx context.Context, targets []*target) {
	var running errgroup.Group
	for len(targets) > 0 {
		singly := !s.Capabilities().BatchDelete
		slot, err := s.pace.enter(ctx, patience)
		if err != nil {
			for _, t := range targets {
				t.refuse(ctx, err)
			}
			break
		}
		n := min(slot.batch, len(targets))
		if singly {
			n = 1
		}
		batch := targets[:n]
		targets = targets[n:]
		running.Go(func() error {
			if singly {
				s.deleteSingly(ctx, batch[0], slot)
			} else {
				s.deleteBatch(ctx, batch, slot)
			}
			return nil
		})
	}
	_ = running.Wait()
}

// refuse gives up a target without a request; an earlier result stays.
func (t *target) refuse(ctx context.Context, err error) {
	t.left = false
	if t.err == nil {
		t.err = fmt.Errorf("s3blob: delete %s: %w: %w", t.key, blob.ErrNotDone, err)
	} else if ctx.Err() != nil {
		t.err = fmt.Errorf("%w: %w", ctx.Err(), t.err)
	}
}

// tooLate gives up targets that must not be requested any more.
func (s *Store) tooLate(ctx context.Context, targets []*target, slot slot) bool {
	err := mayChange(ctx)
	if err == nil {
		return false
	}
	slot.leave(verdict{err: err})
	for _, t := range targets {
		t.refuse(ctx, err)
	}
	return true
}

// deleteBatch requests some keys by one DeleteObjects.
func (s *Store) deleteBatch(ctx context.Context, batch []*target, slot slot) {
	if s.tooLate(ctx, batch, slot) {
		return
	}
	names := make([]string, len(batch))
	for i, t := range batch {
		names[i] = *s.name(t.key)
	}
	said, err := s.deleteObjects(ctx, names)
	switch {
	case errors.Is(err, errBroken) && ctx.Err() != nil:
		// The caller cancelled, not the service: the pace does not change.
		slot.leave(verdict{err: err})
		for _, t := range batch {
			t.silent(fmt.Errorf("s3blob: delete %s: %w: %w: %w", t.key, blob.ErrUnknown, ctx.Err(), err), false)
		}
	case errors.Is(err, errProtocol):
		s.o.Events.protocol("delete", err)
		// A response that ends early may show an overloaded service: send fewer
		// keys.
		broken := errors.Is(err, errBroken)
		slot.leave(verdict{slow: broken && len(batch) > 1})
		for _, t := range batch {
			t.silent(fmt.Errorf("s3blob: delete %s: %w: %w", t.key, blob.ErrUnknown, err), broken)
		}
	case err != nil:
		s.batchFailed(ctx, batch, err, slot)
	default:
		var worst verdict
		for i, t := range batch {
			v := s.settle(ctx, t, said[names[i]])
			if v.slow {
				worst = v
			}
		}
		s.leave(slot, "delete", worst)
	}
}

// batchFailed handles the error of a whole DeleteObjects.
func (s *Store) batchFailed(ctx context.Context, batch []*target, err error, slot slot) {
	v := judge(ctx, err)
	again := v.again
	switch {
	case v.certain && v.is(unable...) || v.status == http.StatusMethodNotAllowed:
		s.singly()
		again = true
	case (v.is("MalformedXML", "InvalidRequest", "InvalidArgument", "EntityTooLarge", "MaxMessageLengthExceeded", "InternalError") ||
		v.status == http.StatusRequestEntityTooLarge) && len(batch) > 1:
		// Fewer keys may succeed, or show the one that does not.
		v.slow, again = true, true
	}
	s.leave(slot, "delete", v)
	for _, t := range batch {
		s.failed(t, v, again)
	}
}

// deleteSingly requests one key.
func (s *Store) deleteSingly(ctx context.Context, t *target, slot slot) {
	if s.tooLate(ctx, []*target{t}, slot) {
		return
	}
	v := s.settle(ctx, t, s.deleteObject(ctx, *s.name(t.key)))
	s.leave(slot, "delete", v)
}

// settle records the result for one key.
func (s *Store) settle(ctx context.Context, t *target, err error) verdict {
	switch {
	case err == nil:
		t.end(nil, false)
		return verdict{}
	case errors.Is(err, blob.ErrNotExist):
		t.end(fmt.Errorf("s3blob: delete %s: %w", t.key, err), false)
		return verdict{}
	case errors.Is(err, errMarker):
		s.doubt()
		t.end(fmt.Errorf("s3blob: delete %s: %w: %w: %w: %s", t.key, blob.ErrDown, blob.ErrUnfit, err, versionsOn), false)
		return verdict{}
	case errors.Is(err, errUnsaid):
		t.end(fmt.Errorf("s3blob: delete %s: %w: %w", t.key, blob.ErrUnknown, err), true)
		return verdict{}
	}
	v := judge(ctx, err)
	if v.status == 0 && v.code != "" {
		v = judgeKey(v)
	}
	s.failed(t, v, v.again)
	return v
}

// judgeKey classifies the error of one key in a response.
func judgeKey(v verdict) verdict {
	switch {
	case v.is(slowDown...), v.is("RequestTimeout", "OperationTimedOut"):
		v.slow, v.down, v.again = true, true, true
	case v.is("InternalError", "OperationAborted"):
		v.again = true
	case v.is("AccessDenied"):
		v.certain = true
		v.text += " (a retention or legal hold on this object, or a policy; check it with the service's own tools)"
	}
	return v
}

// leave ends a request of a deletion, and reports if the service was too slow.
func (s *Store) leave(slot slot, op string, v verdict) {
	if wait := slot.leave(v); v.slow {
		s.o.Events.throttled(op, wait, s.say(v))
	}
}

// singly records that the service has no DeleteObjects after all.
func (s *Store) singly() {
	s.state.mu.Lock()
	s.state.caps.BatchDelete = false
	s.state.mu.Unlock()
}

// deleteObjects deletes names by one request. The result for each of them is nil,
// blob.ErrNotExist, errUnsaid, errMarker, or the service's error.
func (s *Store) deleteObjects(ctx context.Context, names []string) (map[string]error, error) {
	objects := make([]types.ObjectIdentifier, len(names))
	for i := range names {
		objects[i].Key = &names[i]
	}
	asked, cancel := s.bounded(ctx, 0)
	defer cancel()
	var raw capture
	_, err := s.client.DeleteObjects(asked, &s3.DeleteObjectsInput{Bucket: &s.o.Bucket, Delete: &types.Delete{Objects: objects}},
		s3.WithAPIOptions(withMD5, raw.install))
	switch {
	case err != nil:
		return nil, err
	case raw.err != nil:
		return nil, fmt.Errorf("%w: %w after %d bytes: %w", errProtocol, errBroken, len(raw.body), raw.err)
	}
	return readAnswer(raw.body, names)
}

// deleteObject deletes one name.
func (s *Store) deleteObject(ctx context.Context, name string) error {
	asked, cancel := s.bounded(ctx, 0)
	defer cancel()
	out, err := s.client.DeleteObject(asked, &s3.DeleteObjectInput{Bucket: &s.o.Bucket, Key: &name})
	if err == nil {
		if out.DeleteMarker != nil && *out.DeleteMarker {
			return errMarker
		}
		return nil
	}
	v := judge(ctx, err)
	if v.is("NoSuchKey") {
		return blob.ErrNotExist
	}
	return err
}
