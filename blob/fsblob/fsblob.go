// Package fsblob is a blob.Store in a directory: a key is the path of a file.
//
// A Put writes a temporary file in the folder ".tmp", flushes it, moves it to its
// name without replacing anything, and flushes the folder (and its parents that
// were made for it). A named file is therefore always whole. A Delete unlinks and
// flushes every folder once per call; folders are never removed, so that no Put
// loses its folder. Open flushes what the process before did not. Folders with
// changes in flight are tracked, and a Stat flushes them before it proves anything.
//
// The folder belongs to one process at a time. The names ".tmp" and "lost+found"
// (for a root of a file system) are not listed. Folders of another program are
// treeblob's.
package fsblob

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/lethe-storage/lethe/blob"
)

// tempFolder holds the files that have no name yet. No key can lie in it.
const tempFolder = ".tmp"

// lostFound belongs to the file system, and often only root may read it.
const lostFound = "lost+found"

// Permissions of new folders and files: accessible to their owner only.
const (
	folderPerm = 0o700
	filePerm   = 0o600
)

// Options of a Store. Only Root is required.
type Options struct {
	// Root is the path of the folder.
	Root string
	// Create makes Root if it does not exist. Without it a missing folder is
	// blob.ErrDown, so that an unmounted disk is not mistaken for an empty one.
	Create bool
	// NoSync omits every flush, for benchmarks: a loss of power then loses
	// acknowledged bytes.
	NoSync bool
	// OnSync is called with every flush: "file", "folder" or "all".
	OnSync func(what string)
	// OnPut is called with the stage of a Put of a key: "written", when its
	// temporary file is whole, "checked", after the Check and before it gets its
	// name, and "placed", when it has its name and its folder is not flushed.
	OnPut func(key, reached string)
	// Workers is the number of folders that one Delete processes in parallel.
	// 0 is 4.
	Workers int
	// SyncAllFrom is the number of folders of one Delete from which on one flush of
	// the whole file system replaces one per folder: random names spread over all
	// folders, and 600 flushes take longer than 1,000 deletions. It also waits for
	// the writes of other programs. 0 is 16; negative never.
	SyncAllFrom int
	// Random makes the names of temporary files differ from those of earlier
	// processes. nil is crypto/rand.
	Random io.Reader
}

func (o Options) withDefaults() Options {
	if o.Workers <= 0 {
		o.Workers = 4
	}
	if o.SyncAllFrom == 0 {
		o.SyncAllFrom = 16
	}
	if o.Random == nil {
		o.Random = rand.Reader
	}
	if o.OnSync == nil {
		o.OnSync = func(string) {}
	}
	if o.OnPut == nil {
		o.OnPut = func(string, string) {}
	}
	return o
}

// Store keeps blobs in a directory. It is safe for concurrent use.
type Store struct {
	fs      FS
	opt     Options
	folders folders
	nonce   string
	temps   atomic.Int64 // numbers the temporary files
	active  sync.Map     // names of temporary files in flight: string -> struct{}
}

var (
	_ blob.Store      = (*Store)(nil)
	_ blob.Unfinished = (*Store)(nil)
	_ blob.Spacer     = (*Store)(nil)
	_ blob.Placed     = (*Store)(nil)
)

// Open opens the folder and flushes what an earlier process left unflushed.
// Errors wrap blob.ErrDown.
func Open(opt Options) (*Store, error) {
	fsys, err := openOS(opt)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", opt.Root, outage(err))
	}
	s, err := OpenFS(fsys, opt)
	if err != nil {
		return nil, errors.Join(err, fsys.Close())
	}
	return s, nil
}

// OpenFS is Open on the given tree; Root and Create are ignored.
func OpenFS(fsys FS, opt Options) (*Store, error) {
	s := &Store{fs: fsys, opt: opt.withDefaults()}
	var nonce [8]byte
	if _, err := io.ReadFull(s.opt.Random, nonce[:]); err != nil {
		return nil, fmt.Errorf("open: random source: %w", err)
	}
	s.nonce = hex.EncodeToString(nonce[:])
	if err := s.syncAll(); err != nil {
		return nil, fmt.Errorf("open %s: %w", opt.Root, outage(err))
	}
	return s, nil
}

// InPlace implements blob.Placed.
func (s *Store) InPlace() error {
	if f, ok := s.fs.(interface{ inPlace() error }); ok {
		return f.inPlace()
	}
	return nil
}

// Reopen implements blob.Placed; it flushes what was left unflushed there.
func (s *Store) Reopen() error {
	f, ok := s.fs.(interface{ reopen() error })
	if !ok {
		return errors.ErrUnsupported
	}
	if err := errors.Join(f.reopen(), s.syncAll()); err != nil {
		return fmt.Errorf("open %s again: %w", s.opt.Root, outage(err))
	}
	return nil
}

// Close closes the folder. Open bodies of Get stay readable.
func (s *Store) Close() error { return s.fs.Close() }

// Free implements blob.Spacer: the room that the file system has left for
// unprivileged users.
func (s *Store) Free(context.Context) (int64, error) {
	free, err := s.fs.Free()
	if err != nil {
		return 0, fmt.Errorf("free space: %w", outage(err))
	}
	return free, nil
}

// split returns the folder, "" for the root, and the name of a key.
func split(key string) (folder, name string) {
	i := strings.LastIndexByte(key, '/')
	if i < 0 {
		return "", key
	}
	return key[:i], key[i+1:]
}

func join(folder, name string) string {
	if folder == "" {
		return name
	}
	return folder + "/" + name
}
