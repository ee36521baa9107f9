package reconcile

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base32"
	"fmt"
	"slices"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// row is a blob of the ledger in 24 bytes.
type row struct {
	id   [16]byte
	what int64 // bytes times four, plus the state less one
}

func (r row) size() int64        { return r.what >> 2 }
func (r row) state() lethe.State { return lethe.State(r.what&3) + 1 }

// folder is the number of the blob's fan-out folder: ten of the last bits of its
// id, in the order of the folders' names.
func (r row) folder() int { return int(uint16(r.id[14])<<8|uint16(r.id[15])) >> 3 & (folders - 1) }

const (
	folders   = 1024
	digits    = "0123456789abcdefghijklmnopqrstuv"
	idLetters = 26
)

var letters = base32.NewEncoding(digits).WithPadding(base32.NoPadding)

func rowOf(s ledger.Stub) (r row, err error) {
	if len(s.ID) != idLetters {
		return r, fmt.Errorf("%w: blob %q has an invalid id", lethe.ErrCorrupt, s.ID)
	}
	var text [idLetters]byte
	copy(text[:], s.ID)
	if _, err := letters.Decode(r.id[:], text[:]); err != nil {
		return r, fmt.Errorf("%w: blob %q has an invalid id", lethe.ErrCorrupt, s.ID)
	}
	r.what = s.Size<<2 | int64(s.State-1)
	return r, nil
}

func (r row) blob() lethe.ID { return lethe.ID(letters.EncodeToString(r.id[:])) }

// folderName is the name of a fan-out folder.
func folderName(n int) string { return string([]byte{digits[n>>5], digits[n&31]}) }

// names writes the keys of rows without allocating a string for each.
type names struct {
	buf  []byte
	head int // bytes of "store/"
}

func newNames(store lethe.ID) *names {
	buf := append([]byte(store), '/')
	return &names{buf: append(buf, make([]byte, 2+1+idLetters)...), head: len(buf)}
}

// key is valid until the next call.
func (n *names) key(r row) []byte {
	letters.Encode(n.buf[n.head+3:], r.id[:])
	copy(n.buf[n.head:], n.buf[n.head+3+idLetters-3:n.head+3+idLetters-1])
	n.buf[n.head+2] = '/'
	return n.buf
}

// chunk is the blobs of one backend in a range of ids, in the order of their keys.
type chunk struct {
	rows []row
	// low is the place before it, high its last blob; high is ledger.WalkDone if no
	// more follows.
	low, high lethe.ID
}

// loader reads chunks; it keeps the memory of the last one.
type loader struct {
	o       *Options
	backend string
	rows    []row
}

// smallChunk is how many rows are read before memory for a whole chunk is taken.
const smallChunk = 50_000

// load reads the chunk after a place.
func (l *loader) load(ctx context.Context, low lethe.ID) (chunk, error) {
	c := chunk{rows: l.rows[:0], low: low, high: low}
	for len(c.rows) < l.o.Chunk {
		if len(c.rows) > smallChunk && cap(c.rows) < l.o.Chunk {
			c.rows = slices.Grow(c.rows, l.o.Chunk+l.o.Page-len(c.rows)) // once, not step by step
		}
		page, err := l.o.Ledger.BlobStubs(ctx, c.high, l.o.Page)
		if err != nil {
			return c, err
		}
		for _, s := range page {
			c.high = s.ID
			if s.Backend != l.backend {
				continue
			}
			r, err := rowOf(s)
			if err != nil {
				return c, err
			}
			c.rows = append(c.rows, r)
		}
		if len(page) < l.o.Page {
			c.high = ledger.WalkDone
			break
		}
	}
	slices.SortFunc(c.rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(a.folder(), b.folder()), bytes.Compare(a.id[:], b.id[:]))
	})
	l.rows = c.rows
	return c, nil
}

// in returns the chunk's rows of a folder.
func (c *chunk) in(folder int) []row {
	at := func(n int) int {
		i, _ := slices.BinarySearchFunc(c.rows, n, func(r row, n int) int { return cmp.Compare(r.folder(), n) })
		return i
	}
	return c.rows[at(folder):at(folder+1)]
}

// whole reports whether the chunk is all that the ledger has.
func (c *chunk) whole() bool { return c.low == "" && c.high == ledger.WalkDone }
