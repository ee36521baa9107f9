package object

import (
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/internal/budget"
)

// expected is what a body must match. Digests are hex; empty ones are not checked.
type expected struct {
	block       int64 // bytes of each block that gets a sum
	size        int64 // bytes, -1: unknown
	sha256, md5 string
	// finish is called once, after the body was read to its end and matched.
	finish func() error
}

// intake reads a client's body. It ends with io.EOF only when the body was read to
// its end, has its size and digests, and finish accepted it. Earlier failures are
// the body's and stay in err, so that they are not mistaken for failures of the
// backend.
type intake struct {
	body io.Reader
	want expected
	sha  hash.Hash
	md5  hash.Hash
	sums *lethe.BlockHash
	n    int64
	err  error // sticky; io.EOF: ended well
}

func newIntake(ctx context.Context, body io.Reader, want expected) *intake {
	if body == nil {
		body = strings.NewReader("")
	}
	want.size = max(want.size, blob.UnknownSize)
	return &intake{
		body: blob.Exactly(ctx, body, want.size), want: want,
		sha: sha256.New(), md5: md5.New(), sums: lethe.NewBlockHash(want.block),
	}
}

// Read implements io.Reader.
func (in *intake) Read(p []byte) (int, error) {
	if in.err != nil {
		return 0, in.err
	}
	n, err := in.body.Read(p)
	in.sha.Write(p[:n])
	in.md5.Write(p[:n])
	in.sums.Write(p[:n])
	in.n += int64(n)
	switch {
	case err == io.EOF:
		in.err = in.end()
	case err != nil:
		in.err = bodyError(err)
	}
	return n, in.err
}

// end checks a body that was read to its end.
func (in *intake) end() error {
	if want := in.want.sha256; want != "" && !strings.EqualFold(want, in.digest()) {
		return fmt.Errorf("%w: its SHA-256 is %s, not %s", lethe.ErrDigestMismatch, in.digest(), want)
	}
	if want := in.want.md5; want != "" && !strings.EqualFold(want, in.etag()) {
		return fmt.Errorf("%w: its MD5 is %s, not %s", lethe.ErrDigestMismatch, in.etag(), want)
	}
	if in.want.finish != nil {
		if err := in.want.finish(); err != nil {
			return err
		}
	}
	return io.EOF
}

// failed returns the body's failure, nil if there is none (yet).
func (in *intake) failed() error {
	if in.err == io.EOF {
		return nil
	}
	return in.err
}

// ended reports whether the whole body was read and matched.
func (in *intake) ended() bool { return in.err == io.EOF }

// digest and etag are the hex SHA-256 and MD5 of the bytes read.
func (in *intake) digest() string { return hex.EncodeToString(in.sha.Sum(nil)) }
func (in *intake) etag() string   { return hex.EncodeToString(in.md5.Sum(nil)) }

// bodyError turns a failure of a body into an error of package lethe.
func bodyError(err error) error {
	switch {
	case !errors.Is(err, blob.ErrSize):
		return err
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w: %w", lethe.ErrIncompleteBody, err)
	}
	return fmt.Errorf("%w: %w", lethe.ErrTooLarge, err)
}

// unheld is how many bytes of a small body are not counted against Options.Held.
const unheld = 64 << 10

// readSmall reads the body into a pooled buffer as long as it has at most limit
// bytes, and held has room for them. whole reports whether it is complete;
// otherwise the bytes are its beginning and more may follow. The caller returns the
// buffer, and closes the account.
func (in *intake) readSmall(p *pool, limit int64, held *budget.Account) (data []byte, whole bool, err error) {
	// A declared size is trusted only as bytes arrive: many clients that stall must
	// not hold the memory that they announced.
	first := min(unheld, limit)
	if in.want.size >= 0 {
		first = min(first, in.want.size)
	}
	data = p.get(first)
	for int64(len(data)) <= limit {
		n := 0
		if len(data) < cap(data) {
			n, err = in.Read(data[len(data):min(int64(cap(data)), limit+1)])
			data = data[:len(data)+n]
		} else if err = in.peek(); err == nil {
			if !held.Hold(2 * int64(cap(data))) {
				return data, false, nil
			}
			data = p.grow(data)
		}
		if err == io.EOF {
			return data, true, nil
		}
		if err != nil {
			return data, false, err
		}
	}
	return data, false, nil
}

// peek checks whether the body ends here, so that a buffer of its exact size
// suffices.
func (in *intake) peek() error {
	if in.want.size < 0 || in.n < in.want.size {
		return in.failed()
	}
	var one [1]byte
	_, err := in.Read(one[:])
	return err
}
