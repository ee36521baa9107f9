package adoptsim

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
)

// clock is one beside the world's own, which it is ahead of.
type clock struct {
	w     *world
	ahead time.Duration
}

func (c *clock) Now() lethe.Time { return c.w.now.Add(c.ahead) }

// object is one version of an object.
type object struct {
	at  lethe.Time // it was put, by the world's clock
	mod lethe.Time // by the bucket's
}

// pile is objects by their keys, with the times at which they were put.
type pile struct {
	w       *world
	clock   *clock
	objects map[string]object
}

func newPile(w *world, c *clock) *pile { return &pile{w, c, map[string]object{}} }

func (p *pile) put(key string) { p.objects[key] = object{p.w.now, p.clock.Now()} }

func (p *pile) has(key string) bool {
	_, there := p.objects[key]
	return there
}

// below returns the keys with a prefix.
func (p *pile) below(prefix string) []string {
	keys := slices.Sorted(maps.Keys(p.objects))
	return slices.DeleteFunc(keys, func(k string) bool { return !strings.HasPrefix(k, prefix) })
}

// upload puts an object for the application; it reports whether that was acknowledged.
func (p *pile) upload(key string, done func()) bool {
	put := func() {
		p.put(key)
		done()
	}
	switch p.w.arrive("put", key, putFaults) {
	case notDone, undone:
		return false
	case late:
		p.w.later("put", []string{key}, 2*time.Minute, put)
		return false
	case doneError:
		put()
		return false
	case crashAfter:
		put()
		p.w.cur.dies()
	}
	put()
	return true
}

// listed is how many keys a listing returns at once: others go on between.
const listed = 6

var listFaults = []Fault{notDone, crashBefore, stall, partial, partial}

// List calls fn for the keys with a prefix, as they are when it comes to them. One
// that breaks off says so.
func (p *pile) List(_ context.Context, prefix, after string, fn func(blob.Info) error) error {
	for {
		fault := p.w.arrive("list", prefix+" "+after, listFaults)
		page := slices.DeleteFunc(p.below(prefix), func(k string) bool { return k <= after })
		page = page[:min(listed, len(page))]
		if fault == notDone {
			return fmt.Errorf("sim: list: %w", blob.ErrDown)
		}
		for i, key := range page {
			if fault == partial && i >= len(page)/2 {
				return fmt.Errorf("sim: list: it broke off: %w", blob.ErrDown)
			}
			if err := fn(blob.Info{Key: key, Size: 1, ModTime: p.objects[key].mod}); err != nil {
				return err
			}
		}
		if len(page) < listed {
			return nil
		}
		after = page[len(page)-1]
	}
}

// Stat tells of an object.
func (p *pile) Stat(_ context.Context, key string) (blob.Info, error) {
	if p.w.arrive("stat", key, readFaults) == notDone {
		return blob.Info{}, fmt.Errorf("sim: stat: %w", blob.ErrDown)
	}
	return p.stat(key)
}

func (p *pile) stat(key string) (blob.Info, error) {
	o, there := p.objects[key]
	if !there {
		return blob.Info{}, fmt.Errorf("sim: stat %s: %w", key, blob.ErrNotExist)
	}
	return blob.Info{Key: key, Size: 1, ModTime: o.mod}, nil
}

// Put puts an object where there is none.
func (p *pile) Put(ctx context.Context, key string, _ io.Reader, _ int64) error {
	if p.w.arrive("put", key, readFaults) == notDone {
		return fmt.Errorf("sim: put: %w: %w", blob.ErrDown, blob.ErrNotDone)
	}
	if err := blob.Check(ctx); err != nil {
		return err
	}
	return p.create(key)
}

func (p *pile) create(key string) error {
	if p.has(key) {
		return fmt.Errorf("sim: put %s: %w", key, blob.ErrExist)
	}
	p.put(key)
	return nil
}
