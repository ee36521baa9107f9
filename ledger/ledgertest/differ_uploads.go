package ledgertest

import (
	"fmt"
	"slices"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

func (h *history) createUpload() {
	u := ledger.Upload{Bucket: h.bucketName(), Key: h.key(), Owner: "o1", Tags: map[string]string{"x": "y"}}
	u.TTL, u.TTLAt = h.life()
	u.ByKey = h.keyTTL()
	u.Reads = int64(h.number(3))
	u.Idle = h.idle()
	u, err := ask(h, "create upload to "+u.Bucket, func(l Ledger) (ledger.Upload, error) { return l.CreateUpload(h.ctx, u) })
	if err == nil {
		h.uploads = append(h.uploads, u)
	}
}

func (h *history) beginPart() {
	u, body := pick(h, h.uploads), h.body()
	if u.ID == "" {
		return
	}
	up := ledger.Uploaded{Blob: h.id(), Size: int64(len(body)), Digest: sum(body), CRC32C: crc(body), Blocks: blockSums(body)}
	h.beginWith(ledger.Intent{ID: up.Blob, Backend: "tape", Size: up.Size, UploadID: u.ID, Part: 1 + h.number(3)}, up)
}

// commitPart makes an upload a part, mostly of an open upload; or commits a part of zero
// bytes.
func (h *history) commitPart() {
	if len(h.uploads) == 0 {
		h.createUpload()
	}
	up, u := pick(h, h.uploaded), pick(h, h.uploads)
	p := ledger.Part{UploadID: u.ID, Number: 1 + h.number(3), BlobID: up.Blob, Size: up.Size, Digest: up.Digest, ETag: "e" + up.Digest}
	if h.chance(8) {
		p.BlobID, p.Size, p.ETag, p.Digest, up.Blocks = "", 0, "empty", sum(""), lethe.BlockSums{}
	}
	c := ledger.PartCommit{Op: h.op(), Part: p, Late: up.Late, CRC32C: up.CRC32C, Blocks: up.Blocks}
	p, err := ask(h, fmt.Sprintf("commit part %d of %s: %s", p.Number, u.ID, p.BlobID), func(l Ledger) (ledger.Part, error) { return l.CommitPart(h.ctx, c) })
	if err == nil {
		h.parts = append(h.parts, p)
	}
}

// complete names the stored parts of an upload, sometimes wrongly.
func (h *history) complete() {
	u := pick(h, h.uploads)
	stored, _ := ask(h, "parts of "+string(u.ID), func(l Ledger) ([]ledger.Part, error) { return l.Parts(h.ctx, u.ID, 0, 0) })
	c := ledger.Completion{Op: h.op(), UploadID: u.ID, Bucket: u.Bucket, Key: u.Key, MinPart: int64(h.number(3))}
	c.Commit = ledger.Commit{Object: ledger.Object{ETag: "whole"}, If: h.condition(), ByKey: h.keyTTL()}
	for _, p := range stored {
		if !h.chance(6) {
			c.Parts = append(c.Parts, ledger.PartName{Number: p.Number, ETag: p.ETag})
		}
	}
	if h.chance(20) {
		c.Parts = append(c.Parts, ledger.PartName{Number: 1, ETag: "whatever"})
	}
	if h.chance(20) {
		c.Key = "elsewhere"
	}
	what := fmt.Sprintf("complete %s of %v by %s", u.ID, c.Parts, c.Op)
	done, err := ask(h, what, func(l Ledger) (ledger.Committed, error) { return l.Complete(h.ctx, c) })
	if err == nil {
		h.wrote(done.Object, nil)
		h.ended(u.ID)
	}
	if h.chance(3) {
		ask(h, what+" again", func(l Ledger) (ledger.Committed, error) { return l.Complete(h.ctx, c) })
	}
}

// ended sometimes forgets an upload.
func (h *history) ended(id lethe.ID) {
	if !h.chance(4) {
		h.uploads = slices.DeleteFunc(h.uploads, func(u ledger.Upload) bool { return u.ID == id })
	}
}

func (h *history) abort() {
	u, op := pick(h, h.uploads), h.op()
	ask(h, "abort "+string(u.ID), func(l Ledger) (any, error) { return nil, l.AbortUpload(h.ctx, op, u.Bucket, u.Key, u.ID) })
	h.ended(u.ID)
}

func (h *history) staleUploads() {
	age := ledger.Stale{Age: time.Duration(1+h.number(5)) * time.Hour, On: map[string]time.Duration{h.one(disk, "tape"): time.Duration(h.number(200)) * time.Minute}}
	q := ledger.OverdueQuery{Stale: age, Limit: h.number(3), Held: h.chance(2)}
	stale, _ := ask(h, "stale uploads", func(l Ledger) ([]ledger.OverdueUpload, error) { return l.StaleUploads(h.ctx, q) })
	ask(h, "tally", func(l Ledger) ([]ledger.Tally, error) { return l.TallyOrphans(h.ctx) })
	ask(h, "upload backlog", func(l Ledger) (ledger.Backlog, error) { return l.UploadBacklog(h.ctx, age) })
	id := pick(h, h.uploads).ID
	if len(stale) > 0 && h.chance(2) {
		id = stale[0].Upload.ID
	}
	ask(h, "abort stale "+string(id), func(l Ledger) (any, error) { return nil, l.AbortStale(h.ctx, id, age) })
	list := ledger.UploadQuery{Bucket: h.bucketName(), AfterKey: h.one("", "a"), Limit: h.number(3)}
	if h.chance(2) {
		list.AfterUpload = id
	}
	ask(h, "uploads", func(l Ledger) ([]ledger.Upload, error) { return l.Uploads(h.ctx, list) })
}

func (h *history) reads() {
	u := pick(h, h.uploads)
	ask(h, "upload", func(l Ledger) (ledger.Upload, error) { return l.Upload(h.ctx, u.Bucket, u.Key, u.ID) })
	ask(h, "upload by id", func(l Ledger) (ledger.Upload, error) { return l.UploadByID(h.ctx, u.ID) })
	ask(h, "parts", func(l Ledger) ([]ledger.Part, error) { return l.Parts(h.ctx, u.ID, 1, 1) })
	q := ledger.BlobQuery{Backend: h.one("", disk), Limit: h.number(5), After: pick(h, h.uploaded).Blob}
	q.States = some(h, lethe.States, 2)
	ask(h, "blobs", func(l Ledger) ([]ledger.Blob, error) { return l.Blobs(h.ctx, q) })
	ask(h, "totals", func(l Ledger) ([]ledger.Total, error) { return l.Totals(h.ctx) })
}
