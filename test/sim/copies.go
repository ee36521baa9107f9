package sim

import (
	"bytes"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// piece is a segment of a content.
type piece struct {
	content lethe.ID
	segment int
}

// destroyed notes what a backend took with it: the bytes of its blobs, and the
// contents that have no other copy of a segment.
func (o *oracle) destroyed(backend string) {
	for _, b := range o.view.Blobs {
		if b.Backend == backend {
			o.lost[b.ID] = true
		}
	}
	good := o.pieces()
	for at, sound := range good {
		if !sound {
			o.ruined[at.content] = true
		}
	}
}

// pieces are the segments that have live blobs, and whether one of them has its
// bytes, for all that is known.
func (o *oracle) pieces() map[piece]bool {
	out := map[piece]bool{}
	for _, b := range o.view.Blobs {
		if b.State == lethe.Live && b.ContentID != "" {
			at := piece{b.ContentID, b.Segment}
			out[at] = out[at] || !o.lost[b.ID]
		}
	}
	return out
}

// replicated: every content has all of its segments, and of each a copy that no
// destroyed backend took, unless it was ruined when that happened, was made of
// what was lost already, or excused.
func (o *oracle) replicated() error {
	clear(o.sizes)
	clear(o.sound)
	for _, b := range o.view.Blobs {
		if b.State != lethe.Live || b.ContentID == "" {
			continue
		}
		at := piece{b.ContentID, b.Segment}
		sound, seen := o.sound[at]
		if !seen {
			o.sizes[b.ContentID] += b.Size
		}
		if sound = sound || !o.lost[b.ID]; !seen || sound {
			o.sound[at] = sound
		}
	}
	bad := map[lethe.ID]bool{}
	if o.w.destroyed {
		o.excuse()
	}
	if len(o.lost) > 0 {
		for at, sound := range o.sound {
			bad[at.content] = bad[at.content] || !sound
		}
	}
	for _, c := range o.view.Contents {
		switch {
		case c.Inline:
			continue
		case o.sizes[c.ID] != c.Size:
			return broken("content %s of %d bytes is referenced, but only %d bytes of it are live", c.ID, c.Size, o.sizes[c.ID])
		case !bad[c.ID] && !o.w.destroyed:
			delete(o.ruined, c.ID) // its bytes are there again
		case !bad[c.ID], o.ruined[c.ID]:
		case o.known[c.ID] || !o.w.destroyed:
			return broken("content %s lost the last copy of a segment that has its bytes", c.ID)
		default:
			o.ruined[c.ID] = true
		}
		o.known[c.ID] = true
	}
	return nil
}

// excuse notes the contents of which a segment has only a lost copy that was found
// whole lately, and that nobody has doubted since: who trims beside it cannot know what
// has happened.
func (o *oracle) excuse() {
	for _, b := range o.view.Blobs {
		if o.lost[b.ID] && b.State == lethe.Live && o.readLately(b) && !b.Suspect && !o.sound[piece{b.ContentID, b.Segment}] {
			o.ruined[b.ContentID] = true
		}
	}
}

// excused says that nobody can know whether the bytes of a content that is referred to
// anew are there. Whoever uploads them ends that, unless the store may trust a copy
// that it has, and refer to it instead: none that decayed, since those are older.
func (o *oracle) excused(op *operation, content lethe.ID) bool {
	gone, uploads := o.gone(content), op != nil && op.source == ""
	switch {
	case uploads && !o.w.destroyed:
		return false
	case uploads && !gone:
		delete(o.ruined, content)
	}
	return gone || o.ruined[content]
}

// trusted says that a copy was written or verified within the trust window.
func (o *oracle) trusted(b ledger.Blob) bool {
	window := o.w.trust()
	return window >= 0 && max(b.CreatedAt, b.VerifiedAt) > o.clock.Add(-window)
}

// readLately says that a copy was read lately enough for another one to be condemned beside
// it.
func (o *oracle) readLately(b ledger.Blob) bool {
	return b.VerifiedAt > ledger.Options{TrustWindow: o.w.trust()}.ReadSince(o.clock)
}

// sent is the bytes that a client stores; nil: not known.
func (o *oracle) sent(op *operation) []byte {
	switch {
	case op == nil:
		return nil
	case op.source != "":
		return o.bodies[op.source]
	}
	return op.body
}

// reads says that the bytes read are those of the version, for all that is known.
func (o *oracle) reads(version lethe.ID, got []byte) bool {
	want := o.bodies[version]
	return bytes.Equal(got, want) || want == nil && o.w.destroyed
}

// gone says that some segment of the content has no bytes any more.
func (o *oracle) gone(content lethe.ID) bool {
	for at, sound := range o.pieces() {
		if at.content == content && !sound {
			return true
		}
	}
	return false
}
