package adopt

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/internal/words"
)

// OrphanObject is an object that no row names.
type OrphanObject struct {
	Key      string
	Size     int64      // bytes
	Modified lethe.Time // by the bucket's clock
}

// Seeing is a batch of objects for which no row was found.
type Seeing struct {
	Orphans   []OrphanObject
	Retention time.Duration
	// Most bounds how many may be condemned now.
	Most int
	// Look condemns nothing: it returns what would be.
	Look bool
}

// Seen is the result of a second look at a batch.
type Seen struct {
	Orphans int // objects that no row names
	Held    int // those of them that a hold keeps
	// Condemned are those known for the retention, which are to be deleted.
	Condemned []string
}

// NamedKeys are the keys that rows name. Each method is one read transaction.
type NamedKeys interface {
	// Stream calls fn for each key in byte order. It returns the instant of its
	// view and the number of keys at the last run.
	Stream(ctx context.Context, fn func(key string) error) (at lethe.Time, last int64, err error)
	// Named returns the keys that rows name now.
	Named(ctx context.Context, keys []string) ([]string, error)
}

// KeyRows are the keys that rows name, and the record of objects without a row.
// Each method is one transaction.
type KeyRows interface {
	NamedKeys
	// See checks again that no row names the objects, and records those. It
	// condemns the ones that were known for the retention, are unchanged, and
	// that no hold keeps.
	See(ctx context.Context, s Seeing) (Seen, error)
	// Gone deletes the records of deleted objects.
	Gone(ctx context.Context, keys []string) error
	// End records the number of rows, and forgets objects that were not seen
	// since.
	End(ctx context.Context, rows int64, since lethe.Time) error
	// Known counts the recorded objects.
	Known(ctx context.Context) (Backlog, error)
}

// KeyStore stores the objects. Keys exclude the prefix of the collection.
type KeyStore interface {
	Stater
	List(ctx context.Context, prefix, after string, fn func(blob.Info) error) error
}

// Keys compares the objects below a prefix with the keys that rows name, both
// ways. Objects that no row names are deleted once known for the retention;
// keys without an object are reported. At most one instance runs it at a time.
type Keys struct {
	Collection string
	Prefix     string // of the whole keys
	Rules      KeyRules
	Rows       KeyRows
	Store      KeyStore
	Remove     Deleter // of orphans, by their whole keys: deletes or moves them
	Batch      int
	// Only, if set, limits which orphans are recorded and deleted.
	Only map[string]bool
	// Hook receives the keys without an object, a batch at a time, in each pass
	// without Only. It may be nil. Failures are counted, and the next pass
	// repeats them.
	Hook   func(ctx context.Context, keys []string) error
	Boot   lethe.Clock
	Events *Events
}

// Name returns the routine's name in runs and metrics.
func (k *Keys) Name() string { return "keys " + k.Collection }

// Plan counts the recorded orphans.
func (k *Keys) Plan(ctx context.Context) (Backlog, error) { return k.Rows.Known(ctx) }

// Pass compares everything once.
func (k *Keys) Pass(string) func(ctx context.Context, add func(string, int64)) (bool, error) {
	return func(ctx context.Context, add func(string, int64)) (bool, error) {
		c := &comparison{Keys: k, doubts: true, add: add, orphans: k.record, forget: k.Rows.Gone, left: k.Rules.Most}
		if k.Only == nil {
			c.hook = k.Hook
		}
		if err := c.run(ctx); err != nil {
			return false, err
		}
		if err := c.plausible(); err != nil {
			return false, err
		}
		for due := range slices.Chunk(c.due, k.Batch) {
			if err := k.reclaim(ctx, c, due); err != nil {
				return false, err
			}
		}
		if k.Only != nil {
			return false, nil
		}
		return false, k.Rows.End(ctx, c.below, c.at)
	}
}

// Report passes the orphans and the keys without an object to two functions, and
// changes nothing.
func (k *Keys) Report(ctx context.Context, orphans func([]OrphanObject), missing func([]string)) error {
	return k.report(orphans, missing).run(ctx)
}

// KeyCensus is what a comparison finds.
type KeyCensus struct {
	Named, Orphans, Missing int64
	Bytes                   int64  // of the orphans
	Such                    string // an orphan
}

// String describes a comparison in one line.
func (c KeyCensus) String() string {
	text := fmt.Sprintf("objects with a row: %d; old enough and without one: %d", c.Named, c.Orphans)
	if c.Orphans > 0 {
		text += fmt.Sprintf(" (%s), such as %s", words.Plural(c.Bytes, "byte", "bytes"), c.Such)
	}
	return text + fmt.Sprintf("; keys of rows without an object: %d", c.Missing)
}

// Census counts what a run would find, and changes nothing. It fails with
// ErrFewRows and ErrSpelled where a run would.
func (k *Keys) Census(ctx context.Context) (out KeyCensus, err error) {
	c := k.report(func(list []OrphanObject) {
		for _, o := range list {
			out.Orphans, out.Bytes, out.Such = out.Orphans+1, out.Bytes+o.Size, cmp.Or(out.Such, o.Key)
		}
	}, func(keys []string) { out.Missing += int64(len(keys)) })
	c.doubts = true
	if err := c.run(ctx); err != nil {
		return out, err
	}
	out.Named, c.without = c.matched, out.Orphans
	return out, c.plausible()
}

// report returns a comparison that changes nothing.
func (k *Keys) report(orphans func([]OrphanObject), missing func([]string)) *comparison {
	c := &comparison{Keys: k, add: func(string, int64) {}, missed: missing}
	c.orphans = func(ctx context.Context, c *comparison, found []OrphanObject) error {
		keys := make([]string, len(found))
		for i, o := range found {
			keys[i] = o.Key
		}
		named, err := c.Rows.Named(ctx, keys)
		if err != nil {
			return err
		}
		again := set(named)
		var out []OrphanObject
		for _, o := range found {
			if !again[o.Key] {
				out = append(out, o)
			}
		}
		orphans(out)
		return nil
	}
	return c
}

func set(keys []string) map[string]bool {
	out := make(map[string]bool, len(keys))
	for _, k := range keys {
		out[k] = true
	}
	return out
}

// comparison is one walk over keys and objects.
type comparison struct {
	*Keys
	add     func(string, int64)
	orphans func(context.Context, *comparison, []OrphanObject) error
	missed  func([]string)
	hook    func(context.Context, []string) error
	forget  func(context.Context, []string) error // of orphans; nil: nothing is changed
	left    int                                   // that may be deleted
	due     []OrphanObject                        // to be deleted at the end

	at      lethe.Time // when the rows were read
	first   bool       // no run before has succeeded
	doubts  bool       // whether the description is plausible is asked at the end
	below   int64      // keys below the prefix
	matched int64      // objects that have a row
	without int64      // objects that have none
	wrong   error      // about the keys that the query returns
	derived derivations
	rows    *keyBuffer
	found   []OrphanObject // not yet checked again
	missing []string
}

// run reads the keys, lists the objects, and merges them.
func (c *comparison) run(ctx context.Context) (err error) {
	c.rows = new(keyBuffer)
	defer func() { err = errors.Join(err, c.rows.close()) }()
	var last int64
	if c.at, last, err = c.Rows.Stream(ctx, c.named); err != nil {
		return err
	}
	if err := c.Rules.Enough(c.below, last); err != nil {
		return err
	}
	if c.first = last == 0; c.first {
		c.left = 0 // what earlier runs recorded, they doubted
	}
	if err := c.rows.rewind(); err != nil {
		return err
	}
	err = c.Store.List(ctx, "", "", func(i blob.Info) error { return c.listed(ctx, i) })
	if err != nil {
		return fmt.Errorf("list %s: %w", c.Prefix, err)
	}
	for c.rows.key != "" {
		if err := c.miss(ctx); err != nil {
			return err
		}
	}
	return errors.Join(c.flushOrphans(ctx), c.flushMissing(ctx))
}

// plausible returns ErrSpelled, or ErrFewRows at the first run, if the description may be
// wrong.
func (c *comparison) plausible() error {
	if c.wrong != nil {
		return c.wrong
	}
	if !c.first {
		return nil
	}
	return cmp.Or(firstRun(c.matched, c.without, c.Rules.Least, "objects", "keys.least"), c.derived.doubt())
}

// named adds a key that a row names. A key elsewhere says nothing about the
// objects below the prefix.
func (c *comparison) named(key string) error {
	if rest, ok := below(key, c.Prefix); ok && key != c.rows.key {
		c.below++
		c.derived.lives(rest)
	}
	return c.rows.put(key)
}

// listed processes the next object of the listing.
func (c *comparison) listed(ctx context.Context, i blob.Info) error {
	key := c.Prefix + i.Key
	for c.rows.key != "" && c.rows.key < key {
		if err := c.miss(ctx); err != nil {
			return err
		}
	}
	if c.rows.key == key {
		c.matched++
		return c.rows.next()
	}
	if c.at.Sub(i.ModTime) < c.Rules.MinAge || i.ModTime == 0 || blob.CheckForeign(i.Key) != nil {
		return nil // without a time its age is unknown, as is whether it was overwritten
	}
	c.found = append(c.found, OrphanObject{key, i.Size, i.ModTime})
	if len(c.found) < c.Batch {
		return nil
	}
	return c.flushOrphans(ctx)
}

// miss adds a key that is not in the listing.
func (c *comparison) miss(ctx context.Context) error {
	c.missing = append(c.missing, c.rows.key)
	if err := c.rows.next(); err != nil {
		return err
	}
	if len(c.missing) < c.Batch {
		return nil
	}
	return c.flushMissing(ctx)
}

func (c *comparison) flushOrphans(ctx context.Context) error {
	found := c.found
	c.found = nil
	if len(found) == 0 {
		return nil
	}
	if c.first && c.doubts && c.Rules.Least != 0 {
		if err := c.derive(ctx, found); err != nil {
			return err
		}
	}
	if err := c.orphans(ctx, c, found); err != nil {
		return err
	}
	return c.unescape(ctx, found)
}

// flushMissing checks keys without an object again: the row, and the object.
func (c *comparison) flushMissing(ctx context.Context) error {
	keys := c.missing
	c.missing = nil
	if len(keys) == 0 {
		return nil
	}
	named, err := c.Rows.Named(ctx, keys)
	if err != nil {
		return err
	}
	var missing []string
	for _, key := range named {
		if _, ok := below(key, c.Prefix); ok {
			there, err := c.there(ctx, key)
			if err != nil {
				return err
			}
			if there {
				continue // it was put meanwhile
			}
			if err := c.spelled(ctx, key); err != nil {
				return err
			}
		}
		missing = append(missing, key)
	}
	c.add("missing", int64(len(missing)))
	if c.missed != nil {
		c.missed(missing)
	}
	c.Events.missing(c.Collection, missing)
	if c.hook == nil || len(missing) == 0 {
		return nil
	}
	if err := c.hook(ctx, missing); err != nil {
		c.add("hook_failed", int64(len(missing)))
		c.Events.hookFailed(c.Collection, err)
	}
	return nil
}

// errOrder reports that the database does not return keys in byte order.
var errOrder = errors.New("the database returns keys out of order")

// keyBuffer buffers sorted keys, in memory up to keyBufferSize and then in a
// temporary file, so that no transaction is open while a bucket is listed. key
// is the next one, empty at the end.
type keyBuffer struct {
	file *os.File     // nil while all keys are in held
	held bytes.Buffer // not yet in the file
	r    *bufio.Reader
	n    int64
	key  string
}

// keyBufferSize is how much is buffered in memory, in bytes.
const keyBufferSize = 64 << 10

// put appends a key, unless it is a repetition.
func (s *keyBuffer) put(key string) error {
	switch {
	case key == "" || s.n > 0 && key == s.key:
		return nil
	case s.n > 0 && key < s.key:
		return fmt.Errorf("%w: %q after %q", errOrder, key, s.key)
	}
	s.key = key
	s.n++
	s.held.Write(binary.AppendUvarint(nil, uint64(len(key))))
	s.held.WriteString(key)
	if s.held.Len() < keyBufferSize {
		return nil
	}
	return s.flush()
}

// flush writes held keys to the file.
func (s *keyBuffer) flush() (err error) {
	if s.file == nil {
		if s.file, err = os.CreateTemp("", "lethe-keys-"); err != nil {
			return err
		}
	}
	_, err = s.held.WriteTo(s.file)
	return err
}

// rewind goes to the first key.
func (s *keyBuffer) rewind() error {
	if s.r = bufio.NewReader(&s.held); s.file == nil {
		return s.next()
	}
	if err := s.flush(); err != nil {
		return err
	}
	if _, err := s.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	s.r = bufio.NewReader(s.file)
	return s.next()
}

// next goes to the next key.
func (s *keyBuffer) next() error {
	s.key = ""
	size, err := binary.ReadUvarint(s.r)
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return err
	}
	key := make([]byte, size)
	_, err = io.ReadFull(s.r, key)
	s.key = string(key)
	return err
}

func (s *keyBuffer) close() error {
	if s.file == nil {
		return nil
	}
	return errors.Join(s.file.Close(), os.Remove(s.file.Name()))
}
