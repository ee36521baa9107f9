package adopt

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/lethe-storage/lethe/blob"
)

const (
	// mostLookups bounds the requests for named keys.
	mostLookups = 1000
	// likelyFolders is the number of folders in which values are looked up:
	// those with the most keys.
	likelyFolders = 4
	// likelyTops is how many top folders are tried as well.
	likelyTops = 2
)

// FirstKey returns the first key that begins with a prefix, "" if there is none.
type FirstKey func(ctx context.Context, prefix string) (string, error)

// FirstOf looks up keys in a bucket.
func FirstOf(l Lister) FirstKey {
	return func(ctx context.Context, prefix string) (first string, err error) {
		err = l.List(ctx, prefix, "", func(i blob.Info) error {
			first = i.Key
			return errPage
		})
		if errors.Is(err, errPage) {
			err = nil
		}
		return first, err
	}
}

// FileOf looks for a file whose path is the prefix.
func FileOf(root fs.FS) FirstKey {
	return func(_ context.Context, prefix string) (string, error) {
		if !fs.ValidPath(prefix) {
			return "", nil
		}
		switch i, err := fs.Stat(root, prefix); {
		case errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid):
			return "", nil
		case err != nil || !i.Mode().IsRegular():
			return "", err
		}
		return prefix, nil
	}
}

// SampleNamed adds the keys that sampled values name to the sampled keys: in a
// large bucket few of them are among those by chance.
func SampleNamed(ctx context.Context, first FirstKey, keys []string, tables []TableInfo) ([]string, error) {
	l := lookups{first: first, seen: set(keys), left: mostLookups}
	folders := append([]string{""}, mostOf(keys, likelyFolders)...)
	for _, top := range mostOf(tops(keys), likelyTops) { // where a row has the rest of the path
		if !slices.Contains(folders, top) {
			folders = append(folders, top)
		}
	}
	for _, t := range endingFirst(tables) {
		for _, c := range t.Columns {
			for _, folder := range folders {
				if err := l.column(ctx, folder, c.Values); err != nil {
					return nil, err
				}
			}
		}
	}
	return append(keys, l.found...), nil
}

// lookups are keys that are looked up one by one.
type lookups struct {
	first FirstKey
	seen  map[string]bool
	found []string
	left  int
}

// column looks up the values of a column in a folder: all of them if the first
// or the last exists.
func (l *lookups) column(ctx context.Context, folder string, values []string) error {
	hit := false
	for i, v := range ends(values) {
		if i >= 2 && !hit || l.left == 0 {
			return nil
		}
		if folder != "" && len(v) < shortest {
			continue
		}
		l.left--
		key, err := l.first(ctx, folder+v)
		if err != nil {
			return err
		}
		if key != folder+v && strings.TrimSuffix(key, path.Ext(key)) != folder+v {
			continue
		}
		hit = true
		if !l.seen[key] {
			l.seen[key], l.found = true, append(l.found, key)
		}
	}
	return nil
}

// ends returns the values with the last moved after the first.
func ends(values []string) []string {
	if len(values) < 3 {
		return values
	}
	last := len(values) - 1
	return slices.Concat(values[:1], values[last:], values[1:last])
}

// endingFirst returns the tables, first those whose rows expire and those that
// they refer to.
func endingFirst(tables []TableInfo) []TableInfo {
	wanted := map[string]bool{}
	for _, t := range tables {
		if t.end() == "" {
			continue
		}
		wanted[t.Name] = true
		for _, to := range t.Refers {
			wanted[to] = true
		}
	}
	out := slices.Clone(tables)
	slices.SortStableFunc(out, func(a, b TableInfo) int {
		switch {
		case wanted[a.Name] == wanted[b.Name]:
			return 0
		case wanted[a.Name]:
			return -1
		}
		return 1
	})
	return out
}

// mostOf returns the folders with the most of the keys.
func mostOf(keys []string, limit int) []string {
	of := map[string]int{}
	for _, key := range keys {
		if i := strings.LastIndexByte(key, '/'); i >= 0 {
			of[key[:i+1]]++
		}
	}
	folders := slices.SortedFunc(maps.Keys(of), func(a, b string) int {
		if of[a] != of[b] {
			return of[b] - of[a]
		}
		return strings.Compare(a, b)
	})
	return folders[:min(limit, len(folders))]
}

// tops returns keys as if each was in its top folder.
func tops(keys []string) []string {
	out := make([]string, 0, len(keys))
	for _, key := range keys {
		if top, _, deep := strings.Cut(key, "/"); deep {
			out = append(out, top+"/")
		}
	}
	return out
}
