package placement

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/ledger"
)

// Inline moves contents between backends and ledger: those up to Options.Inline into the
// ledger, larger ones out of it. It walks over all contents, once in a pass. Any number of
// passes may run at once: each transition holds only for a content that lies where it was.
type Inline struct{ o *Options }

// NewInline makes the routine.
func NewInline(o Options) *Inline { return &Inline{o.withDefaults()} }

// Name returns "inline".
func (*Inline) Name() string { return "inline" }

// Plan is empty: only the walk shows whether there is something to do.
func (*Inline) Plan(context.Context) (ledger.Backlog, error) { return ledger.Backlog{}, nil }

// Pass walks all contents once. At its end it fails if some could not be moved.
func (m *Inline) Pass(string) Step {
	q := m.query()
	left, first := 0, error(nil)
	return func(ctx context.Context, add func(string, int64)) (bool, error) {
		a, err := m.o.aims(ctx)
		if err != nil {
			return false, err
		}
		page, err := m.o.Ledger.Inline.MisplacedContents(ctx, q)
		if err != nil {
			return false, fmt.Errorf("placement: contents: %w", err)
		}
		for _, c := range page.Contents {
			err := m.o.mover(&a, c, add).move(ctx)
			switch {
			case ctx.Err() != nil:
				return false, ctx.Err()
			case err == nil, errors.Is(err, lethe.ErrContentGone):
			case !c.Inline && errors.Is(err, lethe.ErrNoRoom):
				return false, fmt.Errorf("placement: %w", err) // so has no other content
			default:
				left, first = left+1, cmp.Or(first, err)
			}
		}
		if q.After = page.Last; page.Last == "" && left > 0 {
			return false, fmt.Errorf("placement: contents that could not be moved: %d; the first: %w", left, first)
		}
		return page.Last != "", nil
	}
}

func (m *Inline) query() ledger.Misplaced {
	return ledger.Misplaced{Inline: m.o.Inline, Limit: m.o.Page}
}

// mover moves one content.
type mover struct {
	work
	c ledger.Content
}

func (o *Options) mover(a *aims, c ledger.Content, add func(string, int64)) *mover {
	return &mover{work{o: o, aims: a, add: add, copier: copier{o: o, id: c.ID}}, c}
}

// move moves the content to the other side: ErrContentGone if it was deleted or moved
// meanwhile.
func (m *mover) move(ctx context.Context) error {
	m.add(items, 1)
	move, done := m.in, movedIn
	if m.c.Inline {
		move, done = m.out, movedOut
	}
	err := move(ctx)
	switch {
	case err == nil:
		m.add(done, 1)
	case !errors.Is(err, lethe.ErrContentGone):
		m.add(stuck, 1)
	}
	return err
}

// in reads a copy of the content, verified, and moves the bytes into the ledger.
func (m *mover) in(ctx context.Context) error {
	placed, err := m.o.Ledger.Walk.Placed(ctx, []ledger.Subject{{ID: m.c.ID}})
	if err != nil {
		return fmt.Errorf("placement: read copies: %w", err)
	}
	live := slices.DeleteFunc(placed[0].Blobs, func(b ledger.Blob) bool { return b.State != lethe.Live })
	slices.SortStableFunc(live, func(x, y ledger.Blob) int { return cmp.Compare(m.worth(x), m.worth(y)) })
	failures := []error{fmt.Errorf("content %s: no copy can be read", m.c.ID)}
	for _, b := range live {
		data, err := m.read(ctx, b)
		if err == nil {
			_, err = m.o.Ledger.Inline.MoveToLedger(ctx, m.c.ID, ledger.NewBody(m.c.Digest, data))
			return err
		}
		failures = append(failures, fmt.Errorf("blob %s on %s: %w", b.ID, b.Backend, err))
		m.doubt(ctx, b, err)
		if ctx.Err() != nil {
			break
		}
	}
	if len(live) == 0 {
		return fmt.Errorf("content %s: %w", m.c.ID, lethe.ErrContentGone)
	}
	return errors.Join(failures...)
}

// worth orders copies: sound ones on working backends first.
func (m *mover) worth(b ledger.Blob) int {
	s := m.aims.site(b.Backend)
	switch {
	case b.Suspect:
		return 2
	case s == nil || s.Down != "":
		return 1
	}
	return 0
}

// read returns the bytes of a blob, verified.
func (m *mover) read(ctx context.Context, b ledger.Blob) ([]byte, error) {
	body, err := m.open(ctx, b)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	return io.ReadAll(body)
}

// out writes the bytes to the first backend that takes them, like any put: row, bytes,
// commit. The commit removes them from the ledger.
func (m *mover) out(ctx context.Context) error {
	b, err := m.o.Ledger.Inline.InlineBody(ctx, m.c.ID)
	if err != nil {
		return err
	}
	if err := b.Check(m.c.Size); err != nil {
		return fmt.Errorf("content %s: %w", m.c.ID, err)
	}
	src := ledger.Blob{ContentID: m.c.ID, State: lethe.Live, Size: m.c.Size, Digest: m.c.Digest, CRC32C: lethe.CRC32C(0, b.Bytes)}
	to := m.aims.targets(nil, m.c.Size)
	if len(to) == 0 {
		return errors.New(m.aims.why(nil, m.c.Size))
	}
	var failures []error
	for _, backend := range to {
		if m.o.Throttle != nil {
			if err := m.o.Throttle(ctx, src.Size); err != nil {
				return err
			}
		}
		copied, err := m.write(ctx, m.verified(ctx, io.NopCloser(bytes.NewReader(b.Bytes)), src), backend)
		if err == nil {
			m.made(src, copied)
			return nil
		}
		failures = append(failures, fmt.Errorf("copy to %s: %w", backend, err))
		if ctx.Err() != nil || errors.Is(err, lethe.ErrContentGone) || errors.Is(err, blob.ErrInvalidKey) {
			break
		}
	}
	return errors.Join(failures...)
}
