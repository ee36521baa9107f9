package fsblob

import (
	"errors"
	"fmt"
	"io/fs"
	"sync"
)

// folders tracks the folders with changes that are not durable yet.
type folders struct {
	mu    sync.Mutex
	dirty map[string]int
}

// touch is called before a change of the folder becomes visible.
func (f *folders) touch(folder string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.dirty == nil {
		f.dirty = map[string]int{}
	}
	f.dirty[folder]++
}

// done is called when the change is durable, or did not happen. It is not called
// after a failed flush: the folder stays dirty.
func (f *folders) done(folder string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.dirty[folder]--; f.dirty[folder] == 0 {
		delete(f.dirty, folder)
	}
}

// undurable returns the folder and its parents as far as they are dirty, the lowest
// first.
func (f *folders) undurable(folder string) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.dirty) == 0 {
		return nil
	}
	var dirty []string
	for {
		if f.dirty[folder] > 0 {
			dirty = append(dirty, folder)
		}
		if folder == "" {
			return dirty
		}
		folder, _ = split(folder)
	}
}

// prove makes durable what was just seen in the folder. A folder is marked before
// it is changed, so what is not marked after it was seen is durable.
func (s *Store) prove(folder string) error {
	for _, dirty := range s.folders.undurable(folder) {
		if err := s.syncFolder(dirty); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) syncFolder(folder string) error {
	dir, err := s.fs.OpenDir(folder)
	if err != nil {
		return err
	}
	defer dir.Close()
	return s.syncDir(dir)
}

func (s *Store) syncDir(dir Dir) error { return s.sync("folder", dir.Sync) }

func (s *Store) syncAll() error { return s.sync("all", s.fs.SyncAll) }

func (s *Store) sync(what string, flush func() error) error {
	if s.opt.NoSync {
		return nil
	}
	s.opt.OnSync(what)
	if err := flush(); err != nil {
		return fmt.Errorf("flush %s: %w", what, err)
	}
	return nil
}

// ensure opens a folder, making it and those above it if needed.
func (s *Store) ensure(folder string) (Dir, error) {
	dir, err := s.fs.OpenDir(folder)
	if err == nil || folder == "" || !errors.Is(err, fs.ErrNotExist) {
		return dir, err
	}
	for i := range len(folder) + 1 {
		if i == len(folder) || folder[i] == '/' {
			if err := s.mkdir(folder[:i]); err != nil {
				return nil, err
			}
		}
	}
	return s.fs.OpenDir(folder)
}

// mkdir makes one folder durably; an existing one is no error. If another call is
// making it, the parent folder is marked until it is durable.
func (s *Store) mkdir(folder string) error {
	above, _ := split(folder)
	s.folders.touch(above)
	err := s.fs.Mkdir(folder)
	if err == nil {
		err = s.syncFolder(above)
	} else if errors.Is(err, fs.ErrExist) {
		err = nil
	}
	if err == nil {
		s.folders.done(above)
	}
	return err
}
