// Package spool keeps what a process knows of results that the ledger may not have
// recorded, in files of its own beside the ledger, until each was looked up.
//
// The spool is notes, not truth: the ledger's rows decide, and what the spool loses
// the reaper, the watch and reconcile find all the same. So it never makes its
// caller wait, nor fail: entries go through a bounded buffer to a goroutine that
// writes them and flushes once for each batch. What a killed process had in that
// buffer, and what a full or read-only disk refuses, is lost and counted.
//
// A file is lines: the CRC-32C of the entry in 8 hex digits, a space, the entry as
// JSON. A process begins a file of its own, so that a line that was torn by a crash
// has nothing behind it. Files are bounded in bytes, and so are all of them
// together: the oldest goes first, counted.
package spool

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/lethe-storage/lethe"
)

// Entry is one result that the ledger may not have recorded.
type Entry struct {
	At      lethe.Time `json:"at"`
	Stage   string     `json:"stage"`  // of the work
	Reason  string     `json:"reason"` // how it failed
	Backend string     `json:"backend,omitempty"`
	Blob    lethe.ID   `json:"blob,omitempty"`
	Key     string     `json:"key,omitempty"` // the blob's name on its backend
	Size    int64      `json:"size,omitempty"`
	Op      lethe.ID   `json:"op,omitempty"`
	Upload  lethe.ID   `json:"upload,omitempty"`
	Fence   int64      `json:"fence,omitempty"`
	Error   string     `json:"error,omitempty"`
	Tries   int        `json:"tries,omitempty"` // of looking it up
}

// Options of a Spool. The zero value of a number takes the default.
type Options struct {
	Dir      string
	MaxFile  int64 // bytes; default 4 MiB
	MaxTotal int64 // bytes; default 64 MiB
	Buffer   int   // entries; default 4,096
	// Trouble is told when the spool itself fails; it must not block.
	Trouble func(err error)
}

// Stats counts what became of entries since the spool was opened.
type Stats struct {
	Written, Dropped, Corrupt, Torn int64
}

// Spool keeps entries. It is safe for concurrent use.
type Spool struct {
	o       Options
	in      chan Entry
	stopped chan struct{}
	synced  chan chan struct{}

	mu    sync.Mutex // of what follows, and of the files
	file  *os.File
	name  string
	size  int64
	stats Stats

	replaying sync.Mutex

	ending sync.RWMutex // held shared by who adds
	ended  bool
}

const (
	suffix     = ".spool"
	maxEntry   = 64 << 10 // bytes of a line
	maxErrText = 500
)

// Open makes the folder, if need be, and begins to take entries. A folder that
// cannot be made or written is told as trouble, and entries are dropped.
func Open(o Options) *Spool {
	if o.MaxFile <= 0 {
		o.MaxFile = 4 << 20
	}
	if o.MaxTotal <= 0 {
		o.MaxTotal = 64 << 20
	}
	if o.Buffer <= 0 {
		o.Buffer = 4096
	}
	if o.Trouble == nil {
		o.Trouble = func(error) {}
	}
	s := &Spool{o: o, in: make(chan Entry, o.Buffer), stopped: make(chan struct{}), synced: make(chan chan struct{})}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		o.Trouble(err)
	}
	go s.run()
	return s
}

// Add notes an entry. It does not wait: if the buffer is full the entry is dropped,
// and counted.
func (s *Spool) Add(e Entry) {
	if len(e.Error) > maxErrText {
		e.Error = strings.ToValidUTF8(e.Error[:maxErrText], "")
	}
	s.ending.RLock()
	defer s.ending.RUnlock()
	if s.ended {
		s.drop(1, errors.New("it is closed"))
		return
	}
	select {
	case s.in <- e:
	default:
		s.drop(1, errors.New("its buffer is full"))
	}
}

func (s *Spool) drop(n int64, why error) {
	s.mu.Lock()
	s.stats.Dropped += n
	s.mu.Unlock()
	s.o.Trouble(why)
}

// Sync returns when everything that was added before is written and flushed, or was
// dropped.
func (s *Spool) Sync() {
	done := make(chan struct{})
	select {
	case s.synced <- done:
		<-done
	case <-s.stopped:
	}
}

// Close writes what is left and stops. What is added afterwards is dropped.
func (s *Spool) Close() error {
	s.ending.Lock()
	first := !s.ended
	s.ended = true
	s.ending.Unlock()
	if !first {
		return nil
	}
	close(s.in)
	<-s.stopped
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.finish()
}

// Stats answers the counts since the spool was opened.
func (s *Spool) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stats
}

// run writes entries in batches.
func (s *Spool) run() {
	defer close(s.stopped)
	for {
		select {
		case e, ok := <-s.in:
			if !ok {
				return
			}
			s.write(append([]Entry{e}, s.waiting()...))
		case done := <-s.synced:
			if batch := s.waiting(); len(batch) > 0 {
				s.write(batch)
			}
			close(done)
		}
	}
}

// waiting takes what is in the buffer.
func (s *Spool) waiting() (out []Entry) {
	for len(out) < cap(s.in) {
		select {
		case e, ok := <-s.in:
			if !ok {
				return out
			}
			out = append(out, e)
		default:
			return out
		}
	}
	return out
}

// write appends a batch and flushes it.
func (s *Spool) write(batch []Entry) {
	s.mu.Lock()
	err := s.append(batch)
	if err == nil {
		s.stats.Written += int64(len(batch))
	}
	s.mu.Unlock()
	if err != nil {
		s.drop(int64(len(batch)), fmt.Errorf("write %d entries: %w", len(batch), err))
	}
}

// append writes to the file of this process. After a failure the next entries go to
// another one: what was torn has nothing behind it.
func (s *Spool) append(batch []Entry) error {
	var text []byte
	for _, e := range batch {
		line, err := encode(e)
		if err != nil {
			return err
		}
		text = append(text, line...)
	}
	if err := s.ready(int64(len(text))); err != nil {
		return err
	}
	n, err := s.file.Write(text)
	s.size += int64(n)
	if err == nil {
		err = s.file.Sync()
	}
	if err != nil {
		return errors.Join(err, s.finish())
	}
	return nil
}

// ready has a file for so many more bytes, and room for it.
func (s *Spool) ready(more int64) error {
	if s.file != nil && s.size > 0 && s.size+more > s.o.MaxFile {
		if err := s.finish(); err != nil {
			return err
		}
	}
	if err := s.bound(more); err != nil {
		return err
	}
	if s.file != nil {
		return nil
	}
	f, err := os.CreateTemp(s.o.Dir, "*"+suffix)
	if err != nil {
		return err
	}
	s.file, s.name, s.size = f, filepath.Base(f.Name()), 0
	return nil
}

// finish ends the file of this process.
func (s *Spool) finish() error {
	if s.file == nil {
		return nil
	}
	err := s.file.Close()
	if s.size == 0 {
		err = errors.Join(err, os.Remove(filepath.Join(s.o.Dir, s.name)))
	}
	s.file, s.name, s.size = nil, "", 0
	return err
}

// old is a file of the spool.
type old struct {
	name string
	size int64
	at   int64
}

// files are all but this process's own, oldest first.
func (s *Spool) files() (out []old, err error) {
	list, err := os.ReadDir(s.o.Dir)
	for _, d := range list {
		info, err := d.Info()
		if err != nil || !strings.HasSuffix(d.Name(), suffix) || d.Name() == s.name || !info.Mode().IsRegular() {
			continue
		}
		out = append(out, old{d.Name(), info.Size(), info.ModTime().UnixNano()})
	}
	slices.SortFunc(out, func(a, b old) int {
		if a.at != b.at {
			return int(min(max(a.at-b.at, -1), 1))
		}
		return strings.Compare(a.name, b.name)
	})
	return out, err
}

// bound removes the oldest files until there is room for more bytes.
func (s *Spool) bound(more int64) error {
	list, err := s.files()
	if err != nil {
		return err
	}
	total := s.size + more
	for _, f := range list {
		total += f.size
	}
	for _, f := range list {
		if total <= s.o.MaxTotal {
			return nil
		}
		entries, _, err := read(filepath.Join(s.o.Dir, f.name))
		if err == nil {
			err = os.Remove(filepath.Join(s.o.Dir, f.name))
		}
		if err != nil {
			return err
		}
		s.stats.Dropped += int64(len(entries))
		total -= f.size
	}
	return nil
}

// List answers all entries that are written, in no order that matters.
func (s *Spool) List() (out []Entry, err error) {
	s.Sync()
	list, err := os.ReadDir(s.o.Dir)
	for _, d := range list {
		if !strings.HasSuffix(d.Name(), suffix) {
			continue
		}
		entries, _, rerr := read(filepath.Join(s.o.Dir, d.Name()))
		if rerr != nil && !errors.Is(rerr, fs.ErrNotExist) {
			err = errors.Join(err, rerr)
		}
		out = append(out, entries...)
	}
	return out, err
}

// Report says what a replay did.
type Report struct {
	Resolved map[string]int64 `json:"resolved"` // by what became of the entry
	Open     int64            `json:"open"`     // nobody knows yet: tried again
	Corrupt  int64            `json:"corrupt"`  // lines that cannot be read: passed over
	Torn     int64            `json:"torn"`     // lines that a crash or a full disk cut off
}

// Replay looks every entry up: resolve answers what became of it, or nothing if
// that is not known yet; such entries are kept. An error ends the replay; entries
// that it did not come to are kept as well. An entry may be looked up twice: if a
// process dies in between.
func (s *Spool) Replay(ctx context.Context, resolve func(context.Context, Entry) (string, error)) (Report, error) {
	s.replaying.Lock()
	defer s.replaying.Unlock()
	s.Sync()
	out := Report{Resolved: map[string]int64{}}
	s.mu.Lock()
	err := s.finish()
	list, lerr := s.files()
	s.mu.Unlock()
	if err = errors.Join(err, lerr); err != nil {
		return out, err
	}
	for _, f := range list {
		if err := s.replayFile(ctx, f.name, resolve, &out); err != nil {
			return out, err
		}
	}
	return out, nil
}

func (s *Spool) replayFile(ctx context.Context, name string, resolve func(context.Context, Entry) (string, error), out *Report) error {
	entries, bad, err := read(filepath.Join(s.o.Dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // dropped meanwhile, for room
	}
	if err != nil {
		return err
	}
	var left []Entry
	for _, e := range entries {
		what, err := resolve(ctx, e)
		if err != nil {
			return err
		}
		if what == "" {
			e.Tries++
			left = append(left, e)
			continue
		}
		out.Resolved[what]++
	}
	out.Open += int64(len(left))
	out.Corrupt += bad.corrupt
	out.Torn += bad.torn
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats.Corrupt += bad.corrupt
	s.stats.Torn += bad.torn
	if len(left) > 0 {
		if err := s.append(left); err != nil {
			return err // the file stays, with all of them
		}
	}
	if err := os.Remove(filepath.Join(s.o.Dir, name)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil // dropped meanwhile, for room
}

// damage counts lines that could not be read.
type damage struct{ corrupt, torn int64 }

// read reads a file's entries; what cannot be read is counted and passed over.
func read(path string) (out []Entry, bad damage, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, bad, err
	}
	defer f.Close()
	return parse(bufio.NewReaderSize(f, maxEntry))
}
