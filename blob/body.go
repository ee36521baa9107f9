package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// UnknownSize, as the size of a Put, stores as many bytes as the body has.
const UnknownSize = -1

// ErrSize: the body of a Put does not have its declared size.
var ErrSize = errors.New("body does not have its declared size")

// Exactly returns a reader of r that ends with io.EOF only if r had exactly size
// bytes (UnknownSize: any number), and never yields more than them. Too short a
// body ends with an error that wraps ErrSize and io.ErrUnexpectedEOF, too long a
// one with ErrSize, a cancelled ctx with its error. The error stays.
func Exactly(ctx context.Context, r io.Reader, size int64) io.Reader {
	e := &exact{ctx: ctx, r: r, size: size}
	if size < UnknownSize {
		e.err = fmt.Errorf("%w: %d bytes declared", ErrSize, size)
	}
	return e
}

type exact struct {
	ctx  context.Context
	r    io.Reader
	size int64
	read int64
	err  error
}

func (e *exact) Read(p []byte) (int, error) {
	if e.err == nil {
		e.err = e.ctx.Err()
	}
	if e.err != nil || len(p) == 0 {
		return 0, e.err
	}
	if e.size == e.read {
		return 0, e.finish()
	}
	if left := e.size - e.read; e.size >= 0 && int64(len(p)) > left {
		p = p[:left]
	}
	n, err := e.r.Read(p)
	e.read += int64(n)
	if errors.Is(err, io.EOF) {
		err = e.ended(err)
	}
	e.err = err
	return n, err
}

// ended checks the end of the body: err is io.EOF, or wraps it and then is a
// failure of the reader.
func (e *exact) ended(err error) error {
	if err != io.EOF {
		return err
	}
	if e.size >= 0 && e.read < e.size {
		return fmt.Errorf("%w: %d of %d bytes: %w", ErrSize, e.read, e.size, io.ErrUnexpectedEOF)
	}
	return io.EOF
}

// finish checks that the body ends where it should.
func (e *exact) finish() error {
	var one [1]byte
	for tries := 0; e.err == nil; tries++ {
		n, err := e.r.Read(one[:])
		switch {
		case n > 0:
			e.err = fmt.Errorf("%w: more than %d bytes", ErrSize, e.size)
		case err != nil:
			e.err = err
		case tries == 100:
			e.err = io.ErrNoProgress
		}
	}
	return e.err
}
