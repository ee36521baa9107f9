package sqlledger

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/ledger"
)

// blobColumns are a blob's columns in the order of scanBlob.
const blobColumns = `id, backend, state, size, digest, content_id, segment, replica, upload_id, part,
	created_at, beat_at, died_at, reason, due_at, late_until, attempts, last_error, suspect, verified_at,
	worker, fence, claimed_at, crc32c, block`

// objectColumns are an object's columns in the order of scanObject.
const objectColumns = `bucket_id, key, id, content_id, size, etag, modified_at, ttl_at, rule_at, attrs, tags, rule_no, reads_left, idle_for, idle_at, used_at`

// qualified prefixes each of the columns with a table's name.
func qualified(table, columns string) string {
	names := strings.Split(columns, ",")
	for i, n := range names {
		names[i] = table + "." + strings.TrimSpace(n)
	}
	return strings.Join(names, ", ")
}

func scanBlob(r *sql.Rows) (ledger.Blob, error) { return scanBlobRow(r) }

// scanBlobRow scans blobColumns, and what follows them into more.
func scanBlobRow(r sqldb.Scanner, more ...any) (b ledger.Blob, err error) {
	var content, upload sql.NullString
	err = r.Scan(append([]any{&b.ID, &b.Backend, &b.State, &b.Size, &b.Digest, &content, &b.Segment, &b.Replica, &upload, &b.Part,
		&b.CreatedAt, &b.BeatAt, &b.DiedAt, &b.Reason, &b.DueAt, &b.LateUntil, &b.Attempts, &b.LastError, &b.Suspect, &b.VerifiedAt,
		&b.Claim.Worker, &b.Claim.Fence, &b.Claim.At, &b.CRC32C, &b.Block}, more...)...)
	b.ContentID, b.UploadID = lethe.ID(content.String), lethe.ID(upload.String)
	return b, err
}

// scanObject scans objectColumns, and what follows them into more. The caller sets the
// bucket's name.
func scanObject(r sqldb.Scanner, more ...any) (o ledger.Object, err error) {
	var content sql.NullString
	var attrs, tags string
	var idle int64
	var used sql.NullInt64
	err = r.Scan(append([]any{&o.BucketID, &o.Key, &o.ID, &content, &o.Size, &o.ETag, &o.ModifiedAt, &o.TTLAt, &o.RuleAt,
		&attrs, &tags, &o.RuleNumber, &o.ReadsLeft, &idle, &o.IdleAt, &used}, more...)...)
	if err != nil {
		return o, err
	}
	o.ContentID, o.IdleFor, o.UsedAt = lethe.ID(content.String), duration(idle), lethe.Time(used.Int64)
	if o.Attrs, o.Tags, err = decodeAttrs(attrs, tags); err != nil {
		return o, fmt.Errorf("object %q: %w", o.Key, err)
	}
	return o, nil
}

// decodeAttrs is the inverse of encodeTags and, for attributes, asJSON.
func decodeAttrs(attrs, tags string) (a ledger.Attrs, t map[string]string, err error) {
	if attrs != "{}" {
		a, err = plainAttrs.decode(attrs)
	}
	if tags != "{}" {
		err = errors.Join(err, json.Unmarshal([]byte(tags), &t))
	}
	if err != nil {
		return a, t, fmt.Errorf("%w: attributes or tags: %w", lethe.ErrCorrupt, err)
	}
	return a, t, nil
}

// attrsCache has attributes by their JSON. Most objects share few of them, and to decode them
// took 3 % of a small get. Maps and lists, which callers could change, are not kept.
type attrsCache [64]atomic.Pointer[cachedAttrs]

type cachedAttrs struct {
	text  string
	attrs ledger.Attrs
}

var (
	plainAttrs attrsCache
	attrsSeed  = maphash.MakeSeed()
)

// longestCached is how long the JSON of cached attributes may be, in bytes.
const longestCached = 256

// decode takes the checksums, which each object has its own of, from the text, and the rest
// from the cache.
func (c *attrsCache) decode(text string) (a ledger.Attrs, err error) {
	if len(text) > longestCached {
		err = json.Unmarshal([]byte(text), &a)
		return a, err
	}
	plain, sums, ok := withoutChecksums(text)
	if !ok {
		plain = text
	}
	at := &c[maphash.String(attrsSeed, plain)%uint64(len(c))]
	if have := at.Load(); have != nil && have.text == plain {
		a = have.attrs
		a.Checksums = sums
		return a, nil
	}
	if err = json.Unmarshal([]byte(plain), &a); err != nil {
		return a, err
	}
	if a.User == nil && a.Checksums == nil && a.Parts == nil && a.ACL == nil {
		at.Store(&cachedAttrs{plain, a})
	}
	if ok {
		a.Checksums = sums
	}
	return a, nil
}

// withoutChecksums splits attributes into the JSON of all others and the checksums; false
// for a text that is not of the plain form that most are.
func withoutChecksums(text string) (plain string, sums map[string]string, ok bool) {
	before, rest, ok := strings.Cut(text, `"ck":{`)
	if !ok || strings.ContainsRune(text, '\\') || strings.LastIndexAny(before, "{[") != 0 {
		return "", nil, false
	}
	list, after, ok := strings.Cut(rest, "}")
	sums = make(map[string]string, 1)
	for more := ok; more; {
		var pair string
		pair, list, more = strings.Cut(list, ",")
		name, value, split := strings.Cut(pair, `":"`)
		if !split || strings.Count(pair, `"`) != 4 || !strings.HasPrefix(name, `"`) || !strings.HasSuffix(value, `"`) {
			return "", nil, false
		}
		sums[name[1:]] = value[:len(value)-1]
	}
	return before + `"ck":null` + after, sums, ok
}

// encodeTags returns the same text for a nil and an empty map.
func encodeTags(tags map[string]string) string {
	if len(tags) == 0 {
		return "{}"
	}
	return sqldb.JSON(tags)
}

// null stores an empty id as NULL.
func null(id lethe.ID) any {
	if id == "" {
		return nil
	}
	return id
}

// nullTime stores a zero time as NULL.
func nullTime(at lethe.Time) any {
	if at == 0 {
		return nil
	}
	return at
}

// micros stores a duration, in microseconds.
func micros(d time.Duration) int64 { return d.Microseconds() }

// duration is the inverse of micros.
func duration(us int64) time.Duration { return time.Duration(us) * time.Microsecond }

// cleanText makes a message storable in every database.
func cleanText(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// following returns the first text after all those that begin with prefix, empty if none.
// The order is by byte, which for UTF-8 is by code point. Unlike an incremented byte the
// result is valid UTF-8, as PostgreSQL requires.
func following(prefix string) string {
	for prefix != "" {
		r, n := utf8.DecodeLastRuneInString(prefix)
		prefix = prefix[:len(prefix)-n]
		switch {
		case r == 0xD7FF: // surrogates follow, which are no characters
			return prefix + "\uE000"
		case r < utf8.MaxRune:
			return prefix + string(r+1)
		}
	}
	return ""
}
