package fsblob

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/internal/lowpriority"
)

// roundSize bounds the folders that one Delete holds open at once.
const roundSize = 128

// Delete implements blob.Store. Its cost per key is one unlink; each folder is
// opened and flushed once per call (see Options.SyncAllFrom).
func (s *Store) Delete(ctx context.Context, keys []string) ([]blob.Result, error) {
	b := &batch{store: s, ctx: ctx, results: make([]blob.Result, len(keys))}
	groups := b.group(keys)
	b.together = s.opt.SyncAllFrom > 0 && len(groups) >= s.opt.SyncAllFrom
	if b.together {
		b.deleteTogether(groups)
	} else {
		for round := range slices.Chunk(groups, roundSize) {
			b.deleteRound(round)
		}
	}
	if err := b.failure(); err != nil {
		return b.results, fmt.Errorf("fsblob: delete %d keys: %w", len(keys), err)
	}
	return b.results, nil
}

// batch is one Delete.
type batch struct {
	store    *Store
	ctx      context.Context
	results  []blob.Result
	together bool // one flush for all folders
	stop     atomic.Pointer[error]
}

// group is the part of a batch that lies in one folder.
type group struct {
	folder string
	index  []int // into the batch's results, in the order given
	dir    Dir   // open between unlinking and flushing
	dirty  bool  // marked as having changes to be flushed
}

// group fills in the results' keys and groups the valid ones by folder.
func (b *batch) group(keys []string) []*group {
	order := make([]int, 0, len(keys))
	for i, key := range keys {
		b.results[i].Key = key
		if err := blob.CheckKey(key); err != nil {
			b.results[i].Err = err
			continue
		}
		order = append(order, i)
	}
	slices.SortStableFunc(order, func(i, j int) int {
		a, _ := split(keys[i])
		c, _ := split(keys[j])
		return strings.Compare(a, c)
	})
	var groups []*group
	for _, i := range order {
		folder, _ := split(keys[i])
		if len(groups) == 0 || groups[len(groups)-1].folder != folder {
			groups = append(groups, &group{folder: folder})
		}
		g := groups[len(groups)-1]
		g.index = append(g.index, i)
	}
	return groups
}

// each runs work on every group, some in parallel, at low priority: requests read meanwhile.
func (b *batch) each(groups []*group, work func(*group)) {
	workers := min(b.store.opt.Workers, len(groups))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			lowpriority.Run(func() {
				for i := next.Add(1); i <= int64(len(groups)); i = next.Add(1) {
					work(groups[i-1])
				}
			})
		})
	}
	wg.Wait()
}

// deleteTogether unlinks everywhere and flushes the file system once.
func (b *batch) deleteTogether(groups []*group) {
	b.each(groups, func(g *group) {
		b.unlink(g)
		g.close()
	})
	if slices.ContainsFunc(groups, func(g *group) bool { return g.dirty }) {
		err := b.store.syncAll()
		for _, g := range groups {
			b.flushed(g, err)
		}
	}
}

// deleteRound unlinks in all folders before it flushes the first: one commit of the
// file system's journal then mostly covers all of them.
func (b *batch) deleteRound(groups []*group) {
	b.each(groups, b.unlink)
	b.each(groups, func(g *group) {
		defer g.close()
		if g.dirty {
			b.flushed(g, b.store.syncDir(g.dir))
		}
	})
}

func (g *group) close() {
	if g.dir != nil {
		_ = g.dir.Close()
		g.dir = nil
	}
}

// unlink removes the names of the group from its folder.
func (b *batch) unlink(g *group) {
	if err := b.stopped(); err != nil {
		b.fail(g, notDone(err))
		return
	}
	dir, err := b.store.fs.OpenDir(g.folder)
	if err != nil {
		b.unopened(g, err)
		return
	}
	g.dir, g.dirty = dir, true
	b.store.folders.touch(g.folder)
	for _, i := range g.index {
		if err := blob.Check(b.ctx); err != nil {
			b.results[i].Err = notDone(err)
			continue
		}
		_, name := split(b.results[i].Key)
		b.results[i].Err = b.unlinkOne(dir, name)
	}
}

func (b *batch) unlinkOne(dir Dir, name string) error {
	err := dir.Remove(name)
	if err == nil {
		return nil
	}
	if err := absent(err); errors.Is(err, blob.ErrNotExist) {
		return blob.ErrNotExist
	}
	if there, serr := dir.Stat(name); serr == nil && there.Dir {
		return blob.ErrNotExist
	}
	err = b.store.outcome(err)
	b.halt(err)
	return err
}

// unopened settles a group whose folder cannot be opened. A missing folder has no
// names, durably: only an operator removes one.
func (b *batch) unopened(g *group, err error) {
	if err := absent(err); errors.Is(err, blob.ErrNotExist) {
		b.fail(g, blob.ErrNotExist)
		return
	}
	err = notDone(b.store.cause(err))
	b.halt(err)
	b.fail(g, err)
}

// flushed settles a group by the outcome of its flush. After a failed one the state
// of the disk is unknown, and the folder stays dirty.
func (b *batch) flushed(g *group, err error) {
	switch {
	case !g.dirty:
		return
	case err == nil:
		b.store.folders.done(g.folder)
		return
	}
	err = unknown(b.store.cause(err))
	b.halt(err)
	for _, i := range g.index {
		if was := b.results[i].Err; blob.Gone(was) {
			b.results[i].Err = err
		}
	}
}

func (b *batch) fail(g *group, err error) {
	for _, i := range g.index {
		b.results[i].Err = err
	}
}

// halt remembers an outage: it applies to the groups not begun as well.
func (b *batch) halt(err error) {
	if errors.Is(err, blob.ErrDown) {
		b.stop.CompareAndSwap(nil, &err)
	}
}

func (b *batch) stopped() error {
	if err := b.stop.Load(); err != nil {
		return fmt.Errorf("%w: not begun", blob.ErrDown)
	}
	return b.ctx.Err()
}

// failure is the error of the call as a whole: an outage, or a cancelled context
// that left keys untouched.
func (b *batch) failure() error {
	if err := b.stop.Load(); err != nil {
		return *err
	}
	err := b.ctx.Err()
	left := func(r blob.Result) bool { return errors.Is(r.Err, err) }
	if err != nil && slices.ContainsFunc(b.results, left) {
		return err
	}
	return nil
}
