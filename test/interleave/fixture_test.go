package interleave_test

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/ledgertest"
	"github.com/lethe-storage/lethe/ledger/sqlledger"
	"github.com/lethe-storage/lethe/lifecycle"
	"github.com/lethe-storage/lethe/receipt"
)

// fixture names the rows that methods meet on. What each actor needs for itself is
// there once for each.
type fixture struct {
	store lethe.ID
	now   lethe.Time
	op    [most]lethe.ID
	// sent are uploads of a body that wait for their commit.
	sent map[string][most]ledger.Uploaded
	// parts are uploaded for a number of the upload that is named "up".
	parts map[int][most]ledger.PartCommit

	versions map[string]ledger.Object // by key
	uploads  map[string]ledger.Upload
	stored   map[string][]ledger.Part // by upload

	promo, idle        ledger.Commit // of silent intents: claimed, and not
	intents            int64         // the fence under which promo is claimed
	deletes            int64         // the fence under which the first condemned blob is
	condemned, dead    []ledger.Blob
	placed             int64         // the fence of claimed placements
	solo               []ledger.Blob // two copies of one content
	one, lost          ledger.Blob   // lost has no sound copy
	copied, copiedPart ledger.Blob   // pending copies, of one and of a part
	leaving            ledger.Blob   // pending copy of an inline content
	walk, tapeWalk     ledger.Walk
	orphan             string // a key
	run                lethe.ID
	trashed, purgeable ledger.TrashEntry
	epoch              int64
	segment            receipt.Segment
	disk               ledger.Backend
	empty              lethe.ID // of bucket e
}

const (
	gracePlaced = time.Hour
	owner       = "owner"
)

// builder makes the fixture.
type builder struct {
	*world
	db  *sqlledger.DB
	ids *ledgertest.IDs
	f   *fixture
}

// build makes the rows, with a clock that goes on for two days.
func (w *world) build() *fixture {
	w.Helper()
	b := &builder{w, w.actors[0].db, ledgertest.NewIDs(1000), &fixture{
		sent: map[string][most]ledger.Uploaded{}, parts: map[int][most]ledger.PartCommit{},
		versions: map[string]ledger.Object{}, uploads: map[string]ledger.Upload{}, stored: map[string][]ledger.Part{},
	}}
	b.places()
	b.early()
	b.clock.Advance(2 * time.Hour)
	b.engine()
	b.clock.Advance(50 * time.Hour)
	b.late()
	b.placements()
	b.walks()
	b.clock.Advance(2 * time.Second)
	b.ok(b.db.StartRun(b.ctx, ledger.Run{ID: b.id(), Routine: "fixture", Worker: "fixture"})) // saves the clock
	b.f.now = b.clock.Now()
	for i := range b.f.op {
		b.f.op[i] = b.id()
	}
	return b.f
}

func (b *builder) ok(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// got unwraps an answer.
func got[T any](v T, err error) func(*builder) T {
	return func(b *builder) T {
		b.Helper()
		b.ok(err)
		return v
	}
}

func (b *builder) id() lethe.ID { return lethe.NewID(b.clock.Now(), b.ids) }

func sum(body string) string {
	h := sha256.Sum256([]byte(body))
	return hex.EncodeToString(h[:])
}

func etag(body string) string { return sum(body)[:8] }

// reference is a commit of a body that is not uploaded.
func reference(op lethe.ID, bucket, key, body string) ledger.Commit {
	size := int64(len(body))
	return ledger.Commit{
		Op: op, What: "put",
		Object:  ledger.Object{Bucket: bucket, Key: key, Size: size, ETag: etag(body)},
		Content: ledger.ContentKey{Kind: lethe.Whole, Digest: sum(body), Size: size},
	}
}

// send begins the write of a body.
func (b *builder) send(body string) ledger.Uploaded {
	b.Helper()
	up := ledger.Uploaded{Blob: b.id(), Size: int64(len(body)), Digest: sum(body), CRC32C: 7}
	got(b.db.Begin(b.ctx, ledger.Intent{ID: up.Blob, Backend: "disk", Size: up.Size}))(b)
	return up
}

// put writes an object; ttl 0 is none.
func (b *builder) put(bucket, key, body string, ttl time.Duration) ledger.Object {
	b.Helper()
	c := reference(b.id(), bucket, key, body)
	c.TTL = ttl
	c.Blobs = []ledger.Uploaded{b.send(body)}
	o := got(b.db.Commit(b.ctx, c))(b).Object
	b.f.versions[bucket+"/"+key] = o
	b.clock.Advance(time.Second)
	return o
}

// inline writes an object whose bytes lie in the ledger.
func (b *builder) inline(key, body string, ttl time.Duration) {
	b.Helper()
	c := reference(b.id(), "b", key, body)
	c.TTL, c.Inline = ttl, ledger.NewBody(sum(body), []byte(body))
	b.f.versions["b/"+key] = got(b.db.Commit(b.ctx, c))(b).Object
	b.clock.Advance(time.Second)
}

func (b *builder) remove(bucket, key string) {
	b.Helper()
	got(b.db.Delete(b.ctx, ledger.Deletion{Op: b.id(), Bucket: bucket, Items: []ledger.DeleteItem{{Key: key}}}))(b)
}

// blob is the only live blob of a content.
func (b *builder) blob(content lethe.ID) ledger.Blob {
	b.Helper()
	list := got(b.db.ContentBlobs(b.ctx, content))(b)
	if len(list) != 1 {
		b.Fatalf("content %s has blobs %+v", content, list)
	}
	return list[0]
}

// places makes backends and buckets.
func (b *builder) places() {
	b.Helper()
	for _, x := range []ledger.Backend{{ID: "disk"}, {ID: "tape"}, {ID: "small", Quota: 15}, {ID: "attic", Draining: true}} {
		got(b.db.AddBackend(b.ctx, x))(b)
	}
	for _, x := range []ledger.Bucket{
		{Name: "b"}, {Name: "u", BucketSettings: ledger.BucketSettings{Undo: time.Hour}},
		{Name: "q", BucketSettings: ledger.BucketSettings{QuotaObjects: 2}}, {Name: "e"},
		{Name: "f", BucketSettings: ledger.BucketSettings{QuotaObjects: 3, Evict: ledger.Eviction{Order: ledger.EvictByRead, High: 60, Low: 40}}},
		{Name: "r", BucketSettings: ledger.BucketSettings{DefaultIdle: 300 * time.Hour}},
	} {
		x.Owner = owner
		b.f.empty = got(b.db.CreateBucket(b.ctx, x))(b).ID
	}
	b.f.epoch = 4
	b.ok(b.db.SetEpoch(b.ctx, "disk", 4, 4))
	b.f.store = got(b.db.Identity(b.ctx))(b).ID
	b.ok(b.db.PutDocument(b.ctx, ledger.Document{Bucket: "b", Kind: "policy", Body: []byte("{}")}))
	got(b.db.SetRules(b.ctx, ledger.RulesChange{Bucket: "r", By: "operator", Rules: lifecycle.Rules{
		{ID: "tmp", Prefix: "tmp/", Days: 1}, {ID: "abort", Whole: true, AbortDays: 1},
	}}))(b)
	got(b.db.AddAccessKey(b.ctx, ledger.AccessKey{ID: "key", Secret: "secret"}))(b)
	got(b.db.AddAdminToken(b.ctx, ledger.AdminToken{ID: "t", Name: "token", Role: "viewer", Hash: "h"}, 0))(b)
	b.ok(b.db.BeatInstance(b.ctx, "i", ledger.InstanceInfo{}))
}

// early makes what will be old.
func (b *builder) early() {
	b.Helper()
	b.put("r", "tmp/x", "ruled", 0)
	b.put("r", "log/y", "logged", 0)
	for _, key := range []string{"old", "mid", "young"} {
		b.put("f", key, "fills", 0)
	}
	b.put("b", "due", "one", 20*time.Hour)
	b.put("b", "a", "one", 0)
	b.inline("idue", "inline", 20*time.Hour)
	for _, key := range []string{"h/x", "g/x"} {
		b.put("b", key, "held", time.Hour)
		got(b.db.AddHold(b.ctx, ledger.Hold{Bucket: "b", Scope: ledger.HoldPrefix, Key: key[:2], By: "fixture"}))(b)
	}
	for _, key := range []string{"k2", "k3"} {
		b.put("u", key, "binned", 0)
		b.remove("u", key)
	}
	for _, key := range []string{"z1", "z2", "z3", "z4", "z5", "z6"} {
		b.put("b", key, "dead "+key, 0)
		b.remove("b", key)
	}
	for name, at := range map[string]*ledger.Commit{"promo": &b.f.promo, "idle": &b.f.idle} {
		*at = reference(lethe.NewID(b.clock.Now(), ledgertest.NewIDs(uint64(len(name)))), "b", "a", name)
	}
	for _, c := range []*ledger.Commit{&b.f.promo, &b.f.idle} {
		c.Blobs = []ledger.Uploaded{{Blob: b.id(), Size: c.Object.Size, Digest: c.Content.Digest}}
		got(b.db.Begin(b.ctx, ledger.Intent{ID: c.Blobs[0].Blob, Backend: "disk", Size: c.Object.Size, Promotion: &ledger.Promotion{Commit: *c}}))(b)
		b.clock.Advance(time.Second)
	}
	late := b.send("late")
	b.clock.Advance(time.Second)
	b.ok(b.db.Abandon(b.ctx, late.Blob, true))
	for name, at := range map[string][2]string{"up": {"b", "m"}, "up2": {"b", "m2"}, "upr": {"r", "m"}} {
		u := got(b.db.CreateUpload(b.ctx, ledger.Upload{ID: lethe.ID("upload" + name), Bucket: at[0], Key: at[1], Owner: owner}))(b)
		b.f.uploads[name] = u
	}
	for _, name := range []string{"up", "up2", "upr"} {
		for n, body := range []string{"part one", "part two"} {
			p := got(b.db.CommitPart(b.ctx, b.part(name, n+1, body)))(b)
			b.f.stored[name] = append(b.f.stored[name], p)
		}
	}
	b.orphans()
	b.f.run = b.id()
	b.ok(b.db.StartRun(b.ctx, ledger.Run{ID: b.f.run, Routine: "verify", Worker: "w"}))
}

// part uploads a part, still to be committed.
func (b *builder) part(upload string, number int, body string) ledger.PartCommit {
	b.Helper()
	u := b.f.uploads[upload]
	p := ledger.Part{UploadID: u.ID, Number: number, BlobID: b.id(), Size: int64(len(body)), ETag: etag(body), Digest: sum(body)}
	got(b.db.Begin(b.ctx, ledger.Intent{ID: p.BlobID, Backend: "disk", Size: p.Size, UploadID: u.ID, Part: number}))(b)
	return ledger.PartCommit{Part: p, CRC32C: 7}
}

// orphans has a walk see a name without a row for the first time.
func (b *builder) orphans() {
	b.Helper()
	b.f.orphan = lethe.BlobKey(b.f.store, b.id())
	walk := b.wholeWalk()
	got(b.db.FinishWalk(b.ctx, ledger.WalkEnd{ID: walk.ID, Outcome: "ok"}))(b)
}

// wholeWalk is a walk over the disk that has seen the orphan, and has not ended.
func (b *builder) wholeWalk() ledger.Walk {
	b.Helper()
	walk := got(b.db.BeginWalk(b.ctx, ledger.WalkStart{ID: b.id(), Backend: "disk", GiveUp: opsKept}))(b)
	got(b.db.Sight(b.ctx, ledger.Sighting{Walk: walk.ID, Findings: []ledger.Finding{{Key: b.f.orphan, Kind: ledger.FoundOrphan, Size: 5}}}))(b)
	b.ok(b.db.SaveWalk(b.ctx, ledger.WalkStep{ID: walk.ID, From: walk.Place, To: ledger.WalkDone}))
	return walk
}

// engine does what routines do to some of it: they park, claim and stop.
func (b *builder) engine() {
	b.Helper()
	got(b.db.Expire(b.ctx, ledger.Batch{Limit: 100}))(b) // defers what is held
	b.ok(b.db.ReleaseHold(b.ctx, ledger.Hold{Bucket: "b", Scope: ledger.HoldPrefix, Key: "g/"}))
	got(b.db.Purge(b.ctx, ledger.Batch{Limit: 100, Limits: ledger.Limits{Purge: ledger.Limit{Ask: 1}}}))(b) // is stopped
	c := got(b.db.ClaimCondemned(b.ctx, ledger.ClaimRequest{Worker: "w", Backend: "disk", Limit: 6}))(b)
	s := ledger.Settlement{Fence: c.Fence}
	for i, x := range c.Blobs {
		s.Items = append(s.Items, ledger.SettleItem{ID: x.ID, Result: ledger.Failed, Error: "no", RetryAt: c.Now.Add(time.Duration(i) * time.Second), Dead: i > 3})
	}
	got(b.db.Settle(b.ctx, s))(b)
	b.f.condemned, b.f.dead = c.Blobs[:4], c.Blobs[4:]
	claimed := got(b.db.ClaimCondemned(b.ctx, ledger.ClaimRequest{Worker: "w", Backend: "disk", Limit: 1, Only: []lethe.ID{c.Blobs[0].ID}}))(b)
	b.f.deletes = claimed.Fence
	b.f.intents = got(b.db.ClaimIntents(b.ctx, ledger.ClaimRequest{Worker: "w", Limit: 1, MinAge: time.Hour}))(b).Fence
}

// late makes what is fresh.
func (b *builder) late() {
	b.Helper()
	b.put("b", "t1", "two two", 0)
	b.put("b", "t2", "two two", 0)
	b.put("b", "s", "solo", 0)
	b.f.lost = b.blob(b.put("b", "lost", "lost", 0).ContentID)
	got(b.db.MarkSuspect(b.ctx, []lethe.ID{b.f.lost.ID}, "missing"))(b)
	b.inline("i", "inline", 0)
	b.inline("is", "inline solo", 0)
	b.put("q", "x", "quota", 0)
	b.once()
	b.put("u", "k", "binned", 0)
	b.remove("u", "k")
	for _, e := range got(b.db.Trash(b.ctx, ledger.TrashQuery{}))(b) {
		b.f.purgeable = b.f.trashed
		b.f.trashed = e
	}
	got(b.db.SetRules(b.ctx, ledger.RulesChange{Bucket: "r", By: "operator", Rules: lifecycle.Rules{
		{ID: "tmp", Prefix: "tmp/", Days: 1}, {ID: "abort", Whole: true, AbortDays: 1}, {ID: "log", Prefix: "log/", Days: 400},
	}}))(b) // begins a reapply
	for _, body := range []string{"one", "new", "solo", "inline solo", "lost"} {
		var list [most]ledger.Uploaded
		for i := range list {
			list[i] = b.send(body)
		}
		b.f.sent[body] = list
	}
	for _, number := range []int{1, 3} {
		var list [most]ledger.PartCommit
		for i := range list {
			list[i] = b.part("up", number, "part anew")
		}
		b.f.parts[number] = list
	}
	u := got(b.db.UnsealedReceipts(b.ctx, 2))(b)
	segment, err := receipt.Cut(b.f.store, u.Last, u.Batches, b.clock.Now())
	b.ok(err)
	b.f.segment = segment
}

// once makes an object that can be read once.
func (b *builder) once() {
	b.Helper()
	c := reference(b.id(), "b", "once", "secret")
	c.Object.ReadsLeft, c.Blobs = 1, []ledger.Uploaded{b.send("secret")}
	b.f.versions["b/once"] = got(b.db.Commit(b.ctx, c))(b).Object
}

// placements claims subjects, and begins copies of them.
func (b *builder) placements() {
	b.Helper()
	one, solo := b.f.versions["b/a"].ContentID, b.f.versions["b/s"].ContentID
	part := b.f.stored["up"][0].BlobID
	got(b.db.QueuePlacements(b.ctx, []ledger.Subject{{ID: part, Part: true, Leave: "disk"}, {ID: one}, {ID: solo}, {ID: b.f.versions["q/x"].ContentID}}))(b)
	got(b.db.MarkSound(b.ctx, []lethe.ID{b.blob(one).ID}, 0))(b)
	p := got(b.db.ClaimPlacements(b.ctx, ledger.PlacementClaim{Worker: "w", Lease: 10 * gracePlaced, Only: []lethe.ID{one, solo, part}}))(b)
	b.f.placed = p.Fence
	begin := func(source lethe.ID) ledger.Blob {
		return got(b.db.BeginCopy(b.ctx, ledger.CopyIntent{ID: b.id(), Backend: "tape", Source: source, Fence: p.Fence, Lease: gracePlaced}))(b)
	}
	b.f.one = b.blob(one)
	first := b.blob(solo)
	second := begin(first.ID)
	b.ok(b.db.CommitCopy(b.ctx, ledger.CopyCommit{Blob: second.ID, Source: first.ID, Digest: first.Digest, Fence: p.Fence, Lease: gracePlaced}))
	b.f.solo = []ledger.Blob{first, second}
	got(b.db.MarkSound(b.ctx, []lethe.ID{first.ID, second.ID}, 0))(b)
	b.f.copied, b.f.copiedPart = begin(b.f.one.ID), begin(part)
	b.f.leaving = got(b.db.BeginCopy(b.ctx, ledger.CopyIntent{ID: b.id(), Backend: "tape", Inline: b.f.versions["b/is"].ContentID}))(b)
}

// walks begins walks, one of which has seen the orphan again.
func (b *builder) walks() {
	b.Helper()
	b.f.walk = b.wholeWalk()
	b.f.tapeWalk = got(b.db.BeginWalk(b.ctx, ledger.WalkStart{ID: b.id(), Backend: "tape", GiveUp: opsKept}))(b)
	for _, x := range got(b.db.Backends(b.ctx))(b) {
		if x.ID == "disk" {
			b.f.disk = x
		}
	}
}
