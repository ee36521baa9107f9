package sim

import (
	"slices"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/meta"
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

// unburnt: an outage is not a failed attempt (design rule 14).
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
// copy of its segment is live, not suspect, and was verified (design rule 17).
func (o *oracle) beside(gone meta.Blob) error {
	if !slices.ContainsFunc(o.view.Contents, func(c meta.Content) bool { return c.ID == gone.ContentID }) {
		return nil
	}
	for _, b := range o.view.Blobs {
		if b.ContentID == gone.ContentID && b.Segment == gone.Segment && b.State == lethe.Live && !b.Suspect && b.VerifiedAt > 0 {
			return nil
		}
	}
	return broken("copy %s of segment %d of content %s was condemned, and no other one is live, not suspect and was verified", gone.ID, gone.Segment, gone.ContentID)
}

// covered: a content that was there and is referred to anew has a copy of each segment
// that is live and not suspect, or has got what was uploaded as one more copy (design
// rule 20). What was uploaded can have become suspect meanwhile, as parts do.
func (o *oracle) covered(before View, content lethe.ID) error {
	if !slices.ContainsFunc(before.Contents, func(c meta.Content) bool { return c.ID == content }) {
		return nil
	}
	copies := func(of []meta.Blob) (n int, sound map[int]bool) {
		sound = map[int]bool{}
		for _, b := range of {
			if b.ContentID == content && b.State == lethe.Live {
				n++
				sound[b.Segment] = sound[b.Segment] || !b.Suspect
			}
		}
		return n, sound
	}
	was, _ := copies(before.Blobs)
	n, sound := copies(o.view.Blobs)
	for segment := range len(sound) {
		if !sound[segment] && n <= was {
			return broken("content %s is referred to anew, and no copy of segment %d is live and not suspect", content, segment)
		}
	}
	return nil
}
