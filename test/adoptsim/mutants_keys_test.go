package adoptsim_test

import (
	"github.com/lethe-storage/lethe/test/adoptsim"
)

const (
	keys    = "adopt/keys.go"
	orphans = "adopt/orphans.go"
	keySpec = "adopt/keyspec.go"
	keyRows = "adopt/memadopt/keys.go"
)

// keyMutants are the rules of keys taken away.
var keyMutants = of(adoptsim.Keys, []mutant{
	{name: "orphans are condemned without another look", rule: "rows are asked in the transaction that condemns", file: keyRows,
		edits: edit("		if k.named[o.Key] > 0 {\n			delete(k.orphans, o.Key)", "		if k.named[o.Key] > 1000 {\n			delete(k.orphans, o.Key)")},
	{name: "what is named by now stays on record", rule: "a row that is seen begins the retention again", file: keyRows,
		edits: edit("			delete(k.orphans, o.Key)\n			continue", "			continue")},
	{name: "orphans are forgotten by nobody", rule: "a row that is seen begins the retention again", file: keyRows,
		edits: edit("if o.Seen < since {", "if o.Seen < min(since, 0) {")},
	{name: "what was put anew is as old as before", rule: "unchanged", file: keyRows,
		edits: edit("have == nil || have.Modified != o.Modified || have.Size != o.Size", "have == nil")},
	{name: "a held orphan is condemned", rule: "holds are looked at in the transaction that condemns", file: keyRows,
		edits: edit("		if holds.Object(o.Key) != nil {\n			out.Held++", "		if holds.Object(o.Key) != nil {\n			seen[o.Key] = have\n			out.Held++")},
	{name: "orphans whose delete was allowed are not told of", rule: "a hold tells of the deletes that may yet take effect", file: memHolds,
		edits: edit("			under.Objects++\n			under.Until = max(under.Until, until)", "			under.Objects++\n			under.Until = max(under.Until, 0)")},
	{name: "an older run's count is put back", rule: "a worker that stood still puts back no count", file: nameRows,
		edits: edit("n.at <= at ||", "n.at <= max(n.at, at) ||")},
	{name: "orphans are not waited for", rule: "the retention", file: keyRows,
		edits: edit("before := now.Add(-s.Retention)", "before := now.Add(-s.Retention / 1000)")},
	{name: "uploads in flight are orphans", rule: "min_age: bytes may be before their row", file: keys,
		edits: edit("c.at.Sub(i.ModTime) < c.Rules.MinAge ||", "c.at.Sub(i.ModTime) < 0 ||")},
	{name: "orphans are deleted however late", rule: "a delete is sent soon after it was looked", file: orphans,
		edits: edit("inTime(ctx, k.Boot, began, orphanWithin)", "inTime(ctx, k.Boot, began, 1000*orphanWithin)")},
	{name: "an orphan's time is counted from the answer", rule: "a delete is sent soon after it was looked", file: orphans,
		edits: edit("inTime(ctx, k.Boot, began, orphanWithin)", "inTime(ctx, k.Boot, max(began, k.Boot.Now()), orphanWithin)")},
	{name: "a run deletes all there are", rule: "most", file: orphans,
		edits: edit("c.left -= len(seen.Condemned)", "c.left -= min(len(seen.Condemned), 0)")},
	{name: "a query may name nothing", rule: "few rows: none", file: keySpec,
		edits: edit("	if rows == 0 {\n		return fmt.Errorf(", "	if rows == 0 {\n		return nil\n	}\n	if rows < 0 {\n		return fmt.Errorf(")},
	{name: "most keys may vanish between runs", rule: "few rows: least", file: fewRows,
		edits: edit("max(1, int64(math.Ceil(least*float64(of))))", "max(1, int64(math.Ceil(least*float64(of)/1000)))")},
	{name: "keys that lie elsewhere count", rule: "few rows: those below the prefix", file: keys,
		edits: edit("; ok && key != c.rows.key {", "; (ok || !ok) && key != c.rows.key {")},
	{name: "a bucket that was listed in part ends a comparison", rule: "what a listing leaves out is not gone", file: keys,
		edits: edit("	if err != nil {\n		return fmt.Errorf(\"list %s", "	if err != nil && c.rows == nil {\n		return fmt.Errorf(\"list %s")},
	{name: "orphans that failed are taken for gone", rule: "only what is confirmed is gone", file: orphans,
		edits: edit("if blob.Gone(keyErr) {", "if blob.Gone(keyErr) || i < len(results) {")},
	{name: "what was put meanwhile is missing", rule: "keys without an object are looked at again", file: keys,
		edits: edit("			if there {\n				continue", "			if there && c.rows == nil {\n				continue")},
	{name: "rows that are gone miss their objects", rule: "keys without an object are looked at again", file: keys,
		edits: edit("named, err := c.Rows.Named(ctx, keys)\n	if err != nil {\n		return err\n	}\n	var missing", "named, err := c.Rows.Named(ctx, keys)\n	if named = keys; err != nil {\n		return err\n	}\n	var missing")},
})
