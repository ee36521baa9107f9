package adoption

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/adopt/sqladopt"
)

// Explain returns the facts about a key in a collection: of a row, a content,
// an object or a folder.
func (a *Adoption) Explain(ctx context.Context, name, key string) (facts []sqladopt.Fact, err error) {
	k, err := a.kindOf(name)
	if err != nil {
		return nil, err
	}
	if facts, err = k.explain(ctx, key); err != nil {
		return nil, err
	}
	moved := a.moved(name)
	if moved == nil {
		return facts, nil
	}
	more, err := moved.Explain(ctx, key)
	return append(facts, more...), err
}

// Unknown returns the error for a key that collections do not know: whether it
// could be that of an object of theirs, or of another collection.
func (a *Adoption) Unknown(names []string, key string) error {
	asked := map[string]bool{}
	for _, name := range names {
		asked[name] = true
	}
	said := fmt.Sprintf("nothing is known of %q: no row, content, object or folder on record has this key, and no receipt names it", adopt.Brief(key))
	for _, name := range slices.Sorted(maps.Keys(a.Unusable)) {
		said += fmt.Sprintf("; %s could not be asked (%v)", name, a.Unusable[name])
	}
	var prefixes []string
	folder := ""
	for _, name := range a.whole.Names() {
		c := a.whole.Collections[name]
		if c.Bucket == "" {
			continue
		}
		prefix := cmp.Or(c.Prefix, "/") // as the file has a whole bucket
		if key == c.Prefix {
			return fmt.Errorf("%s; it is the prefix of collection %s itself: lethe touches no object with this key", said, name)
		}
		if c.Quarantine != nil && key == c.Quarantine.Prefix {
			return fmt.Errorf("%s; it is the prefix of the quarantine of collection %s itself", said, name)
		}
		if c.Quarantine != nil && strings.HasPrefix(key, c.Quarantine.Prefix) {
			return fmt.Errorf("%q lies in the quarantine of collection %s: ask for the key that it had, %q", adopt.Brief(key), name, adopt.Brief(strings.TrimPrefix(key, c.Quarantine.Prefix)))
		}
		switch below := strings.HasPrefix(key, c.Prefix); {
		case below && asked[name]:
			return fmt.Errorf("%s; an object with it would belong to collection %s, below the prefix %q", said, name, prefix)
		case below:
			return fmt.Errorf("%s; an object with it would belong to collection %s, below the prefix %q: ask for that collection", said, name, prefix)
		case asked[name] && c.Kind == adopt.OfFolders:
			folder = fmt.Sprintf("%s; as a folder of collection %s it would be %q", said, name, adopt.Brief(c.Prefix+strings.TrimSuffix(key, "/")+"/"))
		case asked[name]:
			prefixes = append(prefixes, fmt.Sprintf("%q of %s", prefix, name))
		}
	}
	if folder != "" {
		return fmt.Errorf("%s, and no run has recorded it as one without a row", folder)
	}
	if len(prefixes) == 0 || !strings.Contains(key, "/") {
		return fmt.Errorf("%s", said)
	}
	return fmt.Errorf("%s; as the key of an object it lies outside of the prefix %s: lethe touches nothing there", said, strings.Join(prefixes, ", and of "))
}
