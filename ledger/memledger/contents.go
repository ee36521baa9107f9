package memledger

import (
	"fmt"
	"slices"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// trusted reports whether every segment of a content has a live copy that is not suspect and
// was written or verified within the trust window, on a backend within reach; without names,
// on any backend.
func (db *DB) trusted(c *content, reach []string) bool {
	if c.Inline {
		return c.body.Check(c.Size) == nil
	}
	since := db.opts.TrustedSince(db.now)
	covered, segments := 0, 0
	for _, b := range db.byContent[c.ID].rows {
		segments = max(segments, b.Segment+1)
		if b.Segment == covered && b.State == lethe.Live && !b.Suspect && (len(reach) == 0 || slices.Contains(reach, b.Backend)) &&
			b.trusted(since) {
			covered++
		}
	}
	return covered == segments
}

// openTrusted returns the content of an identity that can be referenced without bytes; nil
// if there is none.
func (db *DB) openTrusted(k ledger.ContentKey, reach []string) *content {
	if c := db.open[k]; c != nil && db.trusted(c, reach) {
		return c
	}
	return nil
}

// unknown returns ErrContentKnown if the commit can reference its content without the bytes.
func (db *DB) unknown(c ledger.Commit) error {
	b, err := db.find(c.Object.Bucket)
	if err != nil {
		return err
	}
	k := c.Content
	k.Domain = b.Domain
	if db.openTrusted(k, nil) != nil {
		return lethe.ErrContentKnown
	}
	return nil
}

// nextReplica returns the number for one more copy of a content.
func (db *DB) nextReplica(c *content) int {
	next := 0
	for _, b := range db.rowsOf(c) {
		next = max(next, b.Replica+1)
	}
	return next
}

// refer adds one reference to the content of the uploaded blobs. They become a new content,
// or one more copy of a content that is not trusted, possibly in place of an older copy; for
// a trusted content they are condemned as duplicates.
func (db *DB) refer(w *write) (c *content, duplicate bool) {
	c = db.open[w.key]
	switch {
	case c == nil:
		c = db.newContent(w.key)
		db.live(c, w.up, 0)
		db.replicate(c)
	case !db.trusted(c, w.Reach) && c.Inline:
		db.leaveLedger(c)
		db.live(c, w.up, db.nextReplica(c))
	case !db.trusted(c, w.Reach):
		n := db.nextReplica(c)
		db.live(c, w.up, n)
		db.takeOver(c, n, w)
	default:
		duplicate = true
		for _, u := range w.up {
			db.condemn(u.row, death{reason: lethe.ReasonDuplicate, at: db.now, late: u.Late})
		}
	}
	c.Refs++
	return c, duplicate
}

// newContent adds a content that nothing refers to yet.
func (db *DB) newContent(k ledger.ContentKey) *content {
	c := &content{Content: ledger.Content{ID: db.newID(), ContentKey: k, CreatedAt: db.now}}
	db.open[k] = c
	db.contents.put(c)
	return c
}

// referInline adds one reference to the content of the inline bytes, and replaces damaged
// ones (docs/protocol.md, rule 23).
func (db *DB) referInline(w *write) (c *content, duplicate bool) {
	c = db.open[w.key]
	if duplicate = c != nil; !duplicate {
		c = db.newContent(w.key)
		c.Inline = true
		db.countInline(c, 1)
	}
	if c.Inline {
		c.body = w.Inline
		c.body.Bytes = slices.Clone(w.Inline.Bytes)
	}
	c.Refs++
	return c, duplicate
}

// leaveLedger removes the bytes of an inline content for which blobs become live.
func (db *DB) leaveLedger(c *content) {
	c.Inline, c.body = false, ledger.Body{}
	db.countInline(c, -1)
	db.replicate(c)
}

// countInline counts a content that comes to lie in the ledger (1), or leaves it (-1).
func (db *DB) countInline(c *content, n int64) {
	db.inline.Blobs += n
	db.inline.Bytes += n * c.Size
}

// replicate queues a new content, if it is to have several copies.
func (db *DB) replicate(c *content) {
	if db.opts.Replicas > 1 {
		db.place(c.ID)
	}
}

// takeOver condemns the older copies that the uploaded one replaces. A part that was stored
// long ago is no better than an existing copy.
func (db *DB) takeOver(c *content, replica int, w *write) {
	r := ledger.Renewal{Live: db.liveCopies(c), Replica: replica, Reach: w.Reach, Wanted: db.opts.Replicas}
	if w.parts {
		r.Since = db.opts.ReadSince(db.now)
	}
	gone, rest := r.Replaced()
	if rest {
		db.place(c.ID)
	}
	for _, id := range gone {
		db.condemn(db.byID[id], death{reason: lethe.ReasonUnverified, at: db.now})
	}
}

func (db *DB) liveCopies(c *content) (live []ledger.Copy) {
	since := db.opts.TrustedSince(db.now)
	for _, b := range db.byContent[c.ID].rows {
		if b.State == lethe.Live {
			live = append(live, ledger.Copy{Blob: b.Blob, Trusted: b.trusted(since)})
		}
	}
	return live
}

// trusted reports whether a blob was written or verified after an instant, and since its
// backend was last in doubt.
func (b *blob) trusted(since lethe.Time) bool {
	return max(b.CreatedAt, b.VerifiedAt) > max(since, b.backend.trustedSince)
}

// upped is the result of an upload together with its row.
type upped struct {
	ledger.Uploaded
	row *blob
}

// live makes uploaded blobs the segments of one copy of a content.
func (db *DB) live(c *content, up []upped, replica int) {
	for i, u := range up {
		next := u.row.Blob
		next.State, next.ContentID, next.Segment, next.Replica = lethe.Live, c.ID, i, replica
		next.Size, next.Digest, next.CRC32C = u.Size, u.Digest, u.CRC32C
		u.row.keepBlocks(&next, u.Blocks)
		next.UploadID, next.Part, next.Claim = "", 0, ledger.Claim{}
		if u.Late {
			next.LateUntil = db.now.Add(db.opts.LateWindow)
		}
		db.forgetPromotion(u.row.ID)
		db.set(u.row, next)
	}
}

// close closes a content that has enough references.
func (db *DB) close(c *content) {
	if c != nil && !c.Closed && c.Refs >= db.opts.MaxRefs {
		c.Closed = true
		delete(db.open, c.ContentKey)
	}
}

// release removes one reference. With the last one the content goes, and its blobs are
// condemned in the same transaction (docs/protocol.md, rule 4). It returns the condemned
// blobs.
func (db *DB) release(c *content, d death) []*blob {
	if c == nil {
		return nil
	}
	if c.Refs--; c.Refs > 0 {
		return nil
	}
	var condemned []*blob
	for _, b := range slices.Clone(db.rowsOf(c)) {
		if b.State != lethe.Live && b.State != lethe.Pending {
			continue
		}
		db.condemn(b, death{reason: d.reason, at: d.at, bucket: d.bucket, silent: b.State == lethe.Pending})
		condemned = append(condemned, b)
	}
	if !c.Closed {
		delete(db.open, c.ContentKey)
	}
	if c.Inline {
		db.countInline(c, -1)
		db.lostInline(c, d.reason)
	}
	db.contents.drop(c)
	return condemned
}

// rowsOf returns the blobs that name a content; an inline one may never have had any.
func (db *DB) rowsOf(c *content) []*blob {
	if t := db.byContent[c.ID]; t != nil {
		return t.rows
	}
	return nil
}

// alive counts the blobs that go with a content.
func (db *DB) alive(c *content) int {
	n := 0
	for _, b := range db.rowsOf(c) {
		if b.State == lethe.Live || b.State == lethe.Pending {
			n++
		}
	}
	return n
}

// gone collects the contents that a transaction dropped.
type gone struct {
	dropped []lethe.ID
	blobs   int
	bytes   int64

	inline      int // contents whose bytes went at once
	inlineBytes int64
}

func (g *gone) add(c *content, condemned []*blob) {
	if c == nil || c.Refs > 0 {
		return
	}
	g.dropped = append(g.dropped, c.ID)
	if c.Inline {
		g.inline++
		g.inlineBytes += c.Size
	}
	for _, b := range condemned {
		g.blobs++
		g.bytes += b.Size
	}
}

func (g *gone) sorted() []lethe.ID {
	slices.Sort(g.dropped)
	return g.dropped
}

// segments lists the copies that a reader may use, best first.
func (db *DB) segments(c *content) ([]ledger.Segment, error) {
	if c == nil || c.Inline {
		return nil, nil
	}
	var out []ledger.Segment
	for _, b := range db.byContent[c.ID].rows {
		if b.State != lethe.Live {
			continue
		}
		if b.Segment > len(out) {
			break
		}
		if b.Segment == len(out) {
			out = append(out, ledger.Segment{Size: b.Size, Digest: b.Digest})
		}
		s := &out[b.Segment]
		s.Blobs = append(s.Blobs, ledger.Blob{
			ID: b.ID, Backend: b.Backend, State: b.State, Size: b.Size, Digest: b.Digest, CRC32C: b.CRC32C, Block: b.Block,
			ContentID: b.ContentID, Segment: b.Segment, Replica: b.Replica, Suspect: b.Suspect,
		})
	}
	var size int64
	for i := range out {
		size += out[i].Size
		slices.SortStableFunc(out[i].Blobs, suspectLast)
		out[i].Blocks = db.fewSums(out[i].Blobs)
	}
	if size != c.Size {
		return nil, fmt.Errorf("memledger: content %s of %d bytes has segments of %d: %w", c.ID, c.Size, size, lethe.ErrCorrupt)
	}
	return out, nil
}

func suspectLast(a, b ledger.Blob) int {
	switch {
	case a.Suspect == b.Suspect:
		return 0
	case a.Suspect:
		return 1
	}
	return -1
}
