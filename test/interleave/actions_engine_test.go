package interleave_test

import (
	"slices"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// intents are what happens to writes under way.
func intents() []action {
	beat := func(blob func(*act) lethe.ID) func(*act) (any, error) {
		return func(a *act) (any, error) { return none(a.db.Beat(a.ctx, blob(a), 20)) }
	}
	others := func(a *act) lethe.ID { return a.f.sent["one"][a.other()].Blob }
	newer := func(a *act) lethe.ID { return a.f.sent["new"][a.other()].Blob }
	part := func(a *act) lethe.ID { return a.f.parts[1][a.other()].Part.BlobID }
	idle := func(a *act) lethe.ID { return a.f.idle.Blobs[0].Blob }
	claim := func(age time.Duration) func(*act) (any, error) {
		return func(a *act) (any, error) {
			c, err := a.db.ClaimIntents(a.ctx, ledger.ClaimRequest{Worker: "w", Limit: 100, MinAge: age})
			a.claimed(c.Fence)
			out := []string{}
			for _, i := range c.Intents {
				out = append(out, string(i.Blob.ID))
			}
			return out, err
		}
	}
	return []action{
		{name: "Begin on what is small", changes: "room on small", reads: "backend small", run: func(a *act) (any, error) {
			return wrap(a.db.Begin(a.ctx, ledger.Intent{ID: a.id(), Backend: "small", Size: 10}))
		}},
		{name: "Begin with a promise", changes: "promotions of a", reads: "bucket b, key a, backend disk", run: func(a *act) (any, error) {
			c := reference(a.op(), "b", "a", "one")
			c.Blobs = []ledger.Uploaded{{Blob: a.id(), Size: 3, Digest: sum("one")}}
			return wrap(a.db.Begin(a.ctx, ledger.Intent{ID: c.Blobs[0].Blob, Backend: "disk", Size: 3, Promotion: &ledger.Promotion{Commit: c}}))
		}},
		{name: "Beat of one", changes: "intents", run: beat(others)},
		{name: "Beat of new", changes: "intents", run: beat(newer)},
		{name: "Beat of a part", changes: "upload up", run: beat(part)},
		{name: "Beat of what is idle", changes: "intent idle, intents", run: beat(idle)},
		{name: "Abandon one", changes: "intents", run: func(a *act) (any, error) { return none(a.db.Abandon(a.ctx, others(a), true)) }},
		{name: "Abandon what is idle", changes: "intent idle", run: func(a *act) (any, error) { return none(a.db.Abandon(a.ctx, idle(a), false)) }},
		{name: "CondemnLate", changes: "intents", run: func(a *act) (any, error) {
			return none(a.db.CondemnLate(a.ctx, ledger.LateBytes{Blob: others(a), Backend: "disk", Size: 1}))
		}},
		{name: "ClaimIntents", passes: true, changes: "intents", run: claim(0)},
		{name: "ClaimIntents that are silent", passes: true, changes: "intent idle, intents", run: claim(time.Hour)},
		{name: "CondemnIntent", changes: "intent promo", run: func(a *act) (any, error) {
			return none(a.db.CondemnIntent(a.ctx, a.f.intents, a.f.promo.Blobs[0].Blob))
		}},
		{name: "ReleaseIntent", changes: "intent promo", run: func(a *act) (any, error) {
			return none(a.db.ReleaseIntent(a.ctx, a.f.intents, a.f.promo.Blobs[0].Blob))
		}},
		{name: "RecoverClaims", passes: true, changes: "intent promo, claimed, intents", run: func(a *act) (any, error) {
			list, err := a.db.RecoverClaims(a.ctx, 0, 100)
			return recovered(list), err
		}},
		{name: "EndClaims", passes: true, changes: "intent promo, claimed, intents, placements, content one, events", run: func(a *act) (any, error) {
			ended, err := a.db.EndClaims(a.ctx, "")
			return slices.Concat(recovered(ended.Blobs), slices.Repeat([]string{"placement"}, int(ended.Placements)), slices.Repeat([]string{"event"}, int(ended.Events))), err
		}},
	}
}

// recovered lists claims that were ended, each for itself.
func recovered(list []ledger.Recovered) []string {
	out := []string{}
	for _, r := range list {
		for range r.Claims {
			out = append(out, r.Backend+" "+r.State.String())
		}
	}
	return out
}

// queue is the cleanup of condemned blobs.
func queue() []action {
	claim := func(l ledger.Limit) func(*act) (any, error) {
		return func(a *act) (any, error) {
			c, err := a.db.ClaimCondemned(a.ctx, ledger.ClaimRequest{Worker: "w", Backend: "disk", Limit: 100, Deletes: l})
			a.claimed(c.Fence)
			return idsOf(c.Blobs), err
		}
	}
	settle := func(r ledger.Result) func(*act) (any, error) {
		return func(a *act) (any, error) {
			item := ledger.SettleItem{ID: a.f.condemned[0].ID, Result: r, RetryAt: a.f.now}
			return wrap(a.db.Settle(a.ctx, ledger.Settlement{Fence: a.f.deletes, Items: []ledger.SettleItem{item}}))
		}
	}
	letters := func(a *act) []lethe.ID { return []lethe.ID{a.f.dead[0].ID, a.f.dead[1].ID} }
	return []action{
		{name: "ClaimCondemned", passes: true, changes: "claimed, condemned", reads: "backend disk, clock", run: claim(ledger.Limit{})},
		{name: "ClaimCondemned within limits", passes: true, changes: "claimed, condemned, limits", reads: "backend disk, clock", run: claim(ledger.Limit{Ask: 2})},
		{name: "Settle as gone", changes: "claimed", run: settle(ledger.Gone)},
		{name: "Settle as failed", changes: "claimed", run: settle(ledger.Failed)},
		{name: "ExtendGrace", changes: "condemned, claimed", run: func(a *act) (any, error) {
			return none(a.db.ExtendGrace(a.ctx, a.f.condemned[1].ContentID))
		}},
		{name: "ExtendGrace of what is claimed", changes: "claimed", run: func(a *act) (any, error) {
			return none(a.db.ExtendGrace(a.ctx, a.f.condemned[0].ContentID))
		}},
		{name: "Requeue", changes: "letters, condemned", run: func(a *act) (any, error) { return wrap(a.db.Requeue(a.ctx, letters(a))) }},
		{name: "WriteOff", changes: "letters", run: func(a *act) (any, error) { return wrap(a.db.WriteOff(a.ctx, letters(a))) }},
		{name: "Prune", passes: true, changes: "old operations, runs, nameless", run: func(a *act) (any, error) {
			n, err := a.db.Prune(a.ctx, 0)
			return slices.Repeat([]string{"a row"}, n), err
		}},
	}
}

// marked is what is found of copies.
func marked() []action {
	mark := func(which func(*act) []lethe.ID) func(*act) (any, error) {
		return func(a *act) (any, error) { return wrap(a.db.MarkSuspect(a.ctx, which(a), "missing")) }
	}
	one := func(a *act) []lethe.ID { return []lethe.ID{a.f.one.ID} }
	solo := func(n ...int) func(*act) []lethe.ID {
		return func(a *act) (out []lethe.ID) {
			for _, i := range n {
				out = append(out, a.f.solo[i].ID)
			}
			return out
		}
	}
	return []action{
		{name: "NoteBlocks", changes: "content one", run: func(a *act) (any, error) {
			return wrap(a.db.NoteBlocks(a.ctx, a.f.one.ID, a.f.one.Size, lethe.BlockSums{Size: 1 << 18, Sums: []uint32{7}}))
		}},
		{name: "MarkSuspect one", changes: "content one", run: mark(one)},
		{name: "MarkSuspect one copy of solo", changes: "content solo", run: mark(solo(0))},
		{name: "MarkSuspect the other copy of solo", changes: "content solo", run: mark(solo(1))},
		{name: "MarkSound solo", changes: "content solo", run: func(a *act) (any, error) { return wrap(a.db.MarkSound(a.ctx, solo(1, 0)(a), 0)) }},
		{name: "MarkSound lost", changes: "content lost", run: func(a *act) (any, error) {
			return wrap(a.db.MarkSound(a.ctx, []lethe.ID{a.f.lost.ID}, 0))
		}},
		{name: "MarkSuspect both copies of solo and one", changes: "content solo, content one", run: mark(func(a *act) []lethe.ID { return append(one(a), solo(1, 0)(a)...) })},
		{name: "MarkSuspect a part", changes: "upload up, content parts", run: mark(func(a *act) []lethe.ID { return []lethe.ID{a.f.stored["up"][0].BlobID} })},
	}
}

// moved are the ways of contents into the ledger and out of it.
func moved() []action {
	moves := func(key, body string) func(*act) (any, error) {
		return func(a *act) (any, error) {
			return wrap(a.db.MoveToLedger(a.ctx, a.f.versions["b/"+key].ContentID, ledger.NewBody(sum(body), []byte(body))))
		}
	}
	return []action{
		{name: "MoveToLedger solo", changes: "content solo", run: moves("s", "solo")},
		{name: "MoveToLedger one", changes: "content one", run: moves("a", "one")},
		{name: "BeginCopy of inline solo", eager: lost, changes: "content isolo", reads: "backend tape", run: func(a *act) (any, error) {
			return wrap(a.db.BeginCopy(a.ctx, ledger.CopyIntent{ID: a.id(), Backend: "tape", Inline: a.f.versions["b/is"].ContentID}))
		}},
		{name: "CommitCopy of inline solo", eager: lost, changes: "content isolo, intents", run: func(a *act) (any, error) {
			return none(a.db.CommitCopy(a.ctx, ledger.CopyCommit{Blob: a.f.leaving.ID, Inline: a.f.leaving.ContentID, Digest: a.f.leaving.Digest}))
		}},
	}
}

// placed are copies.
func placed() []action {
	lease := 2 * gracePlaced
	trim := func(n int) func(*act) (any, error) {
		return func(a *act) (any, error) {
			return wrap(a.db.TrimCopies(a.ctx, ledger.Trim{
				Content: a.f.solo[n].ContentID, Blobs: []lethe.ID{a.f.solo[n].ID}, Reason: lethe.ReasonSurplus, Fence: a.f.placed, Lease: lease,
			}))
		}
	}
	begin := func(source func(*act) lethe.ID) func(*act) (any, error) {
		return func(a *act) (any, error) {
			return wrap(a.db.BeginCopy(a.ctx, ledger.CopyIntent{ID: a.id(), Backend: "tape", Source: source(a), Fence: a.f.placed, Lease: lease}))
		}
	}
	commit := func(of func(*act) (ledger.Blob, lethe.ID)) func(*act) (any, error) {
		return func(a *act) (any, error) {
			b, source := of(a)
			return none(a.db.CommitCopy(a.ctx, ledger.CopyCommit{Blob: b.ID, Source: source, Digest: b.Digest, Fence: a.f.placed, Lease: lease}))
		}
	}
	part := func(a *act) lethe.ID { return a.f.stored["up"][0].BlobID }
	result := func(r ledger.PlacementResult) func(*act) (any, error) {
		return func(a *act) (any, error) {
			r.ID, r.RetryAt = a.f.one.ContentID, a.f.now
			return wrap(a.db.SettlePlacements(a.ctx, a.f.placed, []ledger.PlacementResult{r}))
		}
	}
	return []action{
		{name: "TrimCopies here", changes: "content solo", run: trim(0)},
		{name: "TrimCopies there", changes: "content solo", run: trim(1)},
		{name: "BeginCopy of solo", eager: lost, changes: "content solo", reads: "backend tape", run: begin(func(a *act) lethe.ID { return a.f.solo[0].ID })},
		{name: "BeginCopy of one", eager: lost, changes: "content one", reads: "backend tape", run: begin(func(a *act) lethe.ID { return a.f.one.ID })},
		{name: "BeginCopy of a part", eager: lost, changes: "upload up", reads: "backend tape", run: begin(part)},
		{name: "CommitCopy of one", eager: lost, changes: "content one, intents", run: commit(func(a *act) (ledger.Blob, lethe.ID) { return a.f.copied, a.f.one.ID })},
		{name: "CommitCopy of a part", eager: lost, changes: "upload up, intents", run: commit(func(a *act) (ledger.Blob, lethe.ID) { return a.f.copiedPart, part(a) })},
		{name: "ClaimPlacements", passes: true, changes: "placements, content one, content solo, content new, content lost", run: func(a *act) (any, error) {
			p, err := a.db.ClaimPlacements(a.ctx, ledger.PlacementClaim{Worker: "w", Limit: 100, Lease: lease})
			a.claimed(p.Fence)
			out := []string{}
			for _, i := range p.Items {
				out = append(out, string(i.ID))
			}
			return out, err
		}},
		{name: "SettlePlacements done", changes: "placements, content one", run: result(ledger.PlacementResult{Done: true})},
		{name: "SettlePlacements again", changes: "placements, content one", run: result(ledger.PlacementResult{Error: "no"})},
		{name: "KeepPlacement", changes: "placements, content one", run: func(a *act) (any, error) {
			return none(a.db.KeepPlacement(a.ctx, a.f.one.ContentID, a.f.placed, lease))
		}},
		{name: "QueuePlacements", changes: "placements, content one", run: func(a *act) (any, error) {
			return wrap(a.db.QueuePlacements(a.ctx, []ledger.Subject{{ID: a.f.one.ContentID}, {ID: part(a), Part: true}, {ID: a.f.versions["b/t1"].ContentID}}))
		}},
	}
}
