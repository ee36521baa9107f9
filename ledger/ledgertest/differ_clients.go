package ledgertest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// There are few names and bodies, so that steps meet.
var (
	bucketNames = []string{"ant", "bee", "cat"}
	keyNames    = []string{"a", "a/b", "a/c", "a/c/d", "b", "é", "a ", strings.Repeat("k", 1024), "", "nul\x00"}
	bodies      = []string{"one", "two two", strings.Repeat("three", 100), "4"}
	lives       = []time.Duration{time.Minute, time.Minute, readGrace, time.Hour, time.Hour, 5 * time.Hour, 30 * time.Hour, -1}
)

func (h *history) bucketName() string {
	if h.chance(30) {
		return "nobody's"
	}
	return bucketNames[h.number(len(bucketNames))]
}

// key returns mostly a valid key.
func (h *history) key() string {
	n := len(keyNames)
	if !h.chance(40) {
		n -= 3
	}
	return keyNames[h.number(n)]
}

func (h *history) body() string { return bodies[h.number(len(bodies))] }

// condition returns mostly none.
func (h *history) condition() (p ledger.Precondition) {
	if !h.chance(4) {
		return p
	}
	v := pick(h, h.versions)
	switch h.number(7) {
	case 0:
		p.IfMatch = "*"
	case 1:
		p.IfNoneMatch = "*"
	case 2:
		p.IfMatch = v.ETag
	case 3:
		p.IfNoneMatch = "other, " + v.ETag
	case 4:
		p.IfID = v.ID
	case 5:
		p.IfSize = &v.Size
	case 6:
		p.IfModified = v.ModifiedAt
	}
	return p
}

// life returns a relative or absolute time to live, mostly none.
func (h *history) life() (ttl time.Duration, at lethe.Time) {
	if h.chance(2) {
		return 0, 0
	}
	ttl = lives[h.number(len(lives))]
	if h.chance(2) {
		return 0, h.clock.Now().Add(ttl - time.Minute)
	}
	return ttl, 0
}

// keyTTL is mostly that of no key.
func (h *history) keyTTL() (k ledger.KeyTTL) {
	if h.chance(3) {
		k = ledger.KeyTTL{Key: "key", Default: time.Duration(h.number(3)) * 30 * time.Minute, Max: time.Duration(h.number(3)) * 3 * time.Hour}
	}
	return k
}

func (h *history) createBucket(name string) {
	b := ledger.Bucket{Name: name, Owner: h.one("o1", "o2"), Region: "here", BucketSettings: h.settings()}
	ask(h, "create bucket "+name, func(l Ledger) (ledger.Bucket, error) { return l.CreateBucket(h.ctx, b) })
}

// settings returns mostly none.
func (h *history) settings() (s ledger.BucketSettings) {
	if h.chance(2) {
		s.Undo = 2 * time.Hour
	}
	if h.chance(8) {
		s.DefaultTTL = 4 * time.Hour
	}
	if h.chance(5) {
		s.MaxTTL = 20 * time.Hour
	}
	if h.chance(8) {
		s.DefaultIdle, s.MaxIdle = 2*time.Hour, 20*time.Hour
	}
	if h.chance(6) {
		s.QuotaObjects, s.QuotaBytes = 3, 600
		if h.chance(2) {
			s.Evict = ledger.Eviction{Order: ledger.EvictByRead, High: 90, Low: 40, MinAge: time.Duration(h.number(2)) * time.Hour}
		}
	}
	return s
}

func (h *history) configure() {
	name, s := h.bucketName(), h.settings()
	ask(h, "configure "+name, func(l Ledger) (ledger.Bucket, error) { return l.ConfigureBucket(h.ctx, name, s, nil) })
}

func (h *history) buckets() {
	h.createBucket(bucketNames[h.number(len(bucketNames))])
	q := ledger.BucketQuery{Owner: h.one("", "o1"), After: h.one("", "ant"), Limit: h.number(3)}
	ask(h, "buckets", func(l Ledger) ([]ledger.Bucket, error) { return l.Buckets(h.ctx, q) })
	name := h.bucketName()
	ask(h, "bucket "+name, func(l Ledger) (ledger.Bucket, error) { return l.Bucket(h.ctx, name) })
	if h.chance(2) {
		ask(h, "own "+name, func(l Ledger) (any, error) { return nil, l.SetBucketOwner(h.ctx, name, "o3") })
	}
}

func (h *history) deleteBucket() {
	name := h.bucketName()
	_, err := ask(h, "delete bucket "+name, func(l Ledger) (any, error) { return nil, l.DeleteBucket(h.ctx, name, "") })
	if err == nil && !h.chance(4) {
		h.createBucket(name)
	}
}

func (h *history) documents() {
	name, body := h.bucketName(), []byte(h.body())
	ask(h, "put document", func(l Ledger) (any, error) {
		return nil, l.PutDocument(h.ctx, ledger.Document{Bucket: name, Kind: "acl", Body: body})
	})
	if h.chance(3) {
		ask(h, "delete document", func(l Ledger) (any, error) {
			return nil, l.DeleteDocument(h.ctx, ledger.Document{Bucket: name, Kind: "acl"})
		})
	}
	ask(h, "document", func(l Ledger) ([]byte, error) { return l.Document(h.ctx, name, "acl") })
}

// begin begins a write; one in three could be finished by proof.
func (h *history) begin() {
	body := h.body()
	up := ledger.Uploaded{Blob: h.id(), Size: int64(len(body)), Digest: sum(body), CRC32C: crc(body), Blocks: blockSums(body), Late: h.chance(4)}
	in := ledger.Intent{ID: up.Blob, Backend: h.one(disk, "tape"), Size: int64(h.number(600))}
	if h.chance(30) {
		in.Backend = "nowhere"
	}
	if h.chance(3) {
		c := h.commitOf(h.key(), body)
		c.Blobs = []ledger.Uploaded{up}
		if h.chance(2) {
			c.Blobs[0].Blocks = lethe.BlockSums{}
		}
		in.Promotion, in.Unknown = &ledger.Promotion{Commit: c}, h.chance(2)
	}
	h.beginWith(in, up)
}

func (h *history) beginWith(in ledger.Intent, up ledger.Uploaded) {
	_, err := ask(h, "begin "+string(in.ID), func(l Ledger) (ledger.Blob, error) { return l.Begin(h.ctx, in) })
	if err == nil {
		h.uploaded = append(h.uploaded, up)
	}
}

func (h *history) beat() {
	up, size := pick(h, h.uploaded), int64(h.number(1000))
	ask(h, "beat "+string(up.Blob), func(l Ledger) (any, error) { return nil, l.Beat(h.ctx, up.Blob, size) })
}

func (h *history) abandon() {
	up, late := pick(h, h.uploaded), h.chance(2)
	ask(h, "abandon "+string(up.Blob), func(l Ledger) (any, error) { return nil, l.Abandon(h.ctx, up.Blob, late) })
}

// condemnLate gives a row to bytes sent late, of intents in any state or none.
func (h *history) condemnLate() {
	up := pick(h, h.uploaded)
	if up.Blob == "" || h.chance(4) {
		up.Blob = h.id()
	}
	late := ledger.LateBytes{Blob: up.Blob, Backend: h.one(disk, "tape", "nowhere"), Size: up.Size}
	ask(h, "condemn late "+string(up.Blob), func(l Ledger) (any, error) { return nil, l.CondemnLate(h.ctx, late) })
}

// version returns a version written before, or one that never existed.
func (h *history) version() ledger.Object {
	if len(h.versions) == 0 || h.chance(10) {
		return ledger.Object{Bucket: h.bucketName(), Key: h.key()}
	}
	return pick(h, h.versions)
}

// commitOf returns a commit without its bytes.
func (h *history) commitOf(key, body string) ledger.Commit {
	c := ledger.Commit{
		Op: h.op(), What: "put",
		Object: ledger.Object{Bucket: h.bucketName(), Key: key, Size: int64(len(body)), ETag: etag(body),
			Attrs: ledger.Attrs{ContentType: "text/plain", User: map[string]string{"k": "v"}}},
		Content: ledger.ContentKey{Kind: lethe.Whole, Digest: sum(body), Size: int64(len(body))},
		If:      h.condition(),
	}
	c.TTL, c.Object.TTLAt = h.life()
	c.ByKey = h.keyTTL()
	if h.chance(5) {
		c.Object.Tags = map[string]string{"t": body[:1]}
	}
	if h.chance(4) {
		c.Object.ReadsLeft = int64(h.number(4)) - 1
	}
	c.Object.IdleFor = h.idle()
	return c
}

func (h *history) commit(c ledger.Commit) {
	what := fmt.Sprintf("commit %s to %s/%.9q of %v from %+v", c.Op, c.Object.Bucket, c.Object.Key, c.Blobs, c.Source)
	done, err := ask(h, what, func(l Ledger) (ledger.Committed, error) { return l.Commit(h.ctx, c) })
	if err == nil {
		h.wrote(done.Object, c.Blobs)
	}
}

// wrote remembers a version, and usually forgets the uploads used up.
func (h *history) wrote(o ledger.Object, used []ledger.Uploaded) {
	if !h.chance(4) {
		h.versions = slices.DeleteFunc(h.versions, func(v ledger.Object) bool { return v.Bucket == o.Bucket && v.Key == o.Key })
		h.uploaded = slices.DeleteFunc(h.uploaded, func(u ledger.Uploaded) bool {
			return slices.ContainsFunc(used, func(o ledger.Uploaded) bool { return o.Blob == u.Blob })
		})
	}
	h.versions = append(h.versions, o)
}

// commitUploaded commits what was uploaded for some intent.
func (h *history) commitUploaded() {
	up := pick(h, h.uploaded)
	for _, body := range bodies {
		if sum(body) == up.Digest {
			c := h.commitOf(h.key(), body)
			c.Blobs = []ledger.Uploaded{up}
			h.commit(c)
		}
	}
}

// commitReference commits a body without uploading it, with its bytes or without, or
// nothing at all.
func (h *history) commitReference() {
	body := h.body()
	c := h.commitOf(h.key(), body)
	if h.chance(2) {
		c.Inline = ledger.NewBody(sum(body), []byte(body))
	}
	if h.chance(5) {
		c.Object.Size, c.Content, c.Inline = 0, ledger.ContentKey{}, ledger.Body{}
	}
	h.commit(c)
}

func (h *history) commitSource() {
	v := h.version()
	c := h.commitOf(h.key(), "any")
	c.Object.Size, c.Object.ETag = v.Size, v.ETag
	c.Source = &ledger.Source{Bucket: v.Bucket, Key: v.Key, ID: v.ID}
	if h.chance(3) {
		c.Object.Bucket, c.Object.Key = v.Bucket, v.Key
	}
	h.commit(c)
}

func (h *history) delete() {
	v := h.version()
	d := ledger.Deletion{Op: h.op(), Bucket: v.Bucket, Items: []ledger.DeleteItem{{Key: v.Key, If: h.condition()}}}
	for range h.number(4) {
		d.Items = append(d.Items, ledger.DeleteItem{Key: h.key(), If: h.condition()})
	}
	ask(h, "delete "+names(d.Items, func(i ledger.DeleteItem) string { return fmt.Sprintf("%.9q", i.Key) }), func(l Ledger) (ledger.Deletions, error) {
		return l.Delete(h.ctx, d)
	})
}

func (h *history) update() {
	v := h.version()
	u := ledger.Update{Op: h.op(), Bucket: v.Bucket, Key: v.Key, If: h.condition()}
	switch h.number(5) {
	case 4:
		u.Idle = &ledger.IdleChange{Idle: h.idle(), AsNew: h.chance(2)}
	case 0:
		u.Attrs = &ledger.Attrs{CacheControl: "no"}
	case 3:
		u.ACL = &ledger.ACL{Grants: []ledger.Grant{{Group: "AllUsers", Permission: "READ"}}}
	case 1:
		u.Tags = &map[string]string{}
	case 2:
		u.TTL = &ledger.TTLChange{ByKey: h.keyTTL(), AsNew: h.chance(2)}
		u.TTL.TTL, u.TTL.At = h.life()
	}
	ask(h, "update "+u.Key, func(l Ledger) (ledger.Object, error) { return l.Update(h.ctx, u) })
}

func (h *history) resolve() {
	v := h.version()
	ask(h, "stat "+v.Bucket+"/"+v.Key, func(l Ledger) (ledger.Resolved, error) { return l.StatObject(h.ctx, v.Bucket, v.Key) })
	ask(h, "resolve "+v.Bucket+"/"+v.Key, func(l Ledger) (ledger.Resolved, error) { return l.Resolve(h.ctx, v.Bucket, v.Key) })
}

// countRead takes a read, mostly of what has one.
func (h *history) countRead() {
	v := h.version()
	if i := slices.IndexFunc(h.versions, func(o ledger.Object) bool { return o.Counted() }); i >= 0 && !h.chance(4) {
		v = h.versions[i]
	}
	ask(h, fmt.Sprintf("count a read of %s/%.9q", v.Bucket, v.Key), func(l Ledger) (ledger.Object, error) { return l.CountRead(h.ctx, v) })
}

// idle returns an idle time, mostly none.
func (h *history) idle() time.Duration {
	if !h.chance(3) {
		return 0
	}
	return lives[h.number(len(lives))]
}

// noteReads notes reads of versions, each once, now or earlier.
func (h *history) noteReads() {
	var reads []ledger.Read
	for _, o := range some(h, h.versions, 4) {
		if slices.ContainsFunc(reads, func(r ledger.Read) bool { return r.ID == o.ID }) {
			continue
		}
		reads = append(reads, ledger.Read{Bucket: o.BucketID, Key: o.Key, ID: o.ID, At: h.clock.Now().Add(-lives[h.number(len(lives))] / 2)})
	}
	ask(h, "note reads of "+names(reads, func(r ledger.Read) string { return fmt.Sprintf("%.9q", r.Key) }), func(l Ledger) (int, error) { return l.NoteReads(h.ctx, reads, false) })
}

func (h *history) list() {
	q := ledger.ListQuery{
		Bucket: h.bucketName(), Limit: h.number(4),
		Prefix:    h.one("", "a", "a/", "a/c"),
		Delimiter: h.one("", "/", "/", "a/"),
		After:     h.one("", "", "a", "a/", "a/b", "a/c/"),
	}
	ask(h, fmt.Sprintf("list %+v", q), func(l Ledger) (ledger.ListPage, error) { return l.List(h.ctx, q) })
}

func (h *history) listTrash() {
	q := ledger.TrashQuery{Bucket: h.one("", "ant"), Prefix: h.one("", "a")}
	list, err := ask(h, "trash", func(l Ledger) ([]ledger.TrashEntry, error) { return l.Trash(h.ctx, q) })
	if err != nil {
		return
	}
	if h.trash = h.trash[:min(1, len(h.trash))]; len(list) > 0 && h.chance(3) {
		h.trash = h.trash[:0]
	}
	for _, e := range list {
		h.trash = append(h.trash, e.ID)
	}
}

func (h *history) restore() {
	h.listTrash()
	id, op, over := pick(h, h.trash), h.op(), h.chance(2)
	ask(h, "restore "+string(id), func(l Ledger) (ledger.Object, error) { return l.Restore(h.ctx, op, id, over) })
}

func (h *history) purgeTrash() {
	ids := some(h, h.trash, 3)
	ask(h, fmt.Sprint("purge trash ", ids), func(l Ledger) (int, error) { return l.PurgeTrash(h.ctx, ids) })
}
