package adopt

import (
	"context"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// derivations finds objects without a row whose key is one that a row names, and something: as
// thumbnails have, which are in use without rows of their own. It looks at a sample.
type derivations struct {
	// folders and exts are the first segments and the endings of some keys that rows name.
	folders, exts map[string]bool
	// names counts the last segments of those in a folder: not all of one name.
	names   map[string]int
	found   map[string]derived // by what the keys have more, or instead, with # for its numbers
	batches int
	asked   int // keys, so far
}

// derived is objects whose keys have one thing more, and of the first one its key and the other.
type derived struct {
	n          int64
	such, from string
}

const (
	// derivedSample is how many of the first batch of objects are looked at: of later ones fewer.
	derivedSample = 100
	// derivedKeys bounds the keys that are asked for, and derivedOrigins those of one object.
	derivedKeys, derivedOrigins = 20_000, 40
	// alikeKeys bounds the folders and endings that are tried.
	alikeKeys = 8
	// distinctName is the length of a name that two objects do not have by chance.
	distinctName = 12
)

// lives notes a key that a row names.
func (d *derivations) lives(key string) {
	note := func(in *map[string]bool, what string) {
		if *in == nil {
			*in = map[string]bool{}
		}
		if what != "" && len(*in) < alikeKeys {
			(*in)[what] = true
		}
	}
	if at := strings.IndexByte(key, '/'); at > 0 {
		note(&d.folders, key[:at])
		name := path.Base(key)
		if d.names == nil {
			d.names = map[string]int{}
		}
		if d.names[name] > 0 || len(d.names) < alikeKeys*alikeKeys {
			d.names[name]++
		}
	}
	note(&d.exts, path.Ext(key))
}

// origins returns the keys that a key may be made from, with what it has more or instead.
func (d *derivations) origins(key string) map[string]string {
	out := map[string]string{}
	folder, base := path.Split(key)
	ext := path.Ext(base)
	stem := strings.TrimSuffix(base, ext)
	parts := strings.SplitAfter(folder, "/")
	for i, part := range parts[:min(len(parts)-1, alikeKeys)] { // a/thumbs/b.jpg of a/b.jpg
		out[strings.Join(slices.Delete(slices.Clone(parts), i, i+1), "")+base] = part
	}
	if at := strings.IndexByte(key, '/'); at > 0 && len(stem) >= distinctName { // thumbs/b.jpg of originals/b.jpg
		for other := range d.folders {
			out[other+key[at:]] = key[:at+1]
		}
	}
	for other, n := range d.names { // b/small.jpg of b/original.jpg
		if n >= provesNothing && folder != "" && len(out) < derivedOrigins {
			out[folder+other] = base
		}
	}
	if ext != "" && stem != "" { // b.jpg.webp of b.jpg
		out[folder+stem] = ext
		for other := range d.exts { // b.webp of b.jpg
			out[folder+stem+other] = ext
		}
	}
	for i := 1; i+1 < len(stem) && len(out) < derivedOrigins; i++ { // b_thumb.jpg and thumb_b.jpg of b.jpg
		if strings.IndexByte("_-.@", stem[i]) >= 0 {
			out[folder+stem[:i]+ext] = stem[i:]
			out[folder+stem[i+1:]+ext] = stem[:i+1]
		}
	}
	delete(out, key)
	return out
}

// derive looks whether some of a batch of objects without a row are made from one that has one.
func (c *comparison) derive(ctx context.Context, found []OrphanObject) error {
	type origin struct{ of, more string }
	from := map[string][]origin{}
	if c.derived.asked >= derivedKeys || c.derived.doubt() != nil {
		return nil
	}
	c.derived.batches++
	step := max(1, len(found)/max(provesNothing, derivedSample/c.derived.batches))
	for i := 0; i < len(found); i += step {
		rest, _ := below(found[i].Key, c.Prefix)
		for key, more := range c.derived.origins(rest) {
			from[c.Prefix+key] = append(from[c.Prefix+key], origin{found[i].Key, more})
		}
	}
	c.derived.asked += len(from)
	for keys := range slices.Chunk(slices.Sorted(maps.Keys(from)), c.Batch) {
		named, err := c.Rows.Named(ctx, keys)
		if err != nil {
			return err
		}
		for _, key := range named {
			for _, o := range from[key] {
				c.derived.note(o.more, o.of, key)
			}
		}
	}
	return nil
}

var numbers = regexp.MustCompile(`[0-9]+`)

func (d *derivations) note(more, such, from string) {
	if d.found == nil {
		d.found = map[string]derived{}
	}
	more = numbers.ReplaceAllString(more, "#") // the sizes of thumbnails
	o, known := d.found[more]
	if !known {
		o = derived{0, such, from}
	}
	o.n++
	d.found[more] = o
}

// doubt returns ErrFewRows if objects of a first run look as if rows named them by another key.
func (d *derivations) doubt() error {
	for _, more := range slices.Sorted(maps.Keys(d.found)) {
		if o := d.found[more]; o.n >= provesNothing {
			return fmt.Errorf("%w: %d or more objects that no row names have the key of one that a row names, with %q more or instead, such as %s beside %s, and a query that leaves out thumbnails looks the same; nothing is touched. Let it return their keys, too, or, if nobody needs them, set keys.least to 0 until a run has succeeded",
				ErrFewRows, o.n, more, o.such, o.from)
		}
	}
	return nil
}
