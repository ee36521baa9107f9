package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/internal/words"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim"
)

// mostObjects is how many objects a loss names.
const mostObjects = 20

// judge checks the differences between a listing and the rows, after the listing,
// and records those that remain.
func (w *walk) judge(ctx context.Context, add reclaim.Add, found candidates) error {
	w.tally(add, Keys, found.keys)
	add(reclaim.Items, found.keys)
	w.tally(add, Skipped, found.skipped)
	if found.n() == 0 {
		return nil
	}
	for page := range slices.Chunk(found.unknown, w.o.Page) {
		if err := w.unknown(ctx, add, page); err != nil {
			return err
		}
	}
	for page := range slices.Chunk(slices.Concat(found.absent, found.resized), w.o.Page) {
		if err := w.dangling(ctx, add, page); err != nil {
			return err
		}
	}
	for page := range slices.Chunk(found.foreign, w.o.Page) {
		if err := w.foreign(ctx, add, page); err != nil {
			return err
		}
	}
	return nil
}

// record writes findings down.
func (w *walk) record(ctx context.Context, list []ledger.Finding) error {
	if len(list) == 0 {
		return nil
	}
	for i := range list {
		list[i].Backend = w.backend
	}
	if !w.o.DryRun {
		if _, err := w.o.Ledger.Sight(ctx, ledger.Sighting{Walk: w.row.ID, Findings: list, Limit: w.o.Keep}); err != nil {
			return err
		}
	}
	if w.o.Report == nil {
		return nil
	}
	w.report.Lock()
	defer w.report.Unlock()
	for _, f := range list {
		w.o.Report(f)
	}
	return nil
}

func (w *walk) foreign(ctx context.Context, add reclaim.Add, page []blob.Info) error {
	list := make([]ledger.Finding, len(page))
	for i, info := range page {
		list[i] = ledger.Finding{Key: displayKey(info.Key), Kind: ledger.FoundForeign, Size: info.Size, Detail: strange(info.Key)}
	}
	w.tally(add, Foreign, int64(len(page)))
	return w.record(ctx, list)
}

// displayKey is a key in the form in which it is recorded.
func displayKey(key string) string {
	if utf8.ValidString(key) && !strings.ContainsRune(key, 0) {
		return key
	}
	return strconv.Quote(key)
}

// strange describes a foreign key.
func strange(key string) string {
	if store, _, found := strings.Cut(key, "/"); found {
		if _, err := lethe.ParseID(store); err == nil {
			return "a blob's name of another store, or of this one before its ledger was made anew; left alone"
		}
	}
	return "not a name of this store; left alone"
}

// unknown looks up names that were listed but had no row when the rows were read.
func (w *walk) unknown(ctx context.Context, add reclaim.Add, page []blob.Info) error {
	ids := make([]lethe.ID, len(page))
	for i, info := range page {
		ids[i], _ = lethe.ParseBlobKey(w.o.Store, info.Key)
	}
	rows, err := w.o.Ledger.BlobsByID(ctx, ids)
	if err != nil {
		return fmt.Errorf("look up keys: %w", err)
	}
	where := make(map[lethe.ID]string, len(rows))
	for _, b := range rows {
		where[b.ID] = b.Backend
	}
	var list []ledger.Finding
	for i, info := range page {
		f := ledger.Finding{Key: info.Key, Kind: ledger.FoundOrphan, Size: info.Size, Detail: "a name of this store without a row"}
		switch there, known := where[ids[i]]; {
		case known && there == w.backend:
			continue // it was written meanwhile
		case known:
			f.Kind, f.Detail = ledger.FoundElsewhere, "its row places it on "+there+"; left alone"
		case w.counts.Get(Orphans) >= int64(w.o.Keep):
			// There is no room to record it. A call for each would take days if the
			// ledger is an older copy.
			w.tally(add, Orphans, 1)
			w.tally(add, Skipped, 1)
			continue
		}
		lies, err := w.lies(ctx, info.Key)
		if err != nil {
			return err
		}
		if lies == nil {
			continue // settled between the listing and the look-up
		}
		f.Size = lies.Size
		w.tally(add, countOf(f.Kind), 1)
		list = append(list, f)
	}
	w.countRipe(add, list)
	return w.record(ctx, list)
}

func countOf(k ledger.FindingKind) string {
	if k == ledger.FoundElsewhere {
		return Elsewhere
	}
	return Orphans
}

// lies looks up a key by name. It returns nil if there certainly are no bytes.
func (w *walk) lies(ctx context.Context, key string) (*blob.Info, error) {
	if err := w.o.Call(ctx); err != nil {
		return nil, err
	}
	info, err := w.store.Stat(ctx, key)
	switch {
	case errors.Is(err, blob.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("look up %s: %w", key, err)
	}
	return &info, nil
}

// dangling looks up blobs by name that were not listed as their rows require. Then
// it reads their rows: those that are still live are missing or damaged.
func (w *walk) dangling(ctx context.Context, add reclaim.Add, ids []lethe.ID) error {
	lies := make(map[lethe.ID]*blob.Info, len(ids))
	for _, id := range ids {
		info, err := w.lies(ctx, lethe.BlobKey(w.o.Store, id))
		if err != nil {
			return err
		}
		lies[id] = info
	}
	doubt, err := w.trust(ctx)
	if err != nil {
		return err
	}
	standing, err := w.o.Ledger.Standings(ctx, ids, mostObjects)
	if err != nil {
		return fmt.Errorf("look up rows: %w", err)
	}
	var losses []Loss
	for _, s := range standing {
		if f := w.finding(s, lies[s.Blob.ID]); f != nil {
			losses = append(losses, Loss{*f, s})
		}
	}
	return w.lose(ctx, add, losses, doubt == "")
}

// finding describes what is wrong with a live blob; nil if nothing is.
func (w *walk) finding(s ledger.Standing, lies *blob.Info) *ledger.Finding {
	f := &ledger.Finding{
		Key: lethe.BlobKey(w.o.Store, s.Blob.ID), Kind: ledger.FoundMissing, Detail: "its bytes are missing",
		Content: s.Blob.ContentID, Segment: s.Blob.Segment,
	}
	switch {
	case s.Blob.Backend != w.backend || lies != nil && lies.Size == s.Blob.Size:
		return nil
	case lies != nil:
		f.Kind, f.Size = ledger.FoundSize, lies.Size
		f.Detail = fmt.Sprintf("it has %s, should have %d", words.Plural(lies.Size, "byte", "bytes"), s.Blob.Size)
	}
	if s.Copies > 0 {
		f.Detail += "; healed from " + words.Plural(int64(s.Copies), "other copy", "other copies")
		return f
	}
	f.Detail += "; no other copy; lost: " + strings.Join(s.Objects, ", ")
	if s.More {
		f.Detail += ", and more: lethe explain --blob " + f.Key + " lists all"
	}
	return f
}

// lose marks a missing or damaged blob suspect if it may, which makes placement
// heal it, and records it.
func (w *walk) lose(ctx context.Context, add reclaim.Add, losses []Loss, may bool) error {
	if len(losses) == 0 {
		return nil
	}
	list := make([]ledger.Finding, len(losses))
	for i, l := range losses {
		list[i] = l.Finding
	}
	if err := w.suspect(ctx, losses, may); err != nil {
		return err
	}
	if err := w.record(ctx, list); err != nil {
		return err
	}
	for _, l := range losses {
		w.count(add, l)
		if !w.o.DryRun {
			w.o.Events.dangling(l)
		}
	}
	return nil
}

// suspect marks missing or damaged blobs, or reports that it would.
func (w *walk) suspect(ctx context.Context, losses []Loss, may bool) error {
	var ids []lethe.ID
	var changes []Change
	for _, l := range losses {
		if w.may(l.Finding.Key) && !(w.o.DryRun && l.Blob.Suspect) { // one that is suspect already
			ids = append(ids, l.Blob.ID)
			changes = append(changes, Change{Finding: l.Finding, Copies: l.Copies})
		}
	}
	switch {
	case !may || len(ids) == 0:
		return nil
	case w.o.DryRun:
		w.tell(w.o.Would, changes...)
		return nil
	}
	if _, err := w.o.Ledger.MarkSuspect(ctx, ids, "reconcile: missing, or of another size"); err != nil {
		return fmt.Errorf("mark suspect: %w", err)
	}
	w.did(changes...)
	return nil
}

func (w *walk) count(add reclaim.Add, l Loss) {
	kind, fate := Missing, Healing
	if l.Finding.Kind == ledger.FoundSize {
		kind = WrongSize
	}
	if l.Copies == 0 {
		fate = Lost
	}
	w.tally(add, kind, 1)
	w.tally(add, fate, 1)
}
