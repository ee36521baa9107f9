package sim

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/object"
)

// composes says that uploads of this world are composed: some parts are copies of an
// object, or of a range of one. Where copies at rest decay so do the stored parts, and
// clients wait before they complete an upload.
func (w *World) composes() bool { return hash2(w.cfg.Seed, 359)%4 == 0 }

// fill stores a part: of the client's own bytes, or as a copy.
func (u *multipart) fill(number int, body []byte) error {
	w := u.a.w
	h := draw(w.cfg.Seed, uint64(u.op.number), uint64(number), 93)
	if !w.composes() || h%2 == 0 {
		return u.store(number, body)
	}
	from := w.oracle.someObject(h >> 32)
	if from.Size == 0 {
		return u.store(number, body)
	}
	r := rangeOf(h >> 1)
	if r != nil && r.Offset > 0 {
		r.Offset %= from.Size
	}
	err := u.copy(number, place{from.Bucket, from.Key}, r)
	if errors.Is(err, lethe.ErrNoSuchKey) || errors.Is(err, lethe.ErrInvalidRange) {
		return u.store(number, body)
	}
	return err
}

// someObject chooses an object that has bytes: half of the time, if there is one, one of
// which a copy has decayed. None: the zero value.
func (o *oracle) someObject(h uint64) ledger.Object {
	rotten := map[lethe.ID]bool{}
	for _, b := range o.view.Blobs {
		if o.damaged[b.ID] != nil && b.State == lethe.Live {
			rotten[b.ContentID] = true
		}
	}
	var list, decayed []ledger.Object
	for _, x := range o.view.Objects {
		if x.Size > 0 {
			list = append(list, x)
		}
		if rotten[x.ContentID] {
			decayed = append(decayed, x)
		}
	}
	if h%2 == 0 && len(decayed) > 0 {
		list = decayed
	}
	if len(list) == 0 {
		return ledger.Object{}
	}
	return list[(h>>1)%uint64(len(list))]
}

// copy stores a part of the bytes of an object: its very bytes, or nothing.
func (u *multipart) copy(number int, from place, r *object.Range) error {
	p, err := u.a.proc.node.objects.CopyPart(context.Background(), object.PartCopyRequest{
		Bucket: u.op.at.bucket, Key: u.op.at.key, Upload: u.id, Number: number,
		SourceBucket: from.bucket, SourceKey: from.key, Range: r,
	})
	if err != nil {
		return err
	}
	body := cut(u.a.w.oracle.bodies[u.op.found], r)
	if sum := sha256.Sum256(body); body != nil && hex.EncodeToString(sum[:]) != p.Digest {
		u.a.w.fail(broken("a part of %v was copied from version %s of %v: %d bytes, not those of it", u.op.at, u.op.found, from, p.Size))
	}
	u.stored(p, body)
	return nil
}

// stored notes a part, in the place of one of its number.
func (u *multipart) stored(p ledger.Part, body []byte) {
	u.parts = append(u.parts[:p.Number-1], ledger.PartName{Number: p.Number, ETag: p.ETag})
	u.sent = append(u.sent[:p.Number-1], body)
}

// cut is a range of bytes that holds at least one of them.
func cut(data []byte, r *object.Range) []byte {
	if data == nil || r == nil {
		return data
	}
	if r.Offset < 0 {
		return data[max(0, int64(len(data))+r.Offset):]
	}
	return data[r.Offset:min(int64(len(data)), end(r.Offset, r.Length))]
}

// whole is the bytes of all parts; nil if those of one are not known.
func (u *multipart) whole() []byte {
	if slices.ContainsFunc(u.sent, func(part []byte) bool { return part == nil }) {
		return nil
	}
	return bytes.Join(u.sent, nil)
}

// wait lets parts grow old where they decay, until one has decayed, or for an hour: nothing
// of the client's is under way. Now and then the same bytes are completed before, as those
// of another upload, or it waits for somebody to find what has decayed.
func (u *multipart) wait() error {
	a := u.a
	h := draw(a.w.cfg.Seed, uint64(u.op.number), 94)
	if !a.w.composes() || !a.w.decays() || h%4 == 0 {
		return nil
	}
	if h>>16%3 == 0 {
		if err := (&multipart{a: a, op: u.op}).write(u.sent); err != nil {
			return err
		}
	}
	before := a.w.now
	a.idle = true
	for range 12 {
		if a.pause(5 * time.Minute); u.decayed() {
			a.pause(time.Duration(h>>8%2) * 15 * time.Minute)
			break
		}
	}
	if a.idle = false; a.w.now.Sub(before) >= safety.MultipartStale/2 {
		a.op.faulted = true // the upload may have been given up as stale
	}
	return nil
}

// refused gives an upload up of which a part is known to have decayed.
func (u *multipart) refused(err error) error {
	if errors.Is(err, lethe.ErrInvalidPart) && u.decayed() {
		return errors.Join(errLeft, err)
	}
	return err
}

// decayed says that a part has.
func (u *multipart) decayed() bool {
	o := u.a.w.oracle
	return slices.ContainsFunc(o.view.Blobs, func(b ledger.Blob) bool { return b.UploadID == u.id && o.damaged[b.ID] != nil })
}

// composed excuses a content that was made of parts which had decayed while nobody knew:
// a segment has nothing else, and this step took nothing from it. The excuse ends as any
// other does.
func (o *oracle) composed(content lethe.ID) bool {
	gone := false
	for at, sound := range o.pieces() {
		if at.content != content || sound {
			continue
		}
		if gone = true; !o.decayedPart(at) || o.hadSound(at) {
			return false
		}
	}
	if gone {
		o.ruined[content] = true
	}
	return gone
}

// decayedPart says that this step made a segment of a part that has decayed, and that it
// could not know of.
func (o *oracle) decayedPart(at piece) bool {
	return slices.ContainsFunc(o.view.Blobs, func(b ledger.Blob) bool {
		return b.ContentID == at.content && b.Segment == at.segment && b.State == lethe.Live && o.last[b.ID].UploadID != "" &&
			o.damaged[b.ID] != nil && !b.Suspect
	})
}

// hadSound says that before this step a segment had a copy which has not decayed.
func (o *oracle) hadSound(at piece) bool {
	for id, b := range o.last {
		if b.ContentID == at.content && b.Segment == at.segment && b.State == lethe.Live && !o.lost[id] {
			return true
		}
	}
	return false
}
