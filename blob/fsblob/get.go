package fsblob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"syscall"

	"github.com/lethe-storage/lethe/blob"
)

// errSpecial: the name is neither a file nor a folder.
var errSpecial = errors.New("not a regular file")

// Get implements blob.Store.
func (s *Store) Get(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	if err := blob.CheckKey(key); err != nil {
		return nil, err
	}
	body, err := s.get(ctx, key, offset, length)
	if err != nil {
		return nil, fmt.Errorf("fsblob: get %s: %w", key, s.cause(err))
	}
	return body, nil
}

func (s *Store) get(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if offset < 0 || length < -1 {
		return nil, fmt.Errorf("invalid range %d+%d", offset, length)
	}
	if body := s.getSmall(key, offset, length); body != nil {
		return body, nil
	}
	file, err := s.open(key)
	if err != nil {
		return nil, err
	}
	if offset > 0 {
		if _, err := file.Seek(offset, io.SeekStart); err != nil {
			return nil, errors.Join(err, file.Close())
		}
	}
	if length < 0 {
		return file, nil
	}
	return struct {
		io.Reader
		io.Closer
	}{io.LimitReader(file, length), file}, nil
}

// smallRead is up to how many bytes are read at once, when they are requested.
const smallRead = 64 << 10

// smallReader is an FS that can read a file without opening its folders one by one.
type smallReader interface {
	// readSmall reads the bytes of a regular file from an offset on, up to the
	// length of p. ok is false if it did not succeed, for any reason.
	readSmall(path string, p []byte, offset int64) (n int, ok bool)
}

var smallBuffers = sync.Pool{New: func() any { return new([smallRead]byte) }}

// smallBody is a body of bytes that were read already.
type smallBody struct {
	left []byte
	buf  *[smallRead]byte
}

// Read implements io.Reader.
func (b *smallBody) Read(p []byte) (int, error) {
	if len(b.left) == 0 {
		return 0, io.EOF
	}
	n := copy(p, b.left)
	b.left = b.left[n:]
	return n, nil
}

// Close implements io.Closer.
func (b *smallBody) Close() error {
	if b.buf != nil {
		smallBuffers.Put(b.buf)
		b.left, b.buf = nil, nil
	}
	return nil
}

// getSmall reads a few bytes; nil if an open file has to be used.
func (s *Store) getSmall(key string, offset, length int64) io.ReadCloser {
	r, ok := s.fs.(smallReader)
	if !ok || length < 0 || length > smallRead {
		return nil
	}
	buf := smallBuffers.Get().(*[smallRead]byte)
	n, ok := r.readSmall(key, buf[:length], offset)
	if !ok {
		smallBuffers.Put(buf)
		return nil
	}
	return &smallBody{buf[:n], buf}
}

func (s *Store) open(key string) (File, error) {
	folder, name := split(key)
	dir, err := s.fs.OpenDir(folder)
	if err != nil {
		return nil, absent(err)
	}
	defer dir.Close()
	file, err := dir.Open(name)
	if err != nil {
		return nil, absent(err)
	}
	entry, err := file.Stat()
	if err == nil {
		err = entry.isBlob()
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// Stat implements blob.Store.
func (s *Store) Stat(ctx context.Context, key string) (blob.Info, error) {
	if err := blob.CheckKey(key); err != nil {
		return blob.Info{}, err
	}
	if err := ctx.Err(); err != nil {
		return blob.Info{}, err
	}
	folder, name := split(key)
	entry, err := s.stat(folder, name)
	if blob.Gone(err) {
		if perr := s.prove(folder); perr != nil && !errors.Is(perr, fs.ErrNotExist) {
			err = fmt.Errorf("seen, not proven: %w", perr)
		}
	}
	if err != nil {
		return blob.Info{}, fmt.Errorf("fsblob: stat %s: %w", key, s.cause(err))
	}
	return blob.Info{Key: key, Size: entry.Size, ModTime: entry.ModTime}, nil
}

func (s *Store) stat(folder, name string) (Entry, error) {
	dir, err := s.fs.OpenDir(folder)
	if err != nil {
		return Entry{}, absent(err)
	}
	defer dir.Close()
	entry, err := dir.Stat(name)
	if err != nil {
		return Entry{}, absent(err)
	}
	return entry, entry.isBlob()
}

// isBlob distinguishes a blob from other kinds of files. A folder proves that there
// are no bytes; a link or device proves nothing.
func (e Entry) isBlob() error {
	switch {
	case e.Dir:
		return blob.ErrNotExist
	case !e.Regular:
		return errSpecial
	}
	return nil
}

// absent turns the errors that prove that a key has no bytes into blob.ErrNotExist.
func absent(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return blob.ErrNotExist
	}
	return err
}
