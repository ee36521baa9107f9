package sqlledger

import (
	"context"
	"database/sql"
	"strings"
	"unicode/utf8"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

const (
	// maxPage is the most keys and common prefixes of one page.
	maxPage = 1000
	// maxScan bounds the rows read for a page, so that expired keys, which are hidden,
	// cannot make it slow.
	maxScan = 10_000
	// walkOn is how many rows of a common prefix are skipped one by one before a seek skips
	// the rest. A seek costs about as much.
	walkOn = 16
	// begun is how many rows are asked for first where a seek or the prefix's end may follow:
	// those of one common prefix, and some.
	begun = 2 * walkOn
)

var (
	bucketByName = register(`SELECT id FROM buckets WHERE name = ?1`)
	listBehind   = register(`SELECT ` + objectColumns + ` FROM objects WHERE bucket_id = ?1 AND key > ?2 ORDER BY key LIMIT ?3`)
	listFrom     = register(`SELECT ` + objectColumns + ` FROM objects WHERE bucket_id = ?1 AND key >= ?2 ORDER BY key LIMIT ?3`)
)

// List returns a page of a bucket's visible objects in byte order of their keys:
// ErrNoSuchBucket. A page may have fewer entries than the limit, even none, while More is
// set.
func (db *DB) List(ctx context.Context, q ledger.ListQuery) (page ledger.ListPage, err error) {
	err = db.read(ctx, "list "+q.Bucket, func(t *tx) error {
		var id lethe.ID
		if err := t.Row(bucketByName, q.Bucket).Scan(&id); err != nil {
			return t.bucketError(q.Bucket, err)
		}
		l := listing{t: t, q: q, bucket: id, limit: min(q.Limit, maxPage)}
		page, err = l.run()
		return err
	})
	return page, err
}

// listing is a page in progress.
type listing struct {
	t      *tx
	q      ledger.ListQuery
	bucket lethe.ID
	limit  int
	page   ledger.ListPage
	read   int    // rows
	ask    int    // rows of the next statement
	last   string // entry of the page, or key, after which the next page begins
	within string // the last common prefix listed
	walked int    // rows skipped within it
	done   bool
}

// seek is where to continue reading.
type seek struct {
	key     string
	exclude bool // begin after key, not at it
}

func (l *listing) run() (ledger.ListPage, error) {
	if l.limit <= 0 || !utf8.ValidString(l.q.Prefix) {
		return ledger.ListPage{}, nil
	}
	if !utf8.ValidString(l.q.Delimiter) {
		l.q.Delimiter = "" // no key contains it
	}
	l.ask = l.limit + 1
	if l.q.Prefix != "" || l.q.Delimiter != "" {
		l.ask = min(l.ask, begun)
	}
	at, ok := l.start()
	for ok && !l.done {
		var err error
		if at, ok, err = l.walk(at); err != nil {
			return ledger.ListPage{}, err
		}
	}
	if l.page.More {
		l.page.Next = l.last
	}
	return l.page, nil
}

// start returns where the page begins; ok is false if it must be empty.
func (l *listing) start() (at seek, ok bool) {
	after := strings.ToValidUTF8(l.q.After, "")
	l.last = after
	switch {
	case after < l.q.Prefix:
		return seek{key: l.q.Prefix}, true
	case l.common(after) == after && after != "":
		next := following(after)
		return seek{key: next}, next != ""
	}
	return seek{key: after, exclude: true}, true
}

// common returns the common prefix under which a key is listed, or "".
func (l *listing) common(key string) string {
	rest, found := strings.CutPrefix(key, l.q.Prefix)
	if !found || l.q.Delimiter == "" {
		return ""
	}
	before, _, found := strings.Cut(rest, l.q.Delimiter)
	if !found {
		return ""
	}
	return key[:len(l.q.Prefix)+len(before)+len(l.q.Delimiter)]
}

// walk reads rows in order until the page is full, or there may be more, or a seek is better:
// then it returns where to go on. ok is false at the end. PostgreSQL sends all rows that it was
// asked for, so few are asked for at first, and more where most are hidden.
func (l *listing) walk(from seek) (to seek, ok bool, err error) {
	query := listFrom
	if from.exclude {
		query = listBehind
	}
	left := min(l.ask, maxScan-l.read+1)
	rows, err := l.t.Query(query, l.bucket, from.key, left)
	if err != nil {
		return to, false, err
	}
	defer rows.Close()
	for rows.Next() {
		var key string
		if key, err = l.step(rows); err != nil || l.done {
			return to, false, err
		}
		if l.walked > walkOn {
			l.walked, l.ask = 0, begun
			next := following(l.within)
			return seek{key: next}, next != "", nil
		}
		to = seek{key: key, exclude: true}
		left--
	}
	l.ask *= 4
	if shown := len(l.page.Objects) + len(l.page.Prefixes); shown == l.read {
		l.ask = min(l.ask, l.limit-shown+1)
	}
	return to, left == 0, l.t.Failed(rows.Err())
}

// step adds one row to the page, or skips it.
func (l *listing) step(rows *sql.Rows) (key string, err error) {
	o, err := scanObject(rows)
	switch {
	case err != nil:
		return "", l.t.Failed(err)
	case !strings.HasPrefix(o.Key, l.q.Prefix):
		l.done = true
		return o.Key, nil
	case l.read >= maxScan:
		l.stop()
		return o.Key, nil
	}
	l.read++
	switch common := l.common(o.Key); {
	case common != "" && common == l.within:
		l.walked++
		return o.Key, nil
	case !o.VisibleAt(l.t.Now):
		if common != o.Key {
			l.last = o.Key
		}
		return o.Key, nil
	case len(l.page.Objects)+len(l.page.Prefixes) >= l.limit:
		l.stop()
		return o.Key, nil
	case common != "":
		l.page.Prefixes = append(l.page.Prefixes, common)
		l.within, l.walked, l.last = common, 0, common
		return o.Key, nil
	}
	o.Bucket = l.q.Bucket
	o.Attrs = o.Attrs.Listed()
	l.page.Objects = append(l.page.Objects, o)
	l.last = o.Key
	return o.Key, nil
}

// stop ends the page and marks that more follows.
func (l *listing) stop() { l.page.More, l.done = true, true }
