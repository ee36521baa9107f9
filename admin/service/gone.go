package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/internal/words"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/receipt"
)

// maxGone bounds the deleted versions in an explanation: the last ones.
const maxGone = 20

// gone returns the last deleted versions of a key, as far as receipts are kept,
// and counts those before them.
func (s *Service) gone(ctx context.Context, n api.ObjectName) (list []api.Gone, earlier int, err error) {
	all, err := s.o.Ledger.Receipts(ctx, receipt.OfObject(n.Bucket, n.Key))
	if err != nil {
		return nil, 0, err
	}
	all = slices.DeleteFunc(all, func(r receipt.Receipt) bool { return r.Bucket != n.Bucket || r.Key != n.Key })
	earlier = max(len(all)-maxGone, 0)
	var names []receipt.Name
	for _, r := range all[earlier:] {
		list = append(list, api.Gone{Receipt: r, Why: whyGone(r), Fate: "it had no bytes"})
		if r.Content != "" {
			names = append(names, receipt.OfContent(r.Content))
		}
	}
	if len(names) == 0 {
		return list, earlier, nil
	}
	slices.Sort(names)
	bytes, err := s.o.Ledger.Receipts(ctx, slices.Compact(names)...)
	for i := range list {
		if err == nil && list[i].Receipt.Content != "" {
			err = s.bytesOf(ctx, &list[i], bytes)
		}
	}
	return list, earlier, err
}

// bytesOf looks up what became of the bytes of a deleted version.
func (s *Service) bytesOf(ctx context.Context, g *api.Gone, bytes []receipt.Receipt) error {
	id := g.Receipt.Content
	content, err := s.o.Ledger.ContentByID(ctx, id)
	if err == nil {
		g.Fate = "its bytes are shared, and stay for " + words.Plural(content.Refs, "other reference", "other references")
		return nil
	}
	if !errors.Is(err, lethe.ErrContentGone) {
		return err
	}
	for _, r := range bytes {
		if r.Kind == receipt.Bytes && r.Content == id {
			g.Confirmed = append(g.Confirmed, r)
		}
	}
	blobs, err := s.o.Ledger.ContentBlobs(ctx, id)
	if err != nil {
		return err
	}
	store, err := s.o.Ledger.Identity(ctx)
	if err != nil {
		return err
	}
	for _, b := range blobs {
		left := blobInfo(store.ID, b)
		if left.Stopped, err = s.deletesStopped(ctx, b.Backend); err != nil {
			return err
		}
		g.Left = append(g.Left, left)
	}
	g.Fate = fateOf(g.Left, g.Confirmed)
	return nil
}

// deletesStopped returns why nothing is deleted on a backend now; empty: nothing stops it.
func (s *Service) deletesStopped(ctx context.Context, backend string) (string, error) {
	list, err := s.o.Ledger.Backends(ctx)
	if err != nil {
		return "", err
	}
	for _, b := range list {
		if b.ID == backend && b.Held != "" {
			return "deletes on " + backend + " are stopped: " + b.Held, nil
		}
	}
	if s.o.Runtime.Backend != nil {
		switch f := s.o.Runtime.Backend(backend); {
		case f.Misplaced != "":
			return backend + " is not in its place: " + f.Misplaced, nil
		case f.Breaker != nil && f.Breaker.Open:
			return backend + " does not work: " + f.Breaker.Error, nil
		case f.S3 != nil && f.S3.NoDeletes != "":
			return "deletes on " + backend + " are refused: " + f.S3.NoDeletes, nil
		}
	}
	trips, err := s.trips(ctx)
	for _, g := range trips {
		if g.Subject == backend && (g.Kind == string(ledger.LimitDeletes) || g.Kind == string(ledger.LimitClock)) {
			return "the limit " + g.Kind + " stops deletes on " + backend + ": " + g.Reason, nil
		}
	}
	return "", err
}

func fateOf(left []api.BlobInfo, confirmed []receipt.Receipt) string {
	dead, off := 0, 0
	var last receipt.Instant
	for _, b := range left {
		if b.State == lethe.Dead.String() {
			dead++
		}
	}
	for _, r := range confirmed {
		last = max(last, r.At)
		if r.How == receipt.WrittenOff {
			off++
		}
	}
	switch {
	case dead > 0:
		return "its bytes still lie there: their deletes were given up (" + words.Plural(int64(dead), "dead letter", "dead letters") + ")"
	case len(left) > 0:
		return leftText(left)
	case off > 0:
		return fmt.Sprintf("nobody has confirmed that its bytes are gone (blobs written off: %d)", off)
	case len(confirmed) > 0 && confirmed[0].How == receipt.Inline:
		return "its bytes lay in the ledger, and went at " + lethe.Time(last).Time().Format(time.RFC3339)
	case len(confirmed) > 0:
		return "its bytes were confirmed gone, the last of them at " + lethe.Time(last).Time().Format(time.RFC3339)
	}
	return "the ledger does not have its bytes any more; no receipt tells when they were deleted"
}

// whyGone describes why a version was deleted.
func whyGone(r receipt.Receipt) string {
	by := ""
	switch {
	case r.By != (lethe.Caller{}):
		by = ", by " + nameOf(r.By)
	case r.Op != "":
		by = ", by operation " + string(r.Op)
	}
	switch r.Reason {
	case lethe.ReasonLifecycle:
		return "lifecycle rule " + strconv.Quote(r.Rule) + " (number " + strconv.FormatInt(r.RuleNumber, 10) + ") ended it" + by
	case lethe.ReasonExpiry:
		return "its time to live ended" + by
	case lethe.ReasonRead:
		return "it was read for the last time at " + lethe.Time(r.Due).Time().Format(time.RFC3339) + by
	case lethe.ReasonIdle:
		return "it was not read for its idle time" + by
	case lethe.ReasonEvicted:
		return "its bucket was full, and it was the one used longest ago" + by
	case lethe.ReasonOverwrite:
		return "it was replaced" + by
	case lethe.ReasonPurge:
		if r.Trash != nil && r.Trash.EndedBy != (lethe.Caller{}) {
			return "it was purged from the trash as " + nameOf(r.Trash.EndedBy) + " had asked" + by
		}
		return "its time in the trash ended" + by
	case receipt.ReasonRestored:
		return "it was restored from the trash as a new version" + by
	}
	return "it was deleted" + by
}

// nameOf describes an actor: a run, and its caller if it was not scheduled; or
// a key with its request.
func nameOf(c lethe.Caller) string {
	who := c.Key
	if c.Request != "" { // an operator's have none
		who += ", request " + c.Request
	}
	switch {
	case c.Run == "":
		return who
	case who == "":
		return "run " + string(c.Run)
	}
	return "run " + string(c.Run) + " for " + who
}
