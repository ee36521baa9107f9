package sim

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// moves is the state graph of a blob; 0 is "no row".
var moves = map[lethe.State][]lethe.State{
	0:               {lethe.Pending},
	lethe.Pending:   {lethe.Live, lethe.Condemned},
	lethe.Live:      {lethe.Condemned},
	lethe.Condemned: {0, lethe.Dead},
	lethe.Dead:      {0, lethe.Condemned},
}

// states: blobs move along the graph only, and no name is used twice.
func (o *oracle) states() error {
	now := make(map[lethe.ID]ledger.Blob, len(o.view.Blobs))
	for _, b := range o.view.Blobs {
		now[b.ID] = b
		old, was := o.last[b.ID]
		switch {
		case !was && o.late[b.ID] && b.State == lethe.Condemned:
		case !was && o.seen[b.ID] && o.w.orphans[b.ID] == nil:
			return broken("blob %s came back: a name was used twice", b.ID)
		case !was && b.State == lethe.Condemned:
			if err := o.orphaned(b); err != nil {
				return err
			}
		case old.State != b.State && !allowed(old.State, b.State):
			return broken("blob %s went from %s to %s", b.ID, named(old.State.String()), named(b.State.String()))
		case old.State == lethe.Live && b.State == lethe.Condemned && b.ContentID != "":
			if err := o.beside(b); err != nil {
				return err
			}
		}
		o.seen[b.ID] = true
	}
	for id, old := range o.last {
		if _, there := now[id]; !there && !allowed(old.State, 0) {
			return broken("the row of blob %s vanished while %s", id, old.State)
		}
	}
	o.last = now
	return nil
}

// fenced: what a claim's holder records touches only rows that carry its fence.
func (o *oracle) fenced(sc scope) error {
	if sc.fence == 0 {
		return nil
	}
	now := make(map[lethe.ID]ledger.Blob, len(o.view.Blobs))
	for _, b := range o.view.Blobs {
		now[b.ID] = b
	}
	for _, id := range sc.blobs {
		if old, was := o.last[id]; was && old != now[id] && old.Claim.Fence != sc.fence {
			return broken("blob %s, claimed under fence %d, was changed under fence %d", id, old.Claim.Fence, sc.fence)
		}
	}
	return nil
}

// claimed is a blob under a claim.
type claimed struct {
	blob  lethe.ID
	fence int64
}

// takenOver notes the claims that the step under way ended for their holders.
func (o *oracle) takenOver() {
	for _, b := range o.view.Blobs {
		if old := o.last[b.ID].Claim.Fence; old != 0 && old != b.Claim.Fence {
			o.overdue[claimed{b.ID, old}] = true
		}
	}
}

// settles counts a settle that comes when its claim has been taken over: of a holder
// that slept.
func (o *oracle) settles(sc scope) {
	if slices.ContainsFunc(sc.blobs, func(id lethe.ID) bool { return o.overdue[claimed{id, sc.fence}] }) {
		o.w.reached.Overtaken++
	}
}

func allowed(from, to lethe.State) bool {
	for _, s := range moves[from] {
		if s == to {
			return true
		}
	}
	return false
}

// books: references and counters equal a recount of the rows.
func (o *oracle) books() error {
	refs := make(map[lethe.ID]int64)
	for _, x := range o.view.Objects {
		refs[x.ContentID]++
	}
	for _, e := range o.view.Trash {
		refs[e.Object.ContentID]++
	}
	open := make(map[ledger.ContentKey]bool, len(o.view.Contents))
	for _, c := range o.view.Contents {
		if open[c.ContentKey] && !c.Closed {
			return broken("content %s exists twice and both take references", c.ID)
		}
		open[c.ContentKey] = open[c.ContentKey] || !c.Closed
		if c.Refs != refs[c.ID] || c.Refs <= 0 {
			return broken("content %s has %d references, its count says %d", c.ID, refs[c.ID], c.Refs)
		}
		delete(refs, c.ID)
	}
	delete(refs, "")
	for id := range refs {
		return broken("content %s is referenced but has no row", id)
	}
	return errors.Join(o.totals(), o.counted())
}

// counted: what each bucket says of its objects and holds equals a recount.
func (o *oracle) counted() error {
	rows := 0
	for _, b := range o.view.Buckets {
		want := ledger.BucketTotal{ID: b.ID, Name: b.Name}
		for i := range o.view.Objects {
			if x := &o.view.Objects[i]; x.BucketID == b.ID {
				want.Objects++
				want.Bytes += x.Size
			}
		}
		for _, h := range o.holds {
			if h.Bucket == b.Name {
				want.Holds++
			}
		}
		if b != want {
			return broken("bucket %s counts %+v, its rows are %+v", b.Name, b, want)
		}
		rows += int(want.Objects)
	}
	if rows != len(o.view.Objects) {
		return broken("%d objects lie in buckets that have no counters", len(o.view.Objects)-rows)
	}
	return nil
}

func (o *oracle) totals() error {
	type cell struct {
		backend string
		state   lethe.State
	}
	n, size := make(map[cell]int64), make(map[cell]int64)
	for _, b := range o.view.Blobs {
		n[cell{b.Backend, b.State}]++
		size[cell{b.Backend, b.State}] += b.Size
	}
	for _, c := range o.view.Contents {
		if c.Inline {
			n[cell{ledger.InLedger, lethe.Live}]++
			size[cell{ledger.InLedger, lethe.Live}] += c.Size
		}
	}
	for _, t := range o.view.Totals {
		c := cell{t.Backend, t.State}
		if t.Blobs != n[c] || t.Bytes != size[c] {
			return broken("counter %s/%s says %d blobs of %d bytes, the rows %d of %d", t.Backend, t.State, t.Blobs, t.Bytes, n[c], size[c])
		}
		delete(n, c)
	}
	for c, k := range n {
		return broken("%d blobs %s on %s are not counted", k, c.state, c.backend)
	}
	return nil
}

// bytes: what is live lies on its backend, whole; what lies there has a row; and
// every live blob belongs to a content or to a part of an open upload.
func (o *oracle) bytes() error {
	contents := make(map[lethe.ID]bool, len(o.view.Contents))
	for _, c := range o.view.Contents {
		contents[c.ID] = true
	}
	parts := make(map[lethe.ID]bool, len(o.view.Parts))
	for _, p := range o.view.Parts {
		parts[p.BlobID] = true
	}
	for _, b := range o.view.Blobs {
		if b.State != lethe.Live {
			continue
		}
		if !contents[b.ContentID] && !parts[b.ID] {
			return broken("blob %s is live but nothing refers to it", b.ID)
		}
		if err := o.intact(b); err != nil {
			return err
		}
	}
	if err := cmp.Or(o.inline(), o.replicated()); err != nil {
		return err
	}
	return o.explained()
}

// intact compares a live blob with its bytes.
func (o *oracle) intact(b ledger.Blob) error {
	if o.lost[b.ID] {
		return nil
	}
	data, ok := o.w.disks[b.Backend].Bytes(lethe.BlobKey(o.w.store, b.ID))
	if !ok {
		return broken("live blob %s has no bytes on %s", b.ID, b.Backend)
	}
	if len(data) == 0 || o.proven[b.ID] == &data[0] {
		return nil
	}
	if sum := sha256.Sum256(data); int64(len(data)) != b.Size || hex.EncodeToString(sum[:]) != b.Digest {
		return broken("live blob %s has other bytes than its row says", b.ID)
	}
	o.proven[b.ID] = &data[0]
	return nil
}

// explained: no key without a row.
func (o *oracle) explained() error {
	for _, id := range o.w.backends() {
		for _, key := range o.w.disks[id].Keys() {
			if err := o.landed(id, key); err != nil {
				return err
			}
		}
	}
	return nil
}

// landed: bytes appear only under a name that has a row on that backend.
func (o *oracle) landed(backend, key string) error {
	id := blobID(o.w.store, key)
	if id == "" && (o.w.isEpoch(key) || o.w.foreigner(key)) || id != "" && o.w.orphans[id] != nil {
		return nil
	}
	if b, ok := o.last[id]; (!ok || b.Backend != backend) && !o.w.strays(backend, key) {
		return broken("key %s on %s has no row", key, backend)
	}
	return nil
}

// deleting: a delete is issued for blobs that are durably condemned and claimed.
func (o *oracle) deleting(backend string, keys []string) error {
	for _, key := range keys {
		if o.w.isEpoch(key) {
			if err := o.w.confirmedBeyond(backend, key); err != nil {
				return err
			}
			continue
		}
		b, ok := o.last[blobID(o.w.store, key)]
		if !ok || b.State != lethe.Condemned || b.Claim.Fence == 0 {
			return broken("a delete was issued for %s, which is %s (fence %d)", key, b.State, b.Claim.Fence)
		}
	}
	return nil
}

// removing: whenever a delete lands, however late, nothing refers to its bytes.
func (o *oracle) removing(keys []string) error {
	for _, key := range keys {
		if b := o.last[blobID(o.w.store, key)]; b.State == lethe.Live || b.State == lethe.Pending {
			return broken("a late delete hits %s, which is %s", key, b.State)
		}
	}
	return nil
}

// read puts an object's bytes together from the backends, as the rows say.
func (o *oracle) read(x ledger.Object) ([]byte, error) {
	if x.Size == 0 {
		return []byte{}, nil
	}
	if b := o.body(x.ContentID); b.Inline() {
		return bytes.Clone(b.Bytes), nil
	}
	var data []byte
	for segment := 0; int64(len(data)) < x.Size; segment++ {
		piece, err := o.segment(x.ContentID, segment)
		if err != nil {
			return nil, err
		}
		data = append(data, piece...)
	}
	if int64(len(data)) != x.Size {
		return nil, broken("object of %d bytes has segments of %d", x.Size, len(data))
	}
	return bytes.Clone(data), nil
}

// body returns the inline bytes of a content, if it has any.
func (o *oracle) body(content lethe.ID) ledger.Body {
	for _, b := range o.view.Bodies {
		if b.Content == content {
			return b.Body
		}
	}
	return ledger.Body{}
}

// inline: exactly the inline contents have bytes in the ledger, and those are theirs.
func (o *oracle) inline() error {
	n := 0
	for _, c := range o.view.Contents {
		if !c.Inline {
			continue
		}
		n++
		if b := o.body(c.ID); b.Check(c.Size) != nil || b.Hash() != c.Digest {
			return broken("inline content %s has %d bytes in the ledger that are not its own", c.ID, len(b.Bytes))
		}
	}
	if n != len(o.view.Bodies) {
		return broken("the ledger has the bytes of %d inline contents, and %d are there", len(o.view.Bodies), n)
	}
	return nil
}

func (o *oracle) segment(content lethe.ID, n int) ([]byte, error) {
	for _, b := range o.view.Blobs {
		if b.ContentID != content || b.Segment != n || b.State != lethe.Live || o.lost[b.ID] {
			continue
		}
		if data, ok := o.w.disks[b.Backend].Bytes(lethe.BlobKey(o.w.store, b.ID)); ok {
			return data, nil
		}
	}
	return nil, broken("segment %d of content %s has no live bytes", n, content)
}
