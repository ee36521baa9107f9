package s3blob

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
)

// pageTries is how often a page of a listing is requested.
const pageTries = 4

// List implements blob.Store. It checks the order of the listing: one that is out
// of order, or has a name twice, is an error and proves nothing (docs/protocol.md,
// rule 12). A page that failed is requested again.
func (s *Store) List(ctx context.Context, prefix, after string, fn func(blob.Info) error) error {
	if err := s.ready(ctx); err != nil {
		return fmt.Errorf("s3blob: list %q: %w", prefix, err)
	}
	w := &walk{s: s, prefix: prefix, after: after, last: s.o.Prefix + after, fn: fn}
	if after == "" {
		w.last = ""
	}
	full := s.o.Prefix + speakable(prefix)
	in := &s3.ListObjectsV2Input{Bucket: &s.o.Bucket, Prefix: &full, EncodingType: types.EncodingTypeUrl}
	if start := speakable(after); start != "" && s.Capabilities().StartAfter {
		in.StartAfter = s.name(start)
	}
	if s.o.pageSize > 0 {
		in.MaxKeys = &s.o.pageSize
	}
	for {
		out, err := s.page(ctx, prefix, in)
		if err != nil {
			return err
		}
		if err := w.page(out); err != nil {
			return err
		}
		if out.IsTruncated == nil || !*out.IsTruncated {
			return ctx.Err()
		}
		next := out.NextContinuationToken
		if next == nil || *next == "" || in.ContinuationToken != nil && *next == *in.ContinuationToken {
			return w.wrong("it is truncated, but has no continuation")
		}
		in.ContinuationToken = next
	}
}

// speakable is how much of a name every service accepts in a request (MinIO refuses
// empty segments); the rest is compared here.
func speakable(name string) string {
	for i, r := range name {
		if r == utf8.RuneError || r < ' ' || r >= 0xfffe && r <= 0xffff || r == '/' && (i == 0 || name[i-1] == '/') {
			return name[:i]
		}
	}
	return name
}

func (s *Store) page(ctx context.Context, prefix string, in *s3.ListObjectsV2Input) (*s3.ListObjectsV2Output, error) {
	for try := 0; ; try++ {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("s3blob: list %q: %w", prefix, err)
		}
		asked, cancel := s.bounded(ctx, 0)
		out, err := s.client.ListObjectsV2(asked, in)
		cancel()
		if err == nil {
			return out, nil
		}
		v := judge(ctx, err)
		if v.status == 404 {
			v.down = true
		}
		wait := max(v.wait, 200*time.Millisecond<<try)
		if !v.again || try == pageTries-1 || wait > patience || lethe.Sleep(ctx, wait) != nil {
			return nil, s.reading("list", fmt.Sprintf("%q", prefix), v)
		}
	}
}

// walk passes on a listing, and checks it.
type walk struct {
	s             *Store
	prefix, after string
	last          string // name passed on last
	fn            func(blob.Info) error
}

func (w *walk) wrong(what string) error {
	return fmt.Errorf("s3blob: list %q: after %q: %s; this listing proves nothing", w.prefix, brieved(w.last), what)
}

func (w *walk) page(out *s3.ListObjectsV2Output) error {
	previous := ""
	for i, object := range out.Contents {
		name, err := nameOf(object, out.EncodingType)
		if err != nil {
			return w.wrong(err.Error())
		}
		if i > 0 && name <= previous {
			return w.wrong(fmt.Sprintf("%q follows", brieved(name)))
		}
		previous = name
		if err := w.tell(name, object); err != nil {
			return err
		}
	}
	return nil
}

// tell passes one name on. Services that ignore `after`, or got a shortened one,
// also list names up to it.
func (w *walk) tell(name string, object types.Object) error {
	if !strings.HasPrefix(name, w.s.o.Prefix) {
		return w.wrong(fmt.Sprintf("%q lies elsewhere", brieved(name)))
	}
	key, ours := w.s.key(name)
	switch {
	case !ours && !strings.HasPrefix(w.prefix, ownFolder) || !strings.HasPrefix(key, w.prefix) || w.after != "" && key <= w.after:
		return nil
	case name <= w.last:
		return w.wrong(fmt.Sprintf("%q follows", brieved(name)))
	case object.Size == nil:
		return w.wrong(fmt.Sprintf("%q has no size", brieved(name)))
	}
	w.last = name
	info := blob.Info{Key: key, Size: *object.Size}
	if object.LastModified != nil {
		info.ModTime = lethe.FromTime(*object.LastModified)
	}
	return w.fn(info)
}

// nameOf decodes the name of a listed object.
func nameOf(object types.Object, encoding types.EncodingType) (string, error) {
	switch {
	case object.Key == nil:
		return "", errors.New("an entry has no name")
	case encoding != types.EncodingTypeUrl:
		return *object.Key, nil
	}
	return url.QueryUnescape(*object.Key)
}
