package adopt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/lethe-storage/lethe/blob"
)

// OwnFolders reports whether rows own all objects below prefixes, and not single ones.
func (r Rows) OwnFolders() bool {
	return len(r.Objects) > 0 && strings.HasSuffix(r.Objects[0], "/")
}

// checkFolderTemplates reports templates by which the objects of one row could
// contain another's.
func (r Rows) checkFolderTemplates() (wrong problems) {
	for i, text := range r.Objects {
		if strings.HasSuffix(text, "/") != r.OwnFolders() {
			wrong.add(fmt.Sprintf("rows.objects[%d]", i), "either all templates end in a slash, and name all that lies below, or none")
		}
		for _, other := range r.Objects[:i] {
			if r.OwnFolders() && nested(head(text), head(other)) {
				wrong.add(fmt.Sprintf("rows.objects[%d]", i), "what %q and %q name may contain each other: begin each with a folder of its own", other, text)
			}
		}
	}
	return wrong
}

// head returns the text before the first column of a template.
func head(text string) string {
	before, _, _ := strings.Cut(text, "{")
	return before
}

// Reaches reports whether a whole key may be deleted: it is below the prefix
// and, where rows own folders, as deep as a template. Otherwise a column with a
// slash could name a folder inside another row's, or all of them.
func (c Collection) Reaches(key string) bool {
	if _, ok := below(key, c.Prefix); !ok {
		return false
	}
	if !c.Rows.OwnFolders() {
		return true
	}
	for _, text := range c.Rows.Objects {
		if strings.HasPrefix(key, head(text)) && strings.HasSuffix(key, "/") && strings.Count(key, "/") == strings.Count(text, "/") {
			return blob.CheckForeign(key) == nil
		}
	}
	return false
}

// Lister lists objects; a blob.Store is one.
type Lister interface {
	List(ctx context.Context, prefix, after string, fn func(blob.Info) error) error
}

// Emptier deletes all objects below whole keys that end in a slash, page by
// page, in a store whose keys exclude the prefix. As a Deleter, its result for
// a key is that nothing is left below it. An interrupted deletion continues on
// the next call.
type Emptier struct {
	Prefix string
	Store  interface {
		Deleter
		Lister
	}
	// Page is the number of objects per delete, AtOnce the number of concurrent
	// folders; 0 means one.
	Page, AtOnce int
}

// Delete implements Deleter. The check in ctx runs before each delete request.
func (e Emptier) Delete(ctx context.Context, keys []string) ([]blob.Result, error) {
	results := make([]blob.Result, len(keys))
	var running errgroup.Group
	running.SetLimit(max(1, e.AtOnce))
	for i, key := range keys {
		results[i].Key = key
		if e.AtOnce == 0 {
			results[i].Err = e.empty(ctx, key)
			continue
		}
		running.Go(func() error {
			results[i].Err = e.empty(ctx, key)
			return nil
		})
	}
	return results, running.Wait()
}

// empty deletes what is below a key, until a listing is empty. Objects that the
// store refuses to delete are passed over, so that the others go, unless it is too
// late to send. Once something may be gone its error is open: a former reference to
// the folder must not take it for untouched.
func (e Emptier) empty(ctx context.Context, key string) error {
	rest, ok := below(key, e.Prefix)
	if !ok || !strings.HasSuffix(key, "/") {
		return fmt.Errorf("%q is no folder below %q: %w: %w", key, e.Prefix, blob.ErrInvalidKey, blob.ErrNotDone)
	}
	var late, refused error
	for touched, after := false, ""; ; {
		page, err := e.next(ctx, rest, after)
		if err == nil && len(page) == 0 {
			if err = refused; err == nil {
				return late
			}
		} else if err == nil {
			some, answered, failed := e.page(ctx, page)
			touched = touched || some
			switch {
			case errors.Is(failed, blob.ErrLate):
				late = failed
			case failed != nil && answered && blob.Check(ctx) == nil:
				refused, after = cmp.Or(refused, failed), page[len(page)-1]
			default:
				err = failed
			}
		}
		switch {
		case err != nil && touched:
			return fmt.Errorf("empty %s, of which a part is gone: %w: %w", key, blob.ErrUnknown, err)
		case err != nil:
			return fmt.Errorf("empty %s: %w", key, err)
		}
	}
}

// next lists the first objects of a folder after a key.
func (e Emptier) next(ctx context.Context, prefix, after string) (page []string, err error) {
	err = e.Store.List(ctx, prefix, after, func(i blob.Info) error {
		if page = append(page, i.Key); len(page) == e.Page {
			return errPage
		}
		return nil
	})
	if err != nil && !errors.Is(err, errPage) {
		return nil, fmt.Errorf("list it: %w: %w", blob.ErrNotDone, plain{err})
	}
	return page, nil
}

// page deletes some objects, and reports whether one of them is gone, and whether
// the store answered for each of them. Its error is open if one of theirs is, and
// blob.ErrLate if all are gone and one is late.
func (e Emptier) page(ctx context.Context, keys []string) (some, answered bool, err error) {
	results, err := e.Store.Delete(ctx, keys)
	answered = err == nil
	var certain, late error
	for _, keyErr := range blob.Outcomes(keys, results, err) {
		switch {
		case errors.Is(keyErr, blob.ErrLate):
			some, late = true, keyErr
		case blob.Gone(keyErr):
			some = true
		case blob.Unknown(keyErr):
			return true, answered, keyErr
		default:
			certain = keyErr
		}
	}
	return some, answered, cmp.Or(certain, late)
}
