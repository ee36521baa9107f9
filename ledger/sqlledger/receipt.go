package sqlledger

import (
	"encoding/json"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/receipt"
)

var insertReceipts = register(`INSERT INTO receipts (at, n, body) VALUES (?1, ?2, ?3)`)

// gone notes a receipt of a version that is gone: neither under a key nor in the trash. The
// receipt has the reason; gone fills in the rest.
func (t *tx) gone(bucket string, o ledger.Object, r receipt.Receipt) {
	if t.db.o.NoReceipts {
		return
	}
	r.Kind, r.At, r.Size, r.Content = receipt.Object, receipt.Instant(t.Now), o.Size, o.ContentID
	r.Bucket, r.BucketID, r.Key, r.Version, r.ETag = bucket, o.BucketID, o.Key, o.ID, o.ETag
	r.Op, r.By = t.op, t.By
	t.counts.gone = append(t.counts.gone, r)
}

// goneByAge notes receipts of expired objects, from buckets with these rules.
func (t *tx) goneByAge(list []loss, of map[lethe.ID]namedRules) {
	for _, g := range list {
		r := receipt.Receipt{Reason: lethe.ReasonExpiry, Due: receipt.Instant(g.died)}
		if g.reason != "" {
			r.Reason, r.Rule, r.RuleNumber = g.reason, g.ruleID, g.rule
		}
		t.gone(of[g.bucket].was, ledger.Object{ID: g.version, BucketID: g.bucket, Key: g.key, ContentID: g.content, Size: g.size, ETag: g.etag}, r)
	}
}

// left is how a settled blob was removed.
var left = map[ledger.Result]string{ledger.Gone: receipt.Deleted, ledger.Absent: receipt.Absent}

// goneBytes notes a receipt of a removed blob: of a content, a part of an upload, an
// abandoned write, or an orphan.
func (t *tx) goneBytes(b ledger.Blob, how string) {
	if t.db.o.NoReceipts {
		return
	}
	t.counts.gone = append(t.counts.gone, receipt.Receipt{
		Kind: receipt.Bytes, At: receipt.Instant(t.Now), Reason: b.Reason, Size: b.Size, Content: b.ContentID,
		Blob: b.ID, Backend: b.Backend, How: how, By: t.By,
	})
}

// goneInline notes a receipt of the bytes of an inline content.
func (t *tx) goneInline(c droppedContent, reason lethe.Reason) {
	if t.db.o.NoReceipts {
		return
	}
	t.counts.gone = append(t.counts.gone, receipt.Receipt{
		Kind: receipt.Bytes, At: receipt.Instant(t.Now), Reason: reason, Size: c.size, Content: c.id, How: receipt.Inline, By: t.By,
	})
}

// flushReceipts writes all receipts as one row: the cost is one row per transaction, not per
// object.
func (c *counters) flushReceipts(t *tx) error {
	if len(c.gone) == 0 {
		return nil
	}
	body, err := receipt.Encode(c.gone)
	if err == nil {
		_, err = t.Send(insertReceipts, t.Now, len(c.gone), body)
	}
	return err
}

// encodeCaller returns "" for the zero value.
func encodeCaller(c lethe.Caller) string {
	if c == (lethe.Caller{}) {
		return ""
	}
	return sqldb.JSON(c)
}

// decodeCaller is the inverse of encodeCaller. Unreadable text gives the zero value: no
// decision depends on it.
func decodeCaller(text string) (c lethe.Caller) {
	if text != "" && json.Unmarshal([]byte(text), &c) != nil {
		return lethe.Caller{}
	}
	return c
}
