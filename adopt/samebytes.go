package adopt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
)

// likeness is the result of comparing two objects' bytes.
type likeness int

const (
	unproven likeness = iota // neither equality nor difference is proven
	identical
	different
)

// likenessOf compares the bytes of two objects by what the backend returns of them.
func likenessOf(a, b blob.ForeignInfo) likeness {
	if a.Size != b.Size {
		return different
	}
	vouched := a.Size == 0 || a.Alike != "" && a.Alike == b.Alike
	for name, sum := range a.Sums {
		other, known := b.Sums[name]
		if known && other != sum {
			return different
		}
		vouched = vouched || known
	}
	if a.MD5 != "" && b.MD5 != "" {
		if a.MD5 != b.MD5 {
			return different
		}
		vouched = true
	}
	if vouched {
		return identical
	}
	return unproven
}

// comparer compares the objects of two stores.
type comparer struct {
	a, b   blob.Foreign
	before lethe.Time // the deadline, by boot
	boot   lethe.Clock
}

// compared is the buffer for each of two objects, in bytes.
const compared = 256 << 10

var (
	errDiffers  = errors.New("the copy has other bytes than the object")
	errLongRead = errors.New("the service does not vouch for the copy, and it cannot be read in time; make grace.late longer")
)

// same returns errDiffers if two objects differ. It reads both if the backend's
// information proves nothing.
func (c comparer) same(ctx context.Context, a, b blob.ForeignInfo) error {
	switch likenessOf(a, b) {
	case identical:
		return nil
	case different:
		return fmt.Errorf("%w: %d bytes (MD5 %q), and %d (%q)", errDiffers, a.Size, a.MD5, b.Size, b.MD5)
	}
	one, err := c.a.OpenForeign(ctx, a)
	if err != nil {
		return fmt.Errorf("compare with the copy: %w", err)
	}
	defer one.Close()
	other, err := c.b.OpenForeign(ctx, b)
	if err != nil {
		return fmt.Errorf("compare the copy: %w", err)
	}
	defer other.Close()
	return c.read(one, other, a.Size)
}

// read compares both, reading in parallel.
func (c comparer) read(one, other io.Reader, size int64) error {
	n := min(size, compared)
	left, right := make([]byte, n), make([]byte, n)
	for at := int64(0); at < size; at += n {
		if c.boot.Now() >= c.before {
			return errLongRead
		}
		n = min(n, size-at)
		_, err := io.ReadFull(one, left[:n])
		_, also := io.ReadFull(other, right[:n])
		if err := errors.Join(err, also); err != nil {
			return fmt.Errorf("compare with the copy: %w", err)
		}
		if !bytes.Equal(left[:n], right[:n]) {
			return fmt.Errorf("%w after %d bytes", errDiffers, at)
		}
	}
	return nil
}
