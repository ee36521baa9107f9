package sim

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"io"
	"math/rand/v2"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/object"
)

// small is the size up to which a body is held in memory in a simulated world, and
// block is what is verified at once: what is streamed has several.
const (
	small = 64
	block = 90
)

// corpus is the bodies that clients store: few, so that contents are shared;
// some above small, so that they are streamed; one empty.
var corpus = [][]byte{
	[]byte("seven b"), bytes.Repeat([]byte("river "), 8), bytes.Repeat([]byte("poppy"), 9),
	bytes.Repeat([]byte("a streamed body. "), 15), bytes.Repeat([]byte("forgetful "), 36), {},
}

var (
	bucketNames = []string{"plain", "undo"}
	keyNames    = []string{"a", "a/b", "c", "ü"}
)

// undoWindow is how long the bucket "undo" keeps what was deleted.
const undoWindow = 2 * time.Hour

// script is what one client does in its life, across crashes.
type script struct {
	index int
	next  int
	rng   *rand.Rand
	ops   []*operation
	do    []func(*actor, *operation) error
}

// newScript draws a client's operations beforehand, so that the schedule cannot
// change them.
func newScript(w *World, index int) *script {
	s := &script{index: index, rng: rand.New(rand.NewPCG(w.cfg.Seed, uint64(1000+index)))}
	for i := range w.cfg.Ops {
		s.draw(index*w.cfg.Ops+i, w.mood())
	}
	if index == 0 && w.dwells() {
		s.dwell()
	}
	return s
}

// kinds of operations with their weights.
var kinds = []struct {
	weight int
	kind   string
	make   func(*rand.Rand, *operation) func(*actor, *operation) error
}{
	{26, "put", makePut}, {22, "get", makeGet}, {14, "delete", makeDelete}, {9, "copy", makeCopy},
	{14, "multipart", makeMultipart}, {3, "list", makeList}, {4, "vigil", makeVigil}, {6, "touch", makeTouch}, {6, "restore", makeRestore}, {3, "purge", makePurge},
	{5, "rules", makeRules}, {5, "retag", makeRetag},
}

func (s *script) draw(number int, m mood) {
	switch {
	case m == dropping && s.rng.IntN(2) == 0:
		s.fight(number)
		return
	case m == lasting && s.rng.IntN(6) == 0:
		s.leave(number)
		return
	}
	total := 0
	for _, k := range kinds {
		total += k.weight
	}
	n := s.rng.IntN(total)
	for _, k := range kinds {
		if n -= k.weight; n >= 0 {
			continue
		}
		op := &operation{kind: k.kind, number: number, at: place{pick(s.rng, bucketNames), pick(s.rng, keyNames)}}
		s.do = append(s.do, k.make(s.rng, op))
		s.ops = append(s.ops, op)
		return
	}
}

// fight is a put or a delete of the one key that everybody wants.
func (s *script) fight(number int) {
	op := &operation{kind: "put", number: number, at: place{"plain", keyNames[0]}}
	do := makePut
	if s.rng.IntN(3) == 0 {
		op.kind, do = "delete", makeDelete
	}
	s.do = append(s.do, do(s.rng, op))
	s.ops = append(s.ops, op)
}

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

// client goes through what is left of its script.
func client(s *script) func(*actor) {
	return func(a *actor) {
		for s.more(a.w) {
			s.linger(a.w)
			op, do := s.ops[s.next], s.do[s.next]
			s.next++
			if a.w.cfg.NoOp[op.number] {
				continue
			}
			a.op = op
			a.begins(op.number)
			op.faulted, op.reading = a.w.destroyed, reading{harmed: a.w.destroyed, began: a.w.effects} // it may ask for what was lost
			a.w.oracle.ops++
			a.w.note("%s begins %s %v", a.name, op.kind, op.at)
			err := do(a, op)
			a.w.note("%s ends %s %v: %s", a.name, op.kind, op.at, class(err))
			a.w.say(err)
			a.w.fail(a.w.oracle.finished(op, err))
			a.w.fail(a.w.rowless(a))
			a.w.fail(a.w.oracle.noted(op))
			a.op = nil
		}
	}
}

// class names how something ended, for the trace: error texts are not part of it.
func class(err error) string {
	switch {
	case err == nil:
		return "done"
	case definite(err):
		return "refused"
	case errors.Is(err, lethe.ErrUnknownOutcome):
		return "unknown"
	}
	return "failed"
}

// life draws a time to live: mostly none.
func life(r *rand.Rand) time.Duration {
	if r.IntN(3) > 0 {
		return 0
	}
	return time.Duration(1+r.IntN(40)) * time.Minute
}

func makePut(r *rand.Rand, op *operation) func(*actor, *operation) error {
	op.body = pick(r, corpus)
	ttl, pace := life(r), pace(r)
	var cond ledger.Precondition
	if r.IntN(6) == 0 {
		cond.IfNoneMatch, op.new = "*", true
	}
	declared, digest := int64(len(op.body)), ""
	if r.IntN(10) == 0 {
		digest = hex.EncodeToString(make([]byte, md5.Size)) // wrong on purpose
	}
	return func(a *actor, op *operation) error {
		_, err := a.proc.node.objects.Put(context.Background(), object.PutRequest{
			Bucket: op.at.bucket, Key: op.at.key, Body: &slowBody{a: a, data: op.body, pace: pace},
			Size: declared, MD5: digest, TTL: ttl, If: cond, Reads: a.w.grant(op), Idle: a.w.idleTime(op), ByKey: a.w.keyTTL(op),
		})
		if digest != "" && err == nil {
			a.w.fail(broken("%v took a body that does not match its digest", op.at))
		}
		return err
	}
}

// pace draws how slowly a client sends or reads: now and then with minutes
// between two chunks, or longer than any grace.
func pace(r *rand.Rand) time.Duration {
	if r.IntN(5) > 0 {
		return 0
	}
	if r.IntN(4) == 0 {
		return time.Duration(r.IntN(90)) * time.Minute
	}
	return time.Duration(r.IntN(240)) * time.Second
}

// slowBody is a client's upload: its actor waits between the chunks.
type slowBody struct {
	a      *actor
	data   []byte
	off    int
	pace   time.Duration
	paused bool
}

// slow is the least time between two chunks of a body that makes its client slow.
const slow = 10 * time.Second

func (b *slowBody) Read(p []byte) (int, error) {
	if b.off == len(b.data) {
		return 0, io.EOF
	}
	b.a.pause(b.pace)
	if b.pace >= slow && !b.paused {
		b.paused = true
		b.a.w.reached.Writers++
	}
	n := copy(p[:min(len(p), chunk)], b.data[b.off:])
	b.off += n
	return n, nil
}

// pause lets others run, and at least d pass.
func (a *actor) pause(d time.Duration) {
	before := a.w.now
	a.asleep = before.Add(d)
	if a.dead || !a.park(effect{"pause", ""}) {
		panic(errCrash)
	}
	a.slept(before)
}

// slept notes that the actor did not run for so long that its reader's grace
// could have passed.
func (a *actor) slept(since lethe.Time) {
	if a.op != nil && !a.idle && a.w.now.Sub(since) >= safety.ReadGrace/2 {
		a.op.faulted, a.op.reading.lapsed = true, true
	}
}

func makeGet(r *rand.Rand, _ *operation) func(*actor, *operation) error {
	pace := pace(r)
	if r.IntN(3) == 0 {
		pace = time.Duration(15+r.IntN(14)) * time.Second // slow, but never for half of the read grace
	}
	return get(pace)
}

func get(pace time.Duration) func(*actor, *operation) error {
	return func(a *actor, op *operation) error {
		rd, err := a.proc.node.objects.Get(context.Background(), object.GetRequest{Bucket: op.at.bucket, Key: op.at.key, Range: a.someRange(op)})
		if errors.Is(err, lethe.ErrNoSuchKey) || errors.Is(err, lethe.ErrInvalidRange) {
			return nil
		}
		if err != nil {
			a.w.fail(a.cutOff(op, "", err))
			return err
		}
		defer rd.Body.Close()
		a.wasServed(rd.Object)
		op.reading.asked = 0
		got, err := a.readSlowly(rd.Body, pace, nil)
		if err != nil {
			a.w.fail(a.cutOff(op, rd.Object.ContentID, err))
			if !op.faulted && !op.reading.ruined {
				a.w.fail(broken("%v: a slow reader was cut off: %w", op.at, err))
			}
			return err
		}
		if !a.w.oracle.readsFrom(rd.Object.ID, got, rd.Offset, rd.Length) {
			a.w.fail(broken("%v was read as %d bytes that are not those of version %s (%d from %d on, of %d)", op.at, len(got), rd.Object.ID, rd.Length, rd.Offset, rd.Object.Size))
		}
		return nil
	}
}

// makeVigil reads an object of several segments slowly while it is deleted: the
// reader must finish (docs/protocol.md, rule 18).
func makeVigil(r *rand.Rand, op *operation) func(*actor, *operation) error {
	parts := [][]byte{corpus[3], corpus[4], corpus[3]}
	op.at.bucket, op.body = "plain", bytes.Join(parts, nil)
	pace := time.Duration(15+r.IntN(14)) * time.Second
	return func(a *actor, op *operation) error {
		u := &multipart{a: a, op: op}
		if err := u.write(parts); err != nil {
			return err
		}
		rd, err := a.proc.node.objects.Get(context.Background(), object.GetRequest{Bucket: op.at.bucket, Key: op.at.key})
		if err != nil {
			return errors.Join(errLeft, err) // somebody else was faster
		}
		defer rd.Body.Close()
		if _, err := a.proc.node.objects.Delete(context.Background(), object.DeleteRequest{
			Bucket: op.at.bucket, Items: []ledger.DeleteItem{{Key: op.at.key}},
		}); err != nil {
			return err
		}
		got, err := a.readSlowly(rd.Body, pace, nil)
		switch {
		case err != nil && !op.faulted && !op.reading.ruined:
			a.w.fail(broken("%v: a slow reader was cut off: %w", op.at, err))
		case err == nil && !a.w.oracle.reads(rd.Object.ID, got):
			a.w.fail(broken("%v: a slow reader got other bytes", op.at))
		}
		return err
	}
}

// write stores the parts and completes them.
func (u *multipart) write(parts [][]byte) error {
	if err := u.open(); err != nil {
		return err
	}
	for i, body := range parts {
		if err := u.store(i+1, body); err != nil {
			return err
		}
	}
	return u.complete()
}

// readSlowly waits before each chunk: for pace, unless wait does otherwise.
func (a *actor) readSlowly(r io.Reader, pace time.Duration, wait func()) ([]byte, error) {
	if wait == nil {
		wait = func() { a.pause(pace) }
	}
	var got []byte
	buf := make([]byte, chunk)
	for {
		before := a.w.now // a read shows that it lives as it begins, not while it waits
		wait()
		n, err := r.Read(buf)
		a.slept(before)
		if n > 0 && len(got) == 0 && pace >= slow {
			a.w.reached.Readers++
		}
		if n > 0 && a.op != nil {
			a.op.reading.asked = 0
		}
		got = append(got, buf[:n]...)
		if errors.Is(err, io.EOF) {
			return got, nil
		}
		if err != nil {
			return got, err
		}
	}
}

func makeDelete(r *rand.Rand, op *operation) func(*actor, *operation) error {
	items := []ledger.DeleteItem{{Key: op.at.key}}
	if r.IntN(3) == 0 {
		items = append(items, ledger.DeleteItem{Key: pick(r, keyNames)}, ledger.DeleteItem{Key: "absent"})
	}
	return func(a *actor, op *operation) error {
		_, err := a.proc.node.objects.Delete(context.Background(), object.DeleteRequest{Bucket: op.at.bucket, Items: items})
		return err
	}
}

func makeCopy(r *rand.Rand, op *operation) func(*actor, *operation) error {
	op.from = place{pick(r, bucketNames), pick(r, keyNames)}
	ttl := life(r)
	return func(a *actor, op *operation) error {
		attrs := ledger.Attrs{ContentType: "copied"}
		_, err := a.proc.node.objects.Copy(context.Background(), object.CopyRequest{
			SourceBucket: op.from.bucket, SourceKey: op.from.key, Bucket: op.at.bucket, Key: op.at.key, TTL: ttl, Attrs: &attrs, ByKey: a.w.keyTTL(op),
		})
		return err
	}
}

// makeTouch changes a time to live without touching the bytes.
func makeTouch(r *rand.Rand, _ *operation) func(*actor, *operation) error {
	ttl := life(r)
	return func(a *actor, op *operation) error {
		_, err := a.proc.node.objects.Update(context.Background(), ledger.Update{
			Bucket: op.at.bucket, Key: op.at.key, TTL: &ledger.TTLChange{TTL: ttl},
		})
		return err
	}
}

func makeMultipart(r *rand.Rand, op *operation) func(*actor, *operation) error {
	var parts [][]byte
	for range 1 + r.IntN(3) {
		parts = append(parts, pick(r, corpus[:5]))
	}
	ending, again, pace := r.IntN(6), r.IntN(4) == 0, pace(r)
	op.body = bytes.Join(parts, nil)
	return func(a *actor, op *operation) error {
		u := &multipart{a: a, op: op, pace: pace}
		if err := u.open(); err != nil {
			return err
		}
		times := 1
		if again {
			times = 2
		}
		for i, body := range parts {
			for range times {
				if err := u.fill(i+1, body); err != nil {
					return err
				}
			}
		}
		op.body = u.whole()
		if err := u.wait(); err != nil {
			return err
		}
		switch ending {
		case 0:
			return errLeft // abandoned: the sweep of stale uploads takes it
		case 1:
			return u.abort()
		}
		return u.complete()
	}
}

// errLeft ends a multipart upload that its client just leaves lying.
var errLeft = errors.New("left")

type multipart struct {
	a     *actor
	op    *operation
	pace  time.Duration
	id    lethe.ID
	parts []ledger.PartName
	sent  [][]byte // of each part; nil: not known
}

func (u *multipart) open() error {
	r := object.UploadRequest{Bucket: u.op.at.bucket, Key: u.op.at.key, Owner: "owner"}
	if u.op.kind == "multipart" {
		r.Reads, r.Idle = u.a.w.grant(u.op), u.a.w.idleTime(u.op)
	}
	up, err := u.a.proc.node.objects.CreateUpload(context.Background(), r)
	u.id = up.ID
	return err
}

func (u *multipart) store(number int, body []byte) error {
	p, err := u.a.proc.node.objects.PutPart(context.Background(), object.PartRequest{
		Bucket: u.op.at.bucket, Key: u.op.at.key, Upload: u.id, Number: number,
		Body: &slowBody{a: u.a, data: body, pace: u.pace}, Size: int64(len(body)),
	})
	if err != nil {
		return err
	}
	u.stored(p, body)
	return nil
}

func (u *multipart) abort() error {
	err := u.a.proc.node.objects.Abort(context.Background(), u.op.at.bucket, u.op.at.key, u.id)
	if err == nil {
		return errLeft
	}
	return err
}

func (u *multipart) complete() error {
	_, err := u.a.proc.node.objects.Complete(context.Background(), object.CompleteRequest{
		Bucket: u.op.at.bucket, Key: u.op.at.key, Upload: u.id, Parts: u.parts, ByKey: u.a.w.keyTTL(u.op),
	})
	return u.refused(err)
}

func makeRestore(*rand.Rand, *operation) func(*actor, *operation) error {
	return func(a *actor, op *operation) error {
		entries, err := a.proc.node.objects.Trash(context.Background(), ledger.TrashQuery{Bucket: "undo", Limit: 10})
		if err != nil || len(entries) == 0 {
			return errors.Join(err, errLeft)
		}
		e := entries[len(entries)-1]
		op.at = place{e.Object.Bucket, e.Object.Key}
		_, err = a.proc.node.objects.Restore(context.Background(), e.ID, true)
		return err
	}
}

// makeList lists a bucket: what is visible, all of it, in order.
func makeList(*rand.Rand, *operation) func(*actor, *operation) error {
	return func(a *actor, op *operation) error {
		page, err := a.proc.node.objects.List(context.Background(), ledger.ListQuery{Bucket: op.at.bucket, Limit: 100})
		if err != nil {
			return err
		}
		a.w.fail(a.w.oracle.listed(op.at.bucket, page.Objects))
		return nil
	}
}

func makePurge(*rand.Rand, *operation) func(*actor, *operation) error {
	return func(a *actor, _ *operation) error {
		entries, err := a.proc.node.objects.Trash(context.Background(), ledger.TrashQuery{Limit: 3})
		if err != nil || len(entries) == 0 {
			return errors.Join(err, errLeft)
		}
		_, err = a.proc.node.objects.PurgeTrash(context.Background(), []lethe.ID{entries[0].ID})
		return errors.Join(err, errLeft)
	}
}
