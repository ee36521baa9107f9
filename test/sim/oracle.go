package sim

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/lifecycle"
	"github.com/lethe-storage/lethe/receipt"
)

// place is a key of a bucket.
type place struct{ bucket, key string }

// operation is one thing that a client does, and what it must come to.
type operation struct {
	kind    string
	number  int
	at      place
	body    []byte     // what a put stores; nil: does not matter
	new     bool       // only if nothing visible lies there
	source  lethe.ID   // the version that a copy or restore takes its bytes from
	from    place      // a copy's source
	found   lethe.ID   // the version that was resolved last
	foundAt lethe.Time // when one was first
	ids     []lethe.ID
	faulted bool       // met a fault, or slept beyond a grace
	lingers bool       // is there so that somebody is slow
	refused bool       // the client was told for certain that it did not happen
	met     []lethe.ID // copies that have decayed
	reading reading
	byKey   ledger.KeyTTL // of the key that writes
}

// oracle knows what must be true.
type oracle struct {
	w    *World
	ops  int
	view View
	// spare is the view before, whose memory the next one takes.
	spare View
	last  map[lethe.ID]ledger.Blob // blob rows after the last effect
	head  receipt.Head             // the chain of receipts after the last seal

	byOp     map[lethe.ID]*operation
	done     map[lethe.ID]bool // operations that the ledger said it applied
	bodies   map[lethe.ID][]byte
	promised map[lethe.ID]ledger.Commit // by blob
	begunAt  map[lethe.ID]int           // op -> effect at which its intent was begun
	changed  map[place]int              // effect at which a key last changed
	seen     map[lethe.ID]bool          // blob ids ever
	rules    map[string]lifecycle.Rules
	holds    []ledger.Hold       // that are set
	tallies  map[limitKey]*tally // of what is limited
	stopping []ledger.LimitState // by the step under way
	late     map[lethe.ID]bool   // blobs that may get a row once more: they were sent late
	overdue  map[claimed]bool    // claims that were taken over
	proven   map[lethe.ID]*byte  // blobs whose bytes were compared, by their address

	clock  lethe.Time        // no later than the ledger's
	lost   map[lethe.ID]bool // blobs whose backend was destroyed, or that decayed
	ruined map[lethe.ID]bool // contents that have no other copies
	known  map[lethe.ID]bool // contents that were there before
	// damaged are the blobs that decayed.
	damaged map[lethe.ID]*damage
	// sizes and sound are what replicated adds up; they keep their memory.
	sizes map[lethe.ID]int64
	sound map[piece]bool
	heard int64 // number of the last event that was looked at
	// granted and handed are the reads of versions: how many there may be, and were.
	granted, handed map[lethe.ID]int64
	noting          map[lethe.ID]lethe.Time // the reads that are being noted
}

func newOracle(w *World) *oracle {
	return &oracle{
		w: w, last: map[lethe.ID]ledger.Blob{}, byOp: map[lethe.ID]*operation{}, done: map[lethe.ID]bool{},
		bodies: map[lethe.ID][]byte{}, promised: map[lethe.ID]ledger.Commit{}, begunAt: map[lethe.ID]int{},
		changed: map[place]int{}, tallies: map[limitKey]*tally{}, rules: map[string]lifecycle.Rules{}, seen: map[lethe.ID]bool{}, late: map[lethe.ID]bool{}, overdue: map[claimed]bool{}, proven: map[lethe.ID]*byte{},
		lost: map[lethe.ID]bool{}, damaged: map[lethe.ID]*damage{}, ruined: map[lethe.ID]bool{}, known: map[lethe.ID]bool{},
		sizes: map[lethe.ID]int64{}, sound: map[piece]bool{}, granted: map[lethe.ID]int64{}, handed: map[lethe.ID]int64{}, noting: map[lethe.ID]lethe.Time{},
	}
}

// begun notes an intent, and what its reaper may do.
func (o *oracle) begun(in ledger.Intent) {
	if in.Promotion == nil {
		return
	}
	c := in.Promotion.Commit
	o.promised[in.ID] = c
	o.begunAt[c.Op] = o.w.effects
	o.wants(c.Op, nil)
}

// wants notes that the operation under way uses this id.
func (o *oracle) wants(id lethe.ID, source *ledger.Source) {
	if a := o.w.cur; a != nil && a.op != nil {
		if o.byOp[id] == nil {
			o.byOp[id] = a.op
			a.op.ids = append(a.op.ids, id)
		}
		if source != nil {
			a.op.source = source.ID
		}
	}
}

// updates notes that the row of a key may change its id and keep its bytes.
func (o *oracle) updates(u ledger.Update) {
	o.wants(u.Op, nil)
	if i := slices.IndexFunc(o.view.Objects, func(x ledger.Object) bool { return x.Bucket == u.Bucket && x.Key == u.Key }); i >= 0 {
		if op := o.byOp[u.Op]; op != nil {
			op.source = o.view.Objects[i].ID
		}
	}
}

func (o *oracle) entry(id lethe.ID) (ledger.TrashEntry, bool) {
	i := slices.IndexFunc(o.view.Trash, func(e ledger.TrashEntry) bool { return e.ID == id })
	if i < 0 {
		return ledger.TrashEntry{}, false
	}
	return o.view.Trash[i], true
}

func (o *oracle) restores(op lethe.ID, e ledger.TrashEntry, found bool) {
	o.wants(op, nil)
	if x := o.byOp[op]; x != nil && found {
		x.source = e.Object.ID
	}
}

// applied notes that the ledger did what an operation asked for: unless its client was
// told for certain that nothing happened, and nothing would.
func (o *oracle) applied(id lethe.ID, err error) {
	if err != nil {
		return
	}
	o.done[id] = true
	if op := o.byOp[id]; op != nil && op.refused && op.kind != "multipart" && op.kind != "vigil" {
		o.w.fail(broken("%s of %v was applied after its client was told that it had failed", named(op.kind), op.at))
	}
}

// finished holds what a client was told against what the ledger did. While the ledger's clock
// stands still, no read ends a doubt of that instant: a completion may be refused for it.
func (o *oracle) finished(op *operation, err error) error {
	happened := slices.ContainsFunc(op.ids, func(id lethe.ID) bool { return o.done[id] })
	switch {
	case err == nil && !happened && op.kind != "get" && op.kind != "list":
		return broken("%s of %v was acknowledged, but no transaction of it was ever applied", named(op.kind), op.at)
	case err != nil && !definite(err) && !errors.Is(err, errLeft) && !errors.Is(err, lethe.ErrUnverified) && !op.faulted && !op.reading.ruined:
		return broken("%s of %v failed although nothing went wrong: %w", named(op.kind), op.at, err)
	case err != nil && certain(err):
		op.refused = true
		if happened && op.kind != "multipart" && op.kind != "vigil" {
			return broken("%s of %v was refused (%w), but it was applied", named(op.kind), op.at, err)
		}
	}
	return nil
}

// certain errors promise that nothing happened and nothing will: all but one.
func certain(err error) bool {
	return !errors.Is(err, lethe.ErrUnknownOutcome) && !errors.Is(err, errLeft)
}

// definite errors refuse what was asked; others need a fault to be excused.
func definite(err error) bool {
	if errors.Is(err, lethe.ErrUnknownOutcome) || errors.Is(err, lethe.ErrUnavailable) || errors.Is(err, lethe.ErrReaped) {
		return false
	}
	for _, e := range []error{
		lethe.ErrPreconditionFailed, lethe.ErrNoSuchBucket, lethe.ErrNoSuchKey, lethe.ErrQuotaExceeded,
		lethe.ErrDigestMismatch, lethe.ErrIncompleteBody, lethe.ErrInvalidTTL, lethe.ErrNoRoom, lethe.ErrTrashNotFound,
		lethe.ErrHeld, lethe.ErrCounted,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// resolved holds a look-up against the rows.
func (o *oracle) resolved(bucket, key string, r ledger.Object, err error) error {
	i := slices.IndexFunc(o.view.Objects, func(x ledger.Object) bool { return x.Bucket == bucket && x.Key == key })
	visible := i >= 0 && visible(o.view.Objects[i], o.w.now)
	switch {
	case err == nil && !visible:
		return broken("%s/%s was resolved although it is gone or past its time", bucket, key)
	case err == nil && r.ID != o.view.Objects[i].ID:
		return broken("%s/%s was resolved to %s, the row is %s", bucket, key, r.ID, o.view.Objects[i].ID)
	case errors.Is(err, lethe.ErrNoSuchKey) && visible:
		return broken("%s/%s is there but was not found", bucket, key)
	}
	if a := o.w.cur; err == nil && a != nil && a.op != nil {
		if a.op.foundAt == 0 {
			a.op.foundAt = o.w.now
		}
		if a.op.found = r.ID; a.op.kind == "copy" && a.op.from == (place{bucket, key}) {
			a.op.source = r.ID
		}
	}
	return nil
}

// listed holds a listing, made just now, against the rows.
func (o *oracle) listed(bucket string, got []ledger.Object) error {
	want := map[string]lethe.ID{}
	for _, x := range o.view.Objects {
		if x.Bucket == bucket && visible(x, o.w.now) {
			want[x.Key] = x.ID
		}
	}
	for i, x := range got {
		if want[x.Key] != x.ID || i > 0 && got[i-1].Key >= x.Key {
			return broken("the listing of %s shows %q out of turn, or a version that is not there", bucket, x.Key)
		}
	}
	if len(got) != len(want) {
		return broken("the listing of %s shows %d objects of %d", bucket, len(got), len(want))
	}
	return nil
}

// wrote is called after every transaction that may have changed something: what
// changed must be within its scope, and every invariant must hold; also the rows that
// limits count in, which a step may change alone.
func (o *oracle) wrote(step Step, sc scope, err error) error {
	broke := o.checked(step, sc, err)
	if terr := o.notified(o.spare); broke == nil && terr != nil {
		broke = fmt.Errorf("after %s: %w", step, terr)
	}
	if serr := o.stop(); broke == nil && serr != nil {
		broke = fmt.Errorf("after %s: %w", step, serr)
	}
	if broke != nil || !o.w.limited() {
		return broke
	}
	if cerr := o.charged(); cerr != nil {
		return fmt.Errorf("after %s: %w", step, cerr)
	}
	return nil
}

func (o *oracle) checked(step Step, sc scope, err error) error {
	before := o.view
	o.clock = max(o.clock, o.w.now.Add(-o.w.doubts.behind))
	o.view, o.spare = emptied(o.spare), before
	if ierr := o.w.ledger.Inspect(&o.view); ierr != nil {
		return fmt.Errorf("inspect after %s: %w", step, ierr)
	}
	if cerr := o.chained(before, step); cerr != nil {
		return fmt.Errorf("after %s: %w", step, cerr)
	}
	if same(before, o.view) {
		return nil
	}
	if derr := o.diff(before, step, sc, err); derr != nil {
		return fmt.Errorf("after %s: %w", step, derr)
	}
	if kerr := o.kept(before, step); kerr != nil {
		return fmt.Errorf("after %s: %w", step, kerr)
	}
	if lerr := o.within(before, step, sc); lerr != nil {
		return fmt.Errorf("after %s: %w", step, lerr)
	}
	if berr := o.bounded(before, step); berr != nil {
		return fmt.Errorf("after %s: %w", step, berr)
	}
	if werr := o.weighed(before, step, sc); werr != nil {
		return fmt.Errorf("after %s: %w", step, werr)
	}
	if gerr := o.receipted(before); gerr != nil {
		return fmt.Errorf("after %s: %w", step, gerr)
	}
	if rerr := o.stamped(before, step, sc, err); rerr != nil {
		return fmt.Errorf("after %s: %w", step, rerr)
	}
	if step == "recover" {
		o.takenOver()
	}
	if ferr := o.fenced(sc); ferr != nil {
		return fmt.Errorf("after %s: %w", step, ferr)
	}
	if lerr := o.lettered(step, sc); lerr != nil {
		return fmt.Errorf("after %s: %w", step, lerr)
	}
	if werr := o.unburnt(sc); werr != nil {
		return fmt.Errorf("after %s: %w", step, werr)
	}
	if serr := o.summed(step); serr != nil {
		return fmt.Errorf("after %s: %w", step, serr)
	}
	if serr := o.states(); serr != nil {
		return fmt.Errorf("after %s: %w", step, serr)
	}
	if berr := o.books(); berr != nil {
		return fmt.Errorf("after %s: %w", step, berr)
	}
	if berr := o.bytes(); berr != nil {
		return fmt.Errorf("after %s: %w", step, berr)
	}
	return nil
}

// emptied returns a view without rows that keeps its memory.
func emptied(v View) View {
	return View{
		Objects: v.Objects[:0], Trash: v.Trash[:0], Contents: v.Contents[:0], Bodies: v.Bodies[:0], Blobs: v.Blobs[:0],
		Uploads: v.Uploads[:0], Parts: v.Parts[:0], Totals: v.Totals[:0], Buckets: v.Buckets[:0],
		Limits: v.Limits[:0],
	}
}

// same says that a step changed no row that an invariant speaks of. Backends
// change at steps of their own, which look after themselves.
func same(a, b View) bool {
	return slices.Equal(a.Blobs, b.Blobs) && slices.Equal(a.Contents, b.Contents) && len(a.Bodies) == len(b.Bodies) && slices.Equal(a.Totals, b.Totals) && slices.Equal(a.Buckets, b.Buckets) &&
		slices.EqualFunc(a.Objects, b.Objects, func(x, y ledger.Object) bool {
			return x.ID == y.ID && x.ContentID == y.ContentID && x.TTLAt == y.TTLAt && x.RuleAt == y.RuleAt &&
				x.RuleNumber == y.RuleNumber && x.ReadsLeft == y.ReadsLeft && x.IdleFor == y.IdleFor && x.IdleAt == y.IdleAt && x.ModifiedAt == y.ModifiedAt && maps.Equal(x.Tags, y.Tags)
		}) &&
		slices.EqualFunc(a.Trash, b.Trash, func(x, y ledger.TrashEntry) bool { return x.ID == y.ID && x.PurgeAt == y.PurgeAt }) &&
		slices.EqualFunc(a.Parts, b.Parts, func(x, y ledger.Part) bool { return x.UploadID == y.UploadID && x.BlobID == y.BlobID }) &&
		slices.EqualFunc(a.Uploads, b.Uploads, func(x, y ledger.Upload) bool { return x.ID == y.ID })
}

// diff holds every change of the object rows against what the step may do.
func (o *oracle) diff(before View, step Step, sc scope, err error) error {
	if err := cmp.Or(o.readsFall(before, step), o.keysEnd(before), o.evicted(before, sc)); err != nil {
		return err
	}
	if ierr := o.idleMoves(before, step); ierr != nil {
		return ierr
	}
	was, is := byPlace(before.Objects), byPlace(o.view.Objects)
	for at, old := range was {
		now, there := is[at]
		if there && now.ID == old.ID {
			continue
		}
		if derr := o.vanished(at, old, step, sc, err); derr != nil {
			return derr
		}
		if there {
			continue
		}
		o.changed[at] = o.w.effects
	}
	for at, now := range is {
		if old, there := was[at]; there && old.ID == now.ID {
			continue
		}
		old, there := was[at]
		if derr := o.appeared(at, now, step, sc); derr != nil {
			return derr
		}
		if op := o.byOp[now.ID]; op != nil && op.new && there && visible(old, o.w.now) {
			return broken("%v was replaced by a write that asked for nothing to be there", at)
		}
		o.changed[at] = o.w.effects
	}
	return o.trash(before, step, sc)
}

func byPlace(objects []ledger.Object) map[place]ledger.Object {
	m := make(map[place]ledger.Object, len(objects))
	for _, x := range objects {
		m[place{x.Bucket, x.Key}] = x
	}
	return m
}

// vanished says whether the step may take the row away.
func (o *oracle) vanished(at place, old ledger.Object, step Step, sc scope, err error) error {
	switch {
	case err != nil:
		return broken("%v vanished though the step failed: %w", at, err)
	case sc.due && o.ended(old) && sc.names(ledger.Named{Bucket: old.BucketID, Key: old.Key, ID: old.ID}):
		return nil
	case sc.bucket == at.bucket && slices.Contains(sc.keys, at.key), sc.room != nil && sc.room.Bucket == at.bucket:
		return nil
	}
	return broken("acknowledged object %v (%s, due %s) vanished", at, old.ID, old.DueAt())
}

// appeared says whether the row may be there, and whether its bytes are those
// that its client sent.
func (o *oracle) appeared(at place, now ledger.Object, step Step, sc scope) error {
	op := o.byOp[now.ID]
	switch {
	case sc.bucket != at.bucket || !slices.Contains(sc.keys, at.key):
		return broken("%v appeared out of nothing", at)
	case op == nil && step != "restore":
		return broken("%v appeared with the unknown version %s", at, now.ID)
	case op != nil && op.refused:
		return broken("%v appeared although its client was told that it had failed", at)
	case step == "promote" && o.changed[at] > o.begunAt[now.ID]:
		return broken("%v was promoted although the key was written or removed since", at)
	}
	if now.ContentID != "" && step != "restore" && step != "update" {
		if cerr := o.covered(o.spare, now.ContentID); cerr != nil {
			return cerr
		}
	}
	want := o.sent(op)
	if len(o.lost) > 0 && (o.excused(op, now.ContentID) || o.composed(now.ContentID)) {
		o.bodies[now.ID] = want // that is all that is known
		return nil
	}
	got, err := o.read(now)
	if err != nil {
		return broken("%v: %w", at, err)
	}
	if want != nil && !bytes.Equal(got, want) {
		return broken("%v has other bytes (%d) than its client sent (%d)", at, len(got), len(want))
	}
	o.bodies[now.ID] = got
	return nil
}

// trash holds the undo window: what was deleted or replaced in a bucket with one
// lies in the trash, and leaves it by restore or when its time has come.
func (o *oracle) trash(before View, step Step, sc scope) error {
	for _, e := range before.Trash {
		if slices.ContainsFunc(o.view.Trash, func(x ledger.TrashEntry) bool { return x.ID == e.ID }) {
			continue
		}
		if step == "purge" && !sc.names(ledger.Named{Key: string(e.ID), ID: e.ID}) {
			return broken("trash entry %s was purged by a plan that does not name it", e.ID)
		}
		if step != "restore" && (step != "purge" || e.PurgeAt > o.w.now) {
			return broken("trash entry %s (%s/%s) vanished before %s", e.ID, e.Object.Bucket, e.Object.Key, e.PurgeAt)
		}
	}
	return nil
}
