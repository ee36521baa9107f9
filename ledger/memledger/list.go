package memledger

import (
	"context"
	"strings"
	"unicode/utf8"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// maxPage is the most entries of one page of a listing.
const maxPage = 1000

// List returns a page of a bucket's visible objects: ErrNoSuchBucket.
func (db *DB) List(ctx context.Context, q ledger.ListQuery) (ledger.ListPage, error) {
	if err := db.enter(ctx); err != nil {
		return ledger.ListPage{}, err
	}
	defer db.mu.Unlock()
	b, err := db.find(q.Bucket)
	if err != nil || q.Limit <= 0 || !utf8.ValidString(q.Prefix) {
		return ledger.ListPage{}, err
	}
	q.After = strings.ToValidUTF8(q.After, "")
	l := listing{q: q, now: db.now, limit: min(q.Limit, maxPage), last: q.After}
	if q.After >= q.Prefix && l.common(q.After) == q.After {
		l.within = q.After
	}
	for _, o := range b.objects.from(func(o *object) bool { return o.Key > q.After && o.Key >= q.Prefix }) {
		if !strings.HasPrefix(o.Key, q.Prefix) || !l.step(o) {
			break
		}
	}
	return l.page, nil
}

// listing is a page in progress.
type listing struct {
	q      ledger.ListQuery
	now    lethe.Time
	limit  int
	page   ledger.ListPage
	last   string // entry of the page, or hidden key, after which the next page begins
	within string // common prefix whose other keys are skipped
}

// step adds a key to the page or skips it; false if the page is full.
func (l *listing) step(o *object) bool {
	switch common := l.common(o.Key); {
	case common != "" && common == l.within:
		return true
	case !o.visible(l.now):
	case len(l.page.Objects)+len(l.page.Prefixes) >= l.limit:
		l.page.More, l.page.Next = true, l.last
		return false
	case common != "":
		l.page.Prefixes = append(l.page.Prefixes, common)
		l.within, l.last = common, common
		return true
	default:
		row := o.row()
		row.Attrs = row.Attrs.Listed()
		l.page.Objects = append(l.page.Objects, row)
	}
	l.last = o.Key
	return true
}

// common returns the common prefix under which a key is listed, or "".
func (l *listing) common(key string) string {
	rest, found := strings.CutPrefix(key, l.q.Prefix)
	if !found || l.q.Delimiter == "" {
		return ""
	}
	i := strings.Index(rest, l.q.Delimiter)
	if i < 0 {
		return ""
	}
	return key[:len(l.q.Prefix)+i+len(l.q.Delimiter)]
}
