package s3

import (
	"context"
	"errors"
	"strings"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// ErrUploadMarker is a marker that names no upload at the place of its key
// marker.
var ErrUploadMarker = errors.New("s3: the marker names no upload behind that of the key")

// UploadsQuery asks for open uploads of a bucket.
type UploadsQuery struct {
	Bucket, Prefix string
	Delimiter      string // empty: no common prefixes
	// AfterKey and AfterUpload are where the previous page ended. AfterUpload
	// is ignored without a key.
	AfterKey, AfterUpload string
	Limit                 int // of uploads and common prefixes together
}

// UploadsPage is a page of open uploads, by key, then by when they were opened.
type UploadsPage struct {
	Uploads             []ledger.Upload
	Prefixes            []string
	More                bool
	NextKey, NextUpload string // where the next page begins; empty on the last page
}

// ListUploads reads a page. It fails with ErrUploadMarker.
func ListUploads(ctx context.Context, store UploadLister, q UploadsQuery) (UploadsPage, error) {
	l := uploadLister{ctx: ctx, store: store, q: q}
	err := l.run()
	return l.page, err
}

// uploadLister fills a page with uploads and common prefixes.
type uploadLister struct {
	ctx   context.Context
	store UploadLister
	q     UploadsQuery
	page  UploadsPage

	n        int    // entries so far
	lastKey  string // of the last entry, or its common prefix
	lastID   string
	lastPfx  string // the common prefix that is being skipped
	finished bool
}

func (l *uploadLister) run() error {
	q := ledger.UploadQuery{Bucket: l.q.Bucket, Prefix: l.q.Prefix, AfterKey: l.q.AfterKey, Limit: MaxList}
	// An upload marker is ignored without a key.
	if l.q.AfterKey != "" && l.q.AfterUpload != "" {
		if err := l.resume(&q); err != nil {
			return err
		}
	} else if d := l.q.Delimiter; d != "" && strings.HasSuffix(q.AfterKey, d) && strings.HasPrefix(q.AfterKey, q.Prefix) {
		l.lastPfx = q.AfterKey
	}
	for !l.finished && l.q.Limit > 0 {
		page, err := l.store.Uploads(l.ctx, q)
		if err != nil {
			return err
		}
		for i := range page {
			if l.take(&page[i]); l.finished {
				return nil
			}
		}
		if len(page) < q.Limit {
			return nil
		}
		last := page[len(page)-1]
		q.AfterKey, q.AfterUpload = last.Key, last.ID
	}
	return nil
}

// resume begins after the upload that the markers name. Its key is the key
// marker, or falls under it if that is a common prefix, or is the first one
// after it. An ended upload still marks its place, so that a client may abort
// page by page. One of another key is invalid.
func (l *uploadLister) resume(q *ledger.UploadQuery) error {
	id, err := lethe.ParseID(l.q.AfterUpload)
	if err != nil {
		return ErrUploadMarker
	}
	key, err := l.keyOf(id)
	if err != nil {
		return err
	}
	if key == "" || key == q.AfterKey {
		q.AfterUpload = id
		return nil
	}
	if l.prefix(key) == q.AfterKey {
		q.AfterKey, q.AfterUpload = key, id
		return nil
	}
	next, err := l.store.Uploads(l.ctx, ledger.UploadQuery{Bucket: q.Bucket, Prefix: q.Prefix, AfterKey: q.AfterKey, Limit: 1})
	if err != nil {
		return err
	}
	if len(next) == 0 || next[0].Key != key {
		return ErrUploadMarker
	}
	q.AfterKey, q.AfterUpload = key, id
	return nil
}

// keyOf returns the key of an open upload, "" if there is none.
func (l *uploadLister) keyOf(id lethe.ID) (string, error) {
	q := ledger.UploadQuery{Bucket: l.q.Bucket, Limit: MaxList}
	for {
		page, err := l.store.Uploads(l.ctx, q)
		if err != nil {
			return "", err
		}
		for _, u := range page {
			if u.ID == id {
				return u.Key, nil
			}
			q.AfterKey, q.AfterUpload = u.Key, u.ID
		}
		if len(page) < q.Limit {
			return "", nil
		}
	}
}

// take adds an upload or the common prefix that it falls under; one entry more
// than fits ends the page.
func (l *uploadLister) take(u *ledger.Upload) {
	prefix := l.prefix(u.Key)
	if prefix != "" && prefix == l.lastPfx {
		return
	}
	if l.n == l.q.Limit {
		l.page.More, l.finished = true, true
		l.page.NextKey, l.page.NextUpload = l.lastKey, l.lastID
		return
	}
	l.n++
	l.lastPfx = prefix
	if prefix != "" {
		l.lastKey, l.lastID = prefix, string(u.ID)
		l.page.Prefixes = append(l.page.Prefixes, prefix)
		return
	}
	l.lastKey, l.lastID = u.Key, string(u.ID)
	l.page.Uploads = append(l.page.Uploads, *u)
}

// prefix returns the common prefix of a key, empty if it has none.
func (l *uploadLister) prefix(key string) string {
	if l.q.Delimiter == "" {
		return ""
	}
	rest := strings.TrimPrefix(key, l.q.Prefix)
	before, _, found := strings.Cut(rest, l.q.Delimiter)
	if !found {
		return ""
	}
	return l.q.Prefix + before + l.q.Delimiter
}
