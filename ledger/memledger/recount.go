package memledger

import (
	"context"
	"fmt"
	"slices"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// Recount recomputes references, counters and the rules of the states from the rows, and
// returns every difference; there should be none. Without differences it allocates nothing.
func (db *DB) Recount(ctx context.Context) ([]ledger.Discrepancy, error) {
	if err := db.enter(ctx); err != nil {
		return nil, err
	}
	defer db.mu.Unlock()
	r := recount{db: db}
	r.references()
	r.buckets()
	r.contents()
	r.blobs()
	r.counters()
	r.uploads()
	r.indexes()
	return r.found, nil
}

type recount struct {
	db    *DB
	found []ledger.Discrepancy
}

func (r *recount) differ(what, name string, want, have any) {
	r.found = append(r.found, ledger.Discrepancy{What: what, Name: name, Want: fmt.Sprint(want), Have: fmt.Sprint(have)})
}

// references counts what refers to each content.
func (r *recount) references() {
	for _, c := range r.db.contents.rows {
		c.tally = 0
	}
	for _, b := range r.db.buckets.rows {
		for _, o := range b.objects.rows {
			r.reference("object", &o.Object, o.content)
			if o.content != nil && o.content.Domain != b.Domain {
				r.differ("dedup domain", "object "+o.Key, b.Domain, o.content.Domain)
			}
		}
	}
	for _, e := range r.db.trash.rows {
		r.reference("trash", &e.Object, e.content)
		if e.PurgeAt == lethe.Forever && !slices.ContainsFunc(r.db.deferred.rows, func(p *deferred) bool { return p.entry == e.ID }) {
			r.differ("deferred", "trash "+string(e.ID), "a deferred row, or when it is purged", "neither")
		}
	}
	for _, c := range r.db.contents.rows {
		if c.Refs != c.tally || c.Refs <= 0 {
			r.differ("refs", "content "+string(c.ID), c.tally, c.Refs)
		}
	}
}

func (r *recount) reference(what string, o *ledger.Object, c *content) {
	var size int64
	var id lethe.ID
	if c != nil {
		c.tally++
		size, id = c.Size, c.ID
	}
	if o.Size != size || o.ContentID != id || size == 0 && id != "" {
		r.differ(what+" size", what+" "+o.Key, size, o.Size)
	}
}

// buckets counts the objects of each bucket.
func (r *recount) buckets() {
	due := 0
	for _, b := range r.db.buckets.rows {
		var n, bytes int64
		for _, o := range b.objects.rows {
			n++
			bytes += o.Size
			if o.DueAt() != 0 && !o.deferred {
				due++
			}
		}
		if n != b.Objects || bytes != b.Bytes {
			r.differ("bucket counter", "bucket "+string(b.ID), [2]int64{n, bytes}, [2]int64{b.Objects, b.Bytes})
		}
	}
	for _, b := range r.db.buckets.rows {
		if b.Holds != int64(len(b.holds)) {
			r.differ("holds", "bucket "+string(b.ID), len(b.holds), b.Holds)
		}
	}
	if due != len(r.db.due.rows) {
		r.differ("index", "objects by due time", due, len(r.db.due.rows))
	}
}

// contents checks that the bytes of every content are there, in order.
func (r *recount) contents() {
	open := 0
	inline := ledger.Total{Backend: ledger.InLedger, State: lethe.Live}
	for _, c := range r.db.contents.rows {
		if !c.Closed {
			open++
		}
		if c.Inline {
			inline.Blobs++
			inline.Bytes += c.Size
		}
		r.content(c)
	}
	if inline != r.db.inline {
		r.differ("blob counter", "inline contents", inline, r.db.inline)
	}
	if open != len(r.db.open) {
		r.differ("index", "open contents", open, len(r.db.open))
	}
}

// spareReasons are why a blob of an existing content may be condemned.
var spareReasons = map[lethe.Reason]bool{
	lethe.ReasonDuplicate: true, lethe.ReasonSurplus: true, lethe.ReasonRebalance: true,
	lethe.ReasonDamaged: true, lethe.ReasonUnverified: true, lethe.ReasonUploadOrphan: true,
}

func (r *recount) content(c *content) {
	var buffer [8]lethe.SegmentSum
	sums, size := buffer[:0], int64(0)
	var last *blob
	for _, b := range r.db.blobsOf(c.ID).rows {
		switch {
		case b.State == lethe.Condemned || b.State == lethe.Dead:
			if !spareReasons[b.Reason] {
				r.differ("condemned blob of a referenced content", "blob "+string(b.ID), "a spare copy", b.Reason)
			}
			continue
		case b.State != lethe.Live:
			continue
		case last == nil || last.Segment != b.Segment:
			sums = append(sums, lethe.SegmentSum{Digest: b.Digest, Size: b.Size})
			size += b.Size
		case last.Digest != b.Digest || last.Size != b.Size || last.Replica == b.Replica:
			r.differ("copies of a segment", "content "+string(c.ID), last.ID, b.ID)
		}
		last = b
	}
	if c.Inline {
		if last != nil {
			r.differ("segments", "content "+string(c.ID), "bytes in the ledger alone", last.ID)
		}
		if n := int64(len(c.body.Bytes)); n != c.Size {
			r.differ("inline bytes", "content "+string(c.ID), c.Size, n)
		}
		return
	}
	if last == nil || len(sums) != last.Segment+1 || size != c.Size {
		r.differ("segments", "content "+string(c.ID), c.Size, size)
		return
	}
	r.digest(c, sums)
}

func (r *recount) digest(c *content, sums []lethe.SegmentSum) {
	have := sums[0].Digest
	if c.Kind == lethe.Multipart {
		have, _ = lethe.MultipartDigest(sums)
	} else if len(sums) != 1 {
		have = "composed"
	}
	if have != c.Digest {
		r.differ("digest", "content "+string(c.ID), c.Digest, have)
	}
}

// blobs checks what each state allows.
func (r *recount) blobs() {
	for _, b := range r.db.blobs.rows {
		if !lawful(b) {
			r.differ("state", "blob "+string(b.ID), "what its state allows", b.Blob)
		}
		if (b.Claim.Fence == 0) != (b.Claim.At == 0) || b.Claim.Fence > r.db.fence {
			r.differ("claim", "blob "+string(b.ID), "fence and time, or neither", b.Claim)
		}
		if b.State == lethe.Pending && b.ContentID != "" && r.db.contentOf(b.ContentID) == nil {
			r.differ("state", "blob "+string(b.ID), "a copy of a content", b.ContentID)
		}
		if (lethe.BlockSums{Size: b.Block, Sums: b.sums}).Check(b.Size) != nil {
			r.differ("blocks", "blob "+string(b.ID), b.Block, len(b.sums))
		}
		if b.State == lethe.Live {
			r.owner(b)
		}
	}
	for id, p := range r.db.promos {
		if p.blob.State != lethe.Pending || p.blob.ID != id {
			r.differ("promotion", "blob "+string(id), lethe.Pending, p.blob.State)
		}
	}
}

func lawful(b *blob) bool {
	if min(b.Size, int64(b.Attempts), int64(b.Part), int64(b.Segment), int64(b.Replica)) < 0 {
		return false
	}
	switch b.State {
	case lethe.Pending:
		return b.Reason == "" && b.DiedAt == 0 && b.DueAt == 0 && b.Attempts == 0 && (b.ContentID == "" || b.UploadID == "")
	case lethe.Live:
		return b.Reason == "" && b.DiedAt == 0 && b.DueAt == 0 && b.Attempts == 0 && b.Claim.Fence == 0
	case lethe.Condemned:
		return b.Reason != "" && b.DiedAt > 0 && b.DueAt > 0
	}
	return b.State == lethe.Dead && b.Reason != "" && b.DiedAt > 0 && b.Claim.Fence == 0
}

// owner checks that a live blob belongs to one content or to one part.
func (r *recount) owner(b *blob) {
	if b.UploadID == "" {
		if rows := r.db.contents.from(func(c *content) bool { return c.ID >= b.ContentID }); len(rows) > 0 && rows[0].ID == b.ContentID {
			return
		}
	} else if u := r.db.uploads[b.UploadID]; u != nil && b.ContentID == "" {
		if p := u.part(b.Part); p != nil && p.BlobID == b.ID {
			return
		}
	}
	r.differ("owner of a live blob", "blob "+string(b.ID), "one content or one part", b.Blob)
}

// counters counts the blobs of each backend and state.
func (r *recount) counters() {
	for _, backend := range r.db.backends.rows {
		var totals [lethe.Dead + 1]ledger.Total
		for _, b := range r.db.blobs.rows {
			if b.backend == backend {
				totals[b.State].Blobs++
				totals[b.State].Bytes += b.Size
			}
		}
		for _, s := range lethe.States {
			want, have := totals[s], backend.totals[s]
			if want.Blobs != have.Blobs || want.Bytes != have.Bytes {
				r.differ("blob counter", "backend "+backend.ID+" "+s.String(), want, have)
			}
		}
	}
}

// uploads checks that every part has its bytes.
func (r *recount) uploads() {
	for _, u := range r.db.touched.rows {
		for _, p := range u.parts.rows {
			b := r.db.byID[p.BlobID]
			if p.BlobID == "" && p.Size == 0 {
				continue
			}
			if b == nil || b.State != lethe.Live || b.UploadID != u.ID || b.Part != p.Number || b.Size != p.Size || b.Digest != p.Digest {
				r.differ("part", fmt.Sprintf("part %s/%d", u.ID, p.Number), "a live blob of the upload, size and digest", p.BlobID)
			}
		}
	}
	if len(r.db.touched.rows) != len(r.db.uploads) {
		r.differ("index", "uploads by last touch", len(r.db.uploads), len(r.db.touched.rows))
	}
}

// indexes checks that every blob is in its queue.
func (r *recount) indexes() {
	queued := len(r.db.pending.rows) + len(r.db.claimed.rows) + len(r.db.dead.rows)
	for _, b := range r.db.backends.rows {
		queued += len(b.due.rows)
	}
	want := 0
	for _, b := range r.db.blobs.rows {
		if b.State != lethe.Live {
			want++
		}
	}
	if queued != want || len(r.db.byID) != len(r.db.blobs.rows) {
		r.differ("index", "queues of blobs", want, queued)
	}
	if len(r.db.trash.rows) != len(r.db.purge.rows) {
		r.differ("index", "trash by purge time", len(r.db.trash.rows), len(r.db.purge.rows))
	}
}

// CheckBodies compares the inline bytes of a page of contents after an id with their
// digests.
func (db *DB) CheckBodies(ctx context.Context, after lethe.ID, limit int) (out ledger.BodyCheck, err error) {
	if err := db.enter(ctx); err != nil {
		return out, err
	}
	defer db.leave()
	for _, c := range first(db.contents.from(func(c *content) bool { return c.ID > after }), limit) {
		if out.Last = c.ID; c.Inline {
			out.Add(c.ID, c.ContentKey, c.body)
		}
	}
	return out, nil
}
