package fsblob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"sync"
	"syscall"

	"github.com/lethe-storage/lethe/blob"
)

// bufferSize is the unit in bytes in which bodies are written.
const bufferSize = 128 << 10

var buffers = sync.Pool{New: func() any { return new([bufferSize]byte) }}

// Put implements blob.Store.
func (s *Store) Put(ctx context.Context, key string, r io.Reader, size int64) error {
	if err := blob.CheckKey(key); err != nil {
		return err
	}
	if err := s.put(ctx, key, blob.Exactly(ctx, r, size)); err != nil {
		return fmt.Errorf("fsblob: put %s: %w", key, err)
	}
	return nil
}

func (s *Store) put(ctx context.Context, key string, body io.Reader) error {
	t, err := s.newTemp()
	if err != nil {
		return notDone(s.shared(err))
	}
	defer t.close()
	source := &source{Reader: body}
	if err := t.fill(source); err != nil {
		t.discard()
		return notDone(errors.Join(source.err, s.cause(err)))
	}
	s.opt.OnPut(key, "written")
	placed, err := s.place(ctx, t, key)
	if !placed {
		t.discard()
	}
	return err
}

// source keeps the error of a body, which is no error of this file system.
type source struct {
	io.Reader
	err error
}

var errBody = errors.New("body failed")

func (s *source) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err, err = err, errBody
	}
	return n, err
}

// temp is a file without its final name.
type temp struct {
	store *Store
	dir   Dir
	name  string
	file  File
}

func (s *Store) newTemp() (*temp, error) {
	dir, err := s.ensure(tempFolder)
	if err != nil {
		return nil, err
	}
	t := &temp{store: s, dir: dir, name: s.nonce + "-" + strconv.FormatInt(s.temps.Add(1), 10)}
	s.active.Store(t.name, struct{}{})
	if t.file, err = dir.Create(t.name); err != nil {
		t.close()
		return nil, err
	}
	return t, nil
}

// fill writes the body, makes it durable and closes the file.
func (t *temp) fill(body io.Reader) error {
	buf := buffers.Get().(*[bufferSize]byte)
	defer buffers.Put(buf)
	// The wrappers make io.CopyBuffer use the buffer.
	_, err := io.CopyBuffer(struct{ io.Writer }{t.file}, body, buf[:])
	if err == nil {
		err = t.store.sync("file", t.file.Sync)
	}
	return errors.Join(err, t.file.Close())
}

// discard removes the file; if that fails SweepUnfinished does.
func (t *temp) discard() { _ = t.dir.Remove(t.name) }

func (t *temp) close() {
	t.store.active.Delete(t.name)
	_ = t.dir.Close()
}

// place gives the file its name, durably. placed reports whether it left the folder
// of temporary files.
func (s *Store) place(ctx context.Context, t *temp, key string) (placed bool, err error) {
	for range 2 {
		placed, err = s.move(ctx, t, key)
		// The folder was removed by another program: make it again, once.
		if placed || !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return placed, err
}

func (s *Store) move(ctx context.Context, t *temp, key string) (placed bool, err error) {
	folder, name := split(key)
	dir, err := s.ensure(folder)
	if errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ELOOP) {
		return false, notDone(fmt.Errorf("%w: a file is in the way: %w", blob.ErrInvalidKey, err))
	}
	if err != nil {
		return false, notDone(s.cause(err))
	}
	defer dir.Close()
	if err := blob.Check(ctx); err != nil {
		return false, notDone(err)
	}
	s.opt.OnPut(key, "checked")
	s.folders.touch(folder)
	if err := s.fs.Move(t.dir, t.name, dir, name); err != nil {
		return false, s.moveFailed(dir, folder, name, err)
	}
	s.opt.OnPut(key, "placed")
	if err := s.syncDir(dir); err != nil {
		return true, s.undo(dir, name, err)
	}
	s.folders.done(folder)
	if above, _ := split(folder); folder != "" {
		err = s.prove(above)
	}
	if err != nil {
		return true, s.undo(dir, name, err)
	}
	return true, nil
}

// moveFailed interprets a failed move. When its outcome is open the folder stays
// dirty.
func (s *Store) moveFailed(dir Dir, folder, name string, err error) error {
	if !isOneOf(err, without) {
		return unknown(s.cause(err))
	}
	s.folders.done(folder)
	if !errors.Is(err, fs.ErrExist) {
		return notDone(s.cause(err))
	}
	if there, serr := dir.Stat(name); serr == nil && there.Dir {
		return notDone(fmt.Errorf("%w: it is a folder", blob.ErrInvalidKey))
	}
	return blob.ErrExist
}

// undo removes the name again after a flush failed. Whether it exists after a loss
// of power is unknown.
func (s *Store) undo(dir Dir, name string, err error) error {
	if rerr := dir.Remove(name); rerr == nil {
		_ = s.syncDir(dir)
	}
	return unknown(s.cause(err))
}
