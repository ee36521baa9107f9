package sqlledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/internal/words"
	"github.com/lethe-storage/lethe/ledger"
)

var composeBlobs = register(`UPDATE blobs SET upload_id = NULL, part = 0, content_id = ?2, replica = ?3, segment = t.segment
	FROM ` + sqldb.Rows(1, "id text", "segment bigint") + `
	WHERE blobs.id = t.id AND blobs.state = 2 AND blobs.suspect = 0 AND blobs.upload_id = ?4
		AND ` + sinceDoubt("blobs"))

// suspectParts counts the suspect parts of an upload.
var suspectParts = register(`SELECT count(*) FROM blobs
	WHERE id IN (SELECT id FROM ` + sqldb.IDs(1) + `) AND state = 2 AND suspect = 1 AND upload_id = ?2`)

// doubtedParts selects the parts of an upload that were not read since their backends were in
// doubt.
var doubtedParts = register(`SELECT ` + qualified("b", blobColumns) + ` FROM blobs b
	WHERE b.id IN (SELECT id FROM ` + sqldb.IDs(1) + `) AND b.state = 2 AND b.upload_id = ?2 AND NOT ` + sinceDoubt("b") + ` ORDER BY b.id`)

// Complete makes an object of exactly the parts named and condemns the others. Errors:
// ErrNoSuchUpload, ErrInvalidPart (also for a suspect part), ErrInvalidPartOrder,
// ErrPartTooSmall, ErrUnverified (ledger.UnreadParts has the parts), and those of Commit.
// Repeated by the same operation, it returns the object while that is under its key. The
// number of statements does not depend on the number of parts.
func (db *DB) Complete(ctx context.Context, c ledger.Completion) (out ledger.Committed, err error) {
	err = db.write(ctx, "complete upload "+string(c.UploadID), func(t *tx) error {
		out, err = t.complete(c)
		return err
	})
	return out, err
}

func (t *tx) complete(c ledger.Completion) (ledger.Committed, error) {
	b, rules, err := t.lockKey(c.Bucket, c.Key)
	if errors.Is(err, lethe.ErrNoSuchBucket) {
		return t.completed(c, lethe.ErrNoSuchUpload)
	}
	if err != nil {
		return ledger.Committed{}, err
	}
	if err := t.lockUpload(c.UploadID); err != nil {
		return ledger.Committed{}, err
	}
	u, err := t.upload(c.UploadID, c.Bucket, c.Key)
	if errors.Is(err, lethe.ErrNoSuchUpload) {
		return t.completed(c, err)
	}
	if err != nil {
		return ledger.Committed{}, err
	}
	stored, err := all(t, scanPart, pageParts, c.UploadID, 0, bounded(0))
	if err != nil {
		return ledger.Committed{}, err
	}
	parts, err := c.Choose(stored)
	if err != nil {
		return ledger.Committed{}, err
	}
	commit, err := c.Compose(u, parts)
	if err != nil {
		return ledger.Committed{}, err
	}
	if err := t.recordOnce(c.Op, "complete", c.Op); err != nil {
		return ledger.Committed{}, err
	}
	w, err := t.takeKey(commit, b, rules)
	if err == nil {
		err = t.supersede(b.ID, c.Key)
	}
	if err != nil {
		return ledger.Committed{}, err
	}
	if err := w.referParts(c.UploadID, ledger.SegmentsOf(parts)); err != nil {
		return ledger.Committed{}, err
	}
	return w.put()
}

// completed returns the object for an upload that is gone, if this very operation completed
// it; else gone.
func (t *tx) completed(c ledger.Completion, gone error) (ledger.Committed, error) {
	if c.Op == "" {
		return ledger.Committed{}, gone
	}
	if out, found, err := t.outcome(c.Op); err != nil || !found || out.What != "complete" {
		return ledger.Committed{}, cmp.Or(err, gone)
	}
	b, rules, err := t.ruledBucket(c.Bucket)
	if err != nil {
		return ledger.Committed{}, err
	}
	o, err := t.object(b, c.Key)
	if err != nil || !o.VisibleAt(t.Now) || o.ID != c.Op || o.ETag != c.Commit.Object.ETag {
		return ledger.Committed{}, cmp.Or(err, gone)
	}
	o.NameRule(rules)
	return ledger.Committed{Object: *o}, nil
}

// referParts references the content that the parts make up, as referUploaded does with
// uploads, and ends the upload.
func (w *write) referParts(upload lethe.ID, segments []ledger.Part) error {
	if len(segments) == 0 {
		return w.t.endUpload(upload, nil)
	}
	taken := make(map[lethe.ID]bool, len(segments))
	blobs := make([]lethe.ID, len(segments))
	for i, s := range segments {
		blobs[i], taken[s.BlobID] = s.BlobID, true
	}
	known, err := w.openContent()
	switch {
	case err != nil:
		return err
	case known.id == "":
		if w.content, err = w.t.createContent(w.key(), insertContent); err == nil {
			w.t.replicate(w.content)
			err = w.t.joinSegments(upload, blobs, place{content: w.content})
		}
	case known.trusted:
		w.duplicate = true
		w.gain(known.id)
		err = w.t.condemnOwned(blobs, lethe.ReasonDuplicate)
	default:
		err = w.repair(known.id, upload, blobs)
	}
	if err != nil {
		return err
	}
	return w.t.endUpload(upload, taken)
}

// repair adds the parts to a known content that is not trusted, as one more copy or in place
// of an older one (docs/protocol.md, rules 17 and 20).
func (w *write) repair(content, upload lethe.ID, blobs []lethe.ID) error {
	n, err := w.t.replica(content)
	if err != nil {
		return err
	}
	w.gain(content)
	if err := w.t.joinSegments(upload, blobs, place{content: content, replica: n}); err != nil {
		return err
	}
	// A part that was stored long ago is no better than the existing copy.
	return w.takeOver(content, n, w.t.lately())
}

// joinSegments makes stored parts the segments of a content, in order.
func (t *tx) joinSegments(upload lethe.ID, blobs []lethe.ID, p place) error {
	type row struct {
		ID      lethe.ID `json:"id"`
		Segment int      `json:"segment"`
	}
	list := make([]row, len(blobs))
	for i, b := range blobs {
		list[i] = row{b, i}
	}
	n, err := t.Exec(composeBlobs, sqldb.JSON(list), p.content, p.replica, upload)
	if err != nil || n == int64(len(blobs)) {
		return err
	}
	var suspect int
	err = t.Row(suspectParts, sqldb.JSON(blobs), upload).Scan(&suspect)
	switch {
	case err != nil:
		return err
	case suspect > 0: // marked suspect after they were chosen
		return fmt.Errorf("upload %s has %s missing or damaged: %w", upload, words.Plural(int64(suspect), "part that was found", "parts that were found"), lethe.ErrInvalidPart)
	}
	doubted, err := all(t, scanBlob, doubtedParts, sqldb.JSON(blobs), upload)
	switch {
	case err != nil:
		return err
	case len(doubted) > 0:
		return ledger.Unread(doubted)
	}
	return fmt.Errorf("stored parts of upload %s are not live: %w", upload, lethe.ErrCorrupt)
}
