package sim

import (
	"slices"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// outage notes what a delete that was sent while the backend is down was for.
func (d *disk) outage(keys []string, f Fault) {
	a := d.w.cur
	if a == nil {
		return
	}
	if a.down = nil; f == Down {
		for _, key := range keys {
			a.down = append(a.down, blobID(d.w.store, key))
		}
	}
}

// waiting are the blobs that the actor could not delete because of an outage.
func (w *World) waiting() []lethe.ID {
	if w.cur == nil {
		return nil
	}
	return w.cur.down
}

// unburnt: an outage is not a failed attempt (docs/protocol.md, rule 14).
func (o *oracle) unburnt(sc scope) error {
	if len(sc.waits) == 0 {
		return nil
	}
	for _, b := range o.view.Blobs {
		if old, was := o.last[b.ID]; was && b.Attempts > old.Attempts && slices.Contains(sc.waits, b.ID) {
			return broken("blob %s has %d failed attempts instead of %d, because its backend was down", b.ID, b.Attempts, old.Attempts)
		}
	}
	return nil
}

// beside: a copy of a content that is referred to is condemned only while another
// copy of its segment is live, not suspect, and was read lately, or was uploaded by this
// very step, or once the bytes lie in the ledger (docs/protocol.md, rule 17).
func (o *oracle) beside(gone ledger.Blob) error {
	if !slices.ContainsFunc(o.view.Contents, func(c ledger.Content) bool { return c.ID == gone.ContentID && !c.Inline }) {
		return nil
	}
	for _, b := range o.view.Blobs {
		if b.ContentID == gone.ContentID && b.Segment == gone.Segment && b.State == lethe.Live && !b.Suspect && (o.readLately(b) || o.uploaded(b)) {
			return nil
		}
	}
	return broken("copy %s of segment %d of content %s was condemned, and no other one is live, not suspect and was verified lately", gone.ID, gone.Segment, gone.ContentID)
}

// uploaded says that the step has made an upload of just now a copy of a content: that
// of a whole body, or a part that was stored lately.
func (o *oracle) uploaded(b ledger.Blob) bool {
	old, was := o.last[b.ID]
	lately := ledger.Options{TrustWindow: o.w.trust()}.ReadSince(o.clock)
	return was && old.ContentID == "" && (old.State == lethe.Pending || b.CreatedAt > lately)
}

// covered: a content that was there and is referred to anew has a copy of each segment
// that is live, not suspect, and trusted, or has got what was uploaded as one more copy,
// or in the place of one (docs/protocol.md, rules 17 and 20). What was uploaded can have become
// suspect meanwhile, as parts do.
func (o *oracle) covered(before View, content lethe.ID) error {
	if !slices.ContainsFunc(before.Contents, func(c ledger.Content) bool { return c.ID == content }) {
		return nil
	}
	covered, uploaded := map[int]bool{}, false
	for _, b := range o.view.Blobs {
		if b.ContentID == content && b.State == lethe.Live {
			old, was := o.last[b.ID]
			uploaded = uploaded || was && old.ContentID == ""
			covered[b.Segment] = covered[b.Segment] || !b.Suspect && o.trusted(b)
		}
	}
	for segment, is := range covered {
		if !is && !uploaded {
			return broken("content %s is referred to anew, and no copy of segment %d is live, not suspect and trusted", content, segment)
		}
	}
	return nil
}
