package blob_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/iotest"

	"github.com/lethe-storage/lethe/blob"
)

func TestExactly(t *testing.T) {
	data := []byte("0123456789")
	broken := errors.New("broken")
	for _, test := range []struct {
		r    io.Reader
		size int64
		read int // bytes that come through
		want error
	}{
		{bytes.NewReader(data), 10, 10, nil},
		{bytes.NewReader(data), blob.UnknownSize, 10, nil},
		{iotest.DataErrReader(bytes.NewReader(data)), 10, 10, nil},
		{iotest.OneByteReader(bytes.NewReader(data)), 10, 10, nil},
		{bytes.NewReader(nil), 0, 0, nil},
		{bytes.NewReader(nil), blob.UnknownSize, 0, nil},
		{bytes.NewReader(data), 11, 10, io.ErrUnexpectedEOF},
		{bytes.NewReader(data), 11, 10, blob.ErrSize},
		{bytes.NewReader(data), 9, 9, blob.ErrSize},
		{bytes.NewReader(data), 0, 0, blob.ErrSize},
		{bytes.NewReader(data), -2, 0, blob.ErrSize},
		{io.MultiReader(bytes.NewReader(data), iotest.ErrReader(broken)), 10, 10, broken},
		{iotest.ErrReader(fmt.Errorf("wrapped: %w", io.EOF)), 0, 0, io.EOF},
		{stuck{}, 0, 0, io.ErrNoProgress},
	} {
		got, err := io.ReadAll(blob.Exactly(context.Background(), test.r, test.size))
		if !errors.Is(err, test.want) || (test.want == nil) != (err == nil) || len(got) != test.read {
			t.Errorf("%T of %d: %d bytes, %v; want %d, %v", test.r, test.size, len(got), err, test.read, test.want)
		}
	}
}

// stuck returns nothing, and no error, forever.
type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

func TestExactlyStaysFailed(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	r := blob.Exactly(ctx, bytes.NewReader([]byte("0123456789")), 10)
	if _, err := r.Read(make([]byte, 3)); err != nil {
		t.Fatal(err)
	}
	cancel()
	for range 2 {
		if n, err := r.Read(make([]byte, 3)); n != 0 || !errors.Is(err, context.Canceled) {
			t.Errorf("read %d, %v", n, err)
		}
	}
}

func TestUnknown(t *testing.T) {
	for _, test := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{blob.ErrNotExist, false}, {blob.ErrExist, false}, {blob.ErrInvalidKey, false}, {blob.ErrNotDone, false},
		{blob.ErrUnknown, true}, {blob.ErrDown, true}, {blob.ErrFull, true}, {errors.New("?"), true},
		{fmt.Errorf("%w: %w", blob.ErrDown, blob.ErrNotDone), false},
		{fmt.Errorf("%w: %w", blob.ErrUnknown, blob.ErrNotDone), true},
	} {
		if got := blob.Unknown(test.err); got != test.want {
			t.Errorf("%v: %v; want %v", test.err, got, test.want)
		}
	}
}
