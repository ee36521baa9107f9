package gateway

import (
	"context"
	"strings"

	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/versity/versitygw/s3err"
	"github.com/versity/versitygw/s3response"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/meta"
	"github.com/lethe-storage/lethe/s3"
)

// ListMultipartUploads lists open uploads by key, then by when they were opened.
func (b *Backend) ListMultipartUploads(ctx context.Context, in *awss3.ListMultipartUploadsInput) (out s3response.ListMultipartUploadsResult, err error) {
	o, err := b.begin(ctx, need{bucket: str(in.Bucket)})
	defer o.cancel()
	if err != nil {
		return out, err
	}
	out = s3response.ListMultipartUploadsResult{
		Bucket: o.names.bucket, Prefix: str(in.Prefix), Delimiter: str(in.Delimiter), KeyMarker: str(in.KeyMarker),
		UploadIDMarker: str(in.UploadIdMarker), MaxUploads: int(num(in.MaxUploads)),
	}
	l := uploadLister{b: b, o: o, out: &out, enc: encoderOf(o.req), limit: min(out.MaxUploads, s3.MaxList)}
	if err := l.run(); err != nil {
		return out, b.fail(o, err)
	}
	if l.enc.url {
		out.EncodingType = string(l.enc.kind())
	}
	out.Prefix, out.Delimiter = l.enc.name(out.Prefix), l.enc.name(out.Delimiter)
	out.KeyMarker, out.NextKeyMarker = l.enc.name(out.KeyMarker), l.enc.name(out.NextKeyMarker)
	return out, nil
}

// uploadLister fills a page with uploads and common prefixes.
type uploadLister struct {
	b     *Backend
	o     *op
	out   *s3response.ListMultipartUploadsResult
	enc   encoder
	limit int

	n        int    // entries so far
	lastKey  string // of the last entry, or its common prefix
	lastID   string
	lastPfx  string // the common prefix that is being skipped
	finished bool
}

func (l *uploadLister) run() error {
	if _, err := l.b.store.Buckets.Bucket(l.o.ctx, l.out.Bucket); err != nil {
		return err
	}
	q := meta.UploadQuery{Bucket: l.out.Bucket, Prefix: l.out.Prefix, AfterKey: l.out.KeyMarker, Limit: s3.MaxList}
	// Without a key, the upload's marker means nothing.
	if l.out.KeyMarker != "" && l.out.UploadIDMarker != "" {
		if err := l.resume(&q); err != nil {
			return err
		}
	} else if d := l.out.Delimiter; d != "" && strings.HasSuffix(q.AfterKey, d) && strings.HasPrefix(q.AfterKey, q.Prefix) {
		l.lastPfx = q.AfterKey
	}
	for !l.finished && l.limit > 0 {
		page, err := l.b.store.Uploads.Uploads(l.o.ctx, q)
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

// resume begins behind the upload that the markers name. Its key is the key's
// marker, or falls under it if that is a common prefix, or is the first one behind
// it. An upload that is gone still marks its place, so that a client may abort
// page by page; one of another key marks none.
func (l *uploadLister) resume(q *meta.UploadQuery) error {
	invalid := s3err.GetInvalidArgumentErr(s3err.InvalidArgUploadIdMarker, l.out.UploadIDMarker)
	id, err := lethe.ParseID(l.out.UploadIDMarker)
	if err != nil {
		return invalid
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
	next, err := l.b.store.Uploads.Uploads(l.o.ctx, meta.UploadQuery{Bucket: q.Bucket, Prefix: q.Prefix, AfterKey: q.AfterKey, Limit: 1})
	if err != nil {
		return err
	}
	if len(next) == 0 || next[0].Key != key {
		return invalid
	}
	q.AfterKey, q.AfterUpload = key, id
	return nil
}

// keyOf looks for an open upload of the bucket; "" if there is none.
func (l *uploadLister) keyOf(id lethe.ID) (string, error) {
	q := meta.UploadQuery{Bucket: l.out.Bucket, Limit: s3.MaxList}
	for {
		page, err := l.b.store.Uploads.Uploads(l.o.ctx, q)
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
func (l *uploadLister) take(u *meta.Upload) {
	prefix := l.prefix(u.Key)
	if prefix != "" && prefix == l.lastPfx {
		return
	}
	if l.n == l.limit {
		l.out.IsTruncated, l.finished = true, true
		l.out.NextKeyMarker, l.out.NextUploadIDMarker = l.lastKey, l.lastID
		return
	}
	l.n++
	l.lastPfx = prefix
	if prefix != "" {
		l.lastKey, l.lastID = prefix, string(u.ID)
		l.out.CommonPrefixes = append(l.out.CommonPrefixes, s3response.CommonPrefix{Prefix: l.enc.name(prefix)})
		return
	}
	l.lastKey, l.lastID = u.Key, string(u.ID)
	up := s3response.Upload{
		Key: l.enc.name(u.Key), UploadID: string(u.ID), Initiated: u.CreatedAt.Time(), StorageClass: types.StorageClassStandard,
		Owner: s3response.Owner{ID: u.Owner, DisplayName: u.Owner}, Initiator: s3response.Initiator{ID: u.Owner, DisplayName: u.Owner},
	}
	up.ChecksumAlgorithm, up.ChecksumType = chosen(u.Attrs)
	l.out.Uploads = append(l.out.Uploads, up)
}

// prefix is the common prefix of a key, empty if it has none.
func (l *uploadLister) prefix(key string) string {
	if l.out.Delimiter == "" {
		return ""
	}
	rest := strings.TrimPrefix(key, l.out.Prefix)
	before, _, found := strings.Cut(rest, l.out.Delimiter)
	if !found {
		return ""
	}
	return l.out.Prefix + before + l.out.Delimiter
}
