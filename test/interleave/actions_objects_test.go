package interleave_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// uploaded commits a body that this actor has sent.
func uploaded(body, bucket, key string, condition ledger.Precondition) func(*act) (any, error) {
	return func(a *act) (any, error) {
		c := reference(a.op(), bucket, key, body)
		c.Blobs, c.If = []ledger.Uploaded{a.f.sent[body][a.slot]}, condition
		return wrap(a.db.Commit(a.ctx, c))
	}
}

// wrap lets a call be an answer.
func wrap[T any](v T, err error) (any, error) { return v, err }

// copied commits a copy of an object.
func copied(from, key string) func(*act) (any, error) {
	return func(a *act) (any, error) {
		src := a.f.versions["b/"+from]
		return wrap(a.db.Commit(a.ctx, ledger.Commit{
			Op: a.op(), What: "copy", Object: ledger.Object{Bucket: "b", Key: key, Size: src.Size, ETag: src.ETag},
			Source: &ledger.Source{Bucket: "b", Key: from, ID: src.ID},
		}))
	}
}

// referenced commits a known body without its bytes, under a key of the actor's.
func referenced(body, bucket string) func(*act) (any, error) {
	return func(a *act) (any, error) {
		return wrap(a.db.Commit(a.ctx, reference(a.op(), bucket, fmt.Sprint("n", a.slot), body)))
	}
}

// inline commits a body whose bytes go into the ledger.
func inline(body, key string) func(*act) (any, error) {
	return func(a *act) (any, error) {
		c := reference(a.op(), "b", key, body)
		c.Inline = ledger.NewBody(sum(body), []byte(body))
		return wrap(a.db.Commit(a.ctx, c))
	}
}

func inlines() []action {
	return []action{
		{name: "Commit inline as n", changes: "key n, content inline", reads: "bucket b", run: inline("inline", "n")},
		{name: "Commit inline solo over i", changes: "key i, content inline, content isolo", reads: "bucket b", run: inline("inline solo", "i")},
		{name: "Commit inline new over i", changes: "key i, content inline, content inew", reads: "bucket b", run: inline("inline new", "i")},
		{name: "Commit inline new as n", changes: "key n, content inew", reads: "bucket b", run: inline("inline new", "n")},
		{name: "Commit inline what is on a backend", changes: "key n, content solo", reads: "bucket b", run: inline("solo", "n")},
		{name: "Commit an upload of inline solo", changes: "key n, content isolo, intents", reads: "bucket b", run: uploaded("inline solo", "b", "n", ledger.Precondition{})},
		{name: "Commit a copy of is", glances: true, changes: "key n, content isolo", reads: "key is, bucket b", run: copied("is", "n")},
		{name: "Delete i", changes: "key i, content inline", reads: "bucket b", run: remove("b", "i")},
		{name: "Delete is", changes: "key is, content isolo", reads: "bucket b", run: remove("b", "is")},
	}
}

func commits() []action {
	return []action{
		{name: "Commit new over a", changes: "key a, content new, content one, intents", reads: "bucket b", run: uploaded("new", "b", "a", ledger.Precondition{})},
		{name: "Commit one as n", changes: "key n, content one, intents", reads: "bucket b", run: uploaded("one", "b", "n", ledger.Precondition{})},
		{name: "Commit one as n if nothing is there", changes: "key n, content one, intents", reads: "bucket b", run: uploaded("one", "b", "n", ledger.Precondition{IfNoneMatch: "*"})},
		{name: "Commit one over due", changes: "key due, content one, intents", reads: "bucket b", run: uploaded("one", "b", "due", ledger.Precondition{})},
		{name: "Commit lost as n", changes: "key n, content lost, intents", reads: "bucket b", run: uploaded("lost", "b", "n", ledger.Precondition{})},
		{name: "Commit solo as n", changes: "key n, content solo, intents", reads: "bucket b", run: uploaded("solo", "b", "n", ledger.Precondition{})},
		{name: "Commit solo over a", changes: "key a, content solo, content one, intents", reads: "bucket b", run: uploaded("solo", "b", "a", ledger.Precondition{})},
		{name: "Commit solo over a in place of its version", changes: "key a, content solo, content one, intents", reads: "bucket b", run: func(a *act) (any, error) {
			return uploaded("solo", "b", "a", ledger.Precondition{IfID: a.f.versions["b/a"].ID})(a)
		}},
		{name: "Commit new over k", changes: "key k, content new, trash, intents", reads: "bucket u", run: uploaded("new", "u", "k", ledger.Precondition{})},
		{name: "Commit new into e", changes: "key e, content new, intents", reads: "bucket e", run: uploaded("new", "e", "k", ledger.Precondition{})},
		{name: "Commit two without bytes", changes: "content two", reads: "bucket b", run: referenced("two two", "b")},
		{name: "Commit two into q", changes: "content two, room of q", reads: "bucket q", run: referenced("two two", "q")},
		{name: "Commit a copy of s", glances: true, changes: "key n, content solo", reads: "key s, bucket b", run: copied("s", "n")},
		{name: "Commit a copy of a", glances: true, changes: "key n, content one", reads: "key a, bucket b", run: copied("a", "n")},
		{name: "Commit the idle intent", changes: "intent idle, key a, content one, intents", reads: "bucket b", run: func(a *act) (any, error) {
			return wrap(a.db.Commit(a.ctx, a.f.idle))
		}},
		{name: "Commit the promised intent", changes: "intent promo, key a, content one, intents", reads: "bucket b", run: func(a *act) (any, error) {
			return wrap(a.db.Commit(a.ctx, a.f.promo))
		}},
		{name: "Promote", eager: lost, replays: true, changes: "intent promo, key a, content one, intents", reads: "bucket b", run: func(a *act) (any, error) {
			return wrap(a.db.Promote(a.ctx, a.f.intents, a.f.promo.Blobs[0].Blob, lethe.BlockSums{}))
		}},
		{name: "Restore", changes: "trash, key k, content bin", reads: "bucket u", run: func(a *act) (any, error) {
			return wrap(a.db.Restore(a.ctx, a.op(), a.f.trashed.ID, true))
		}},
		{name: "Outcome", reads: "operation", changes: "operation", awaits: true, run: func(a *act) (any, error) {
			out, found, err := a.db.Outcome(a.ctx, a.f.op[a.other()])
			return []any{out, found}, err
		}},
	}
}

// complete ends an upload.
func complete(name string, numbers ...int) func(*act) (any, error) {
	return func(a *act) (any, error) {
		u := a.f.uploads[name]
		c := ledger.Completion{Op: a.op(), UploadID: u.ID, Bucket: u.Bucket, Key: u.Key, Commit: ledger.Commit{Object: ledger.Object{ETag: "m"}}}
		for _, p := range a.f.stored[name] {
			if slices.Contains(numbers, p.Number) {
				c.Parts = append(c.Parts, ledger.PartName{Number: p.Number, ETag: p.ETag})
			}
		}
		return wrap(a.db.Complete(a.ctx, c))
	}
}

func storePart(number int) func(*act) (any, error) {
	return func(a *act) (any, error) {
		c := a.f.parts[number][a.slot]
		c.Op = a.op()
		return wrap(a.db.CommitPart(a.ctx, c))
	}
}

// lying is how long an upload may lie untouched.
const lying = 24 * time.Hour

func uploads() []action {
	return []action{
		{name: "Complete up", changes: "upload up, key m, content parts, operation", reads: "bucket b", run: complete("up", 1, 2)},
		{name: "Complete up with its first part", changes: "upload up, key m, operation", reads: "bucket b", run: complete("up", 1)},
		{name: "Complete up2", changes: "upload up2, key m2, content parts", reads: "bucket b", run: complete("up2", 1, 2)},
		{name: "CommitPart 1", changes: "upload up, intents, operation", run: storePart(1)},
		{name: "CommitPart 3", changes: "upload up, intents", run: storePart(3)},
		{name: "Begin a part", changes: "upload up", run: func(a *act) (any, error) {
			return wrap(a.db.Begin(a.ctx, ledger.Intent{ID: a.id(), Backend: "tape", Size: 3, UploadID: a.f.uploads["up"].ID, Part: 4}))
		}},
		{name: "AbortUpload", changes: "upload up, operation", run: func(a *act) (any, error) {
			return none(a.db.AbortUpload(a.ctx, a.op(), "b", "m", a.f.uploads["up"].ID))
		}},
		{name: "AbortStale", changes: "upload up", reads: "bucket b", run: func(a *act) (any, error) {
			return none(a.db.AbortStale(a.ctx, a.f.uploads["up"].ID, ledger.Stale{Age: lying}))
		}},
		{name: "AbortRuled", changes: "upload upr", reads: "bucket r", run: func(a *act) (any, error) {
			return wrap(a.db.AbortRuled(a.ctx, a.f.uploads["upr"].ID))
		}},
		{name: "Complete upr", changes: "upload upr, content parts", reads: "bucket r", run: complete("upr", 1, 2)},
		{name: "CreateUpload", changes: "uploads of e", reads: "bucket e", run: func(a *act) (any, error) {
			return wrap(a.db.CreateUpload(a.ctx, ledger.Upload{Bucket: "e", Key: "m", Owner: owner}))
		}},
	}
}

// remove deletes keys.
func remove(bucket string, keys ...string) func(*act) (any, error) {
	return func(a *act) (any, error) {
		d := ledger.Deletion{Op: a.op(), Bucket: bucket}
		for _, k := range keys {
			d.Items = append(d.Items, ledger.DeleteItem{Key: k})
		}
		return wrap(a.db.Delete(a.ctx, d))
	}
}

func objects() []action {
	expire := func(l ledger.Limits) func(*act) (any, error) {
		return func(a *act) (any, error) {
			r, err := a.db.Expire(a.ctx, ledger.Batch{Limit: 100, Limits: l})
			return took(r), err
		}
	}
	return []action{
		{name: "Delete a", changes: "key a, content one", reads: "bucket b, operation", run: remove("b", "a")},
		{name: "Delete a and s", changes: "key a, content one, key s, content solo, operation", reads: "bucket b", run: remove("b", "a", "s")},
		{name: "Delete s and a", changes: "key a, content one, key s, content solo", reads: "bucket b", run: remove("b", "s", "a")},
		{name: "Delete lost", changes: "key lost, content lost", reads: "bucket b", run: remove("b", "lost")},
		{name: "Delete s", changes: "key s, content solo", reads: "bucket b", run: remove("b", "s")},
		{name: "Delete n", changes: "key n", reads: "bucket b", run: remove("b", "n")},
		{name: "Delete m", changes: "key m", reads: "bucket b", run: remove("b", "m")},
		{name: "Delete k", changes: "key k, trash", reads: "bucket u", run: remove("u", "k")},
		{name: "Delete t1", changes: "content two", reads: "bucket b", run: remove("b", "t1")},
		{name: "Delete x in q", changes: "room of q", reads: "bucket q", run: remove("q", "x")},
		{name: "Update a", changes: "key a", reads: "bucket b, operation", run: func(a *act) (any, error) {
			return wrap(a.db.Update(a.ctx, ledger.Update{Op: a.op(), Bucket: "b", Key: "a", Tags: &map[string]string{"t": fmt.Sprint(a.slot)}}))
		}},
		{name: "Update due so that it is held and longer", changes: "key due", reads: "bucket b", run: func(a *act) (any, error) {
			return wrap(a.db.Update(a.ctx, ledger.Update{Op: a.op(), Bucket: "b", Key: "due", TTL: &ledger.TTLChange{TTL: 100 * time.Hour}}))
		}},
		{name: "Update the end of a", changes: "key a", reads: "bucket b", run: func(a *act) (any, error) {
			return wrap(a.db.Update(a.ctx, ledger.Update{Op: a.op(), Bucket: "b", Key: "a", TTL: &ledger.TTLChange{TTL: time.Hour}}))
		}},
		{name: "Update tags of what is ruled", changes: "key log/y, key tmp/x", reads: "bucket r", run: func(a *act) (any, error) {
			return wrap(a.db.Update(a.ctx, ledger.Update{Op: a.op(), Bucket: "r", Key: "log/y", Tags: &map[string]string{"t": "1"}}))
		}},
		{name: "Update attributes of what is due by a rule", changes: "key tmp/x", reads: "bucket r", run: func(a *act) (any, error) {
			return wrap(a.db.Update(a.ctx, ledger.Update{Op: a.op(), Bucket: "r", Key: "tmp/x", Attrs: &ledger.Attrs{ContentType: "x"}}))
		}},
		{name: "CountRead once", changes: "key once", run: func(a *act) (any, error) {
			return wrap(a.db.CountRead(a.ctx, a.f.versions["b/once"]))
		}},
		{name: "NoteReads of what is ruled", changes: "key log/y, key tmp/x", run: func(a *act) (any, error) {
			var reads []ledger.Read
			for _, o := range []ledger.Object{a.f.versions["r/tmp/x"], a.f.versions["r/log/y"]} {
				reads = append(reads, ledger.Read{Bucket: o.BucketID, Key: o.Key, ID: o.ID, At: a.f.now})
			}
			return wrap(a.db.NoteReads(a.ctx, reads, false))
		}},
		{name: "Update the end of once", changes: "key once", reads: "bucket b", run: func(a *act) (any, error) {
			return wrap(a.db.Update(a.ctx, ledger.Update{Op: a.op(), Bucket: "b", Key: "once", TTL: &ledger.TTLChange{TTL: time.Hour}}))
		}},
		{name: "Delete once", changes: "key once", reads: "bucket b", run: remove("b", "once")},
		{name: "Expire", passes: true, changes: "key due, key tmp/x, content one, content inline, deferred", reads: "bucket b, bucket r", run: expire(ledger.Limits{})},
		{name: "Expire within limits", passes: true, changes: "key due, key tmp/x, content one, limits, deferred", reads: "bucket b, bucket r",
			run: expire(ledger.Limits{TTL: ledger.Limit{Ask: 1}, Rules: ledger.Limit{Ask: 1}})},
		{name: "Purge", passes: true, changes: "trash, content bin, deferred", reads: "bucket u", run: func(a *act) (any, error) {
			r, err := a.db.Purge(a.ctx, ledger.Batch{Limit: 100})
			return took(r), err
		}},
		{name: "PurgeTrash", changes: "trash", run: func(a *act) (any, error) {
			return wrap(a.db.PurgeTrash(a.ctx, []lethe.ID{a.f.trashed.ID, a.f.purgeable.ID}))
		}},
	}
}

// took lists what a batch removed.
func took(r ledger.Reclaimed) []string {
	out := []string{}
	for range r.Objects {
		out = append(out, "an object")
	}
	for range r.Blobs {
		out = append(out, "a blob")
	}
	for range r.Inline {
		out = append(out, "inline bytes")
	}
	for range r.Deferred {
		out = append(out, "a deferred row")
	}
	for _, c := range r.Dropped {
		out = append(out, string(c))
	}
	return out
}

// evictions meet in a full bucket.
func evictions() []action {
	return []action{
		{name: "Evict from f", passes: true, changes: "used f, content fills", reads: "bucket f", run: func(a *act) (any, error) {
			r, err := a.db.Evict(a.ctx, ledger.EvictRequest{Bucket: "f", Begun: true, Batch: ledger.Batch{Limit: 10}})
			return took(r.Reclaimed), err
		}},
		{name: "NoteReads of old", changes: "used f", run: func(a *act) (any, error) {
			o := a.f.versions["f/old"]
			return wrap(a.db.NoteReads(a.ctx, []ledger.Read{{Bucket: o.BucketID, Key: o.Key, ID: o.ID, At: a.f.now}}, false))
		}},
		{name: "Delete old", changes: "used f, content fills", reads: "bucket f", run: remove("f", "old")},
		{name: "Commit into f", changes: "used f, content two", reads: "bucket f", run: referenced("two two", "f")},
	}
}
