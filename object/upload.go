package object

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/ledger"
)

// upload is a body to be sent to a backend: either data, which can be sent again to
// another backend, or stream, which can be sent once.
type upload struct {
	size   int64 // bytes, -1: unknown
	data   []byte
	stream *streamed
	intent ledger.Intent // UploadID and Part, if it is a part
	// promotion, if set, is what the reaper may finish for the blob.
	promotion func(ledger.Uploaded) *ledger.Promotion
	digest    string // hex SHA-256, if fixed beforehand
	crc       uint32 // likewise
	blocks    lethe.BlockSums
	// backends are the candidates, best first; nil: not picked yet.
	backends []string
	unknown  bool // begin only if its bytes do not exist already
}

// streamed is a body that can be read once: the bytes read already, then the rest.
type streamed struct {
	in      *intake
	begun   []byte
	touched bool
}

// Read implements io.Reader.
func (r *streamed) Read(p []byte) (int, error) {
	r.touched = true
	if len(r.begun) > 0 {
		n := copy(p, r.begun)
		r.begun = r.begun[n:]
		return n, nil
	}
	return r.in.Read(p)
}

func (u *upload) inMemory() bool { return u.stream == nil }

func (u *upload) body() io.Reader {
	if u.inMemory() {
		return bytes.NewReader(u.data)
	}
	return u.stream
}

// reserve is how much room the intent reserves.
func (u *upload) reserve() int64 {
	if u.size < 0 {
		return ahead
	}
	return u.size
}

// again reports whether the body can still be sent to another backend.
func (u *upload) again() bool { return u.inMemory() || !u.stream.touched }

// sent is a blob whose bytes lie on its backend, verified.
type sent struct {
	ledger.Uploaded
	promotable  bool
	mayBeReaped bool // when the reaper may have taken its intent
	backend     string
}

// send stores a body as a new blob: the intent, then the bytes (docs/protocol.md,
// rule 1). It tries the candidates in order, with a new name each, as long as the
// body can be sent again. On an error nothing is left that the reaper and the
// cleaner do not find.
func (s *Store) send(ctx context.Context, u *upload) (sent, error) {
	var failures []error
	if u.backends == nil {
		u.backends = s.opt.Pick(u.size)
	}
	for _, backend := range u.backends {
		store, ok := s.opt.Backends[backend]
		if !ok {
			return sent{}, fmt.Errorf("backend %q is not configured", backend)
		}
		out, err := s.sendTo(ctx, backend, store, u)
		if err == nil {
			return out, nil
		}
		failures = append(failures, fmt.Errorf("backend %s: %w", backend, err))
		if ctx.Err() != nil || !u.again() || !elsewhere(err) {
			break
		}
	}
	return sent{}, s.refused(u.size, failures)
}

// refused returns why no backend took size bytes.
func (s *Store) refused(size int64, failures []error) error {
	for _, err := range failures {
		if !errors.Is(err, lethe.ErrNoRoom) || errors.Is(err, lethe.ErrUnknownOutcome) {
			return errors.Join(failures...)
		}
	}
	switch {
	case s.opt.Refuse != nil:
		return s.opt.Refuse(size)
	case len(failures) == 0:
		return lethe.ErrNoRoom
	}
	return errors.Join(failures...)
}

// elsewhere reports whether another backend may be tried. While the reaper may
// finish the write from the failed attempt, nothing more is done under its
// operation: a second failure would be reported as certain.
func elsewhere(err error) bool {
	return !errors.Is(err, lethe.ErrUnknownOutcome) && (errors.Is(err, errBackend) || errors.Is(err, lethe.ErrNoRoom))
}

// errBackend marks a backend's failure.
var errBackend = errors.New("upload failed")

func (s *Store) sendTo(ctx context.Context, backend string, store blob.Store, u *upload) (sent, error) {
	id := s.newID()
	out := sent{Uploaded: ledger.Uploaded{Blob: id, Size: u.size, Digest: u.digest, CRC32C: u.crc, Blocks: u.blocks}, backend: backend}
	in := u.intent
	in.ID, in.Backend, in.Size = id, backend, u.reserve()
	if u.promotion != nil {
		in.Promotion, in.Unknown = u.promotion(out.Uploaded), u.unknown
		out.promotable = true
	}
	b, err := s.ledger.Intents.Begin(ctx, in)
	if err != nil {
		return sent{}, s.beginFailed(ctx, id, err)
	}
	s.events.begun(b, in.Size)
	how, err := s.stream(ctx, store, id, u)
	if err != nil {
		how.blob, how.backend, how.size, how.cause, how.promotable = id, backend, in.Size, err, out.promotable
		return sent{}, s.giveUp(ctx, how)
	}
	out.mayBeReaped = how.mayBeReaped
	if !u.inMemory() {
		in := u.stream.in
		out.Size, out.Digest, out.CRC32C, out.Blocks = in.n, in.digest(), in.sums.CRC32C(), in.sums.Sums()
	}
	return out, nil
}

// beginFailed gives up an intent that was not begun, or whose response was lost: no
// byte was sent, so no object can be made of it.
func (s *Store) beginFailed(ctx context.Context, id lethe.ID, err error) error {
	if unknown(err) {
		s.abandon(ctx, abandonment{blob: id, cause: err})
	}
	if errors.Is(err, lethe.ErrUnknownOutcome) {
		return fmt.Errorf("%w: begin: %w: %s", errBackend, lethe.ErrUnavailable, err)
	}
	return fmt.Errorf("begin: %w", err)
}

// stream sends the bytes. After an error, how describes what may be on the backend.
func (s *Store) stream(ctx context.Context, store blob.Store, id lethe.ID, u *upload) (how abandonment, err error) {
	p := s.startHeartbeat(ctx, id, u)
	err = store.Put(blob.WithCheck(p.ctx, p.stands), lethe.BlobKey(s.opt.StoreID, id), p, u.size)
	stopped := p.stopped()
	p.close()
	how.late = blob.Unknown(err)
	how.mayBeReaped = (err == nil || how.late) && p.silence() > s.opt.MinAge/2
	switch {
	case stopped != nil:
		return how, stopped
	case !u.inMemory() && u.stream.in.failed() != nil:
		return how, u.stream.in.failed()
	case err == nil && !u.inMemory() && !u.stream.in.ended():
		return how, fmt.Errorf("%w: the backend did not read the body to its end", errBackend)
	}
	return how, backendError(ctx, err)
}

// backendError turns a failure of a backend into an error of package lethe.
func backendError(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("%w (%w)", context.Cause(ctx), err)
	case errors.Is(err, blob.ErrFull):
		return fmt.Errorf("%w: %w: %w", errBackend, lethe.ErrNoRoom, err)
	case errors.Is(err, blob.ErrDown):
		return fmt.Errorf("%w: %w: %w", errBackend, lethe.ErrUnavailable, err)
	}
	return fmt.Errorf("%w: %w", errBackend, err)
}
