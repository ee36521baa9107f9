package adoptsim_test

import (
	"github.com/lethe-storage/lethe/test/adoptsim"
)

const (
	folders     = "adopt/folders.go"
	folderPlan  = "adopt/folderplan.go"
	folderPurge = "adopt/folderpurge.go"
	fewRows     = "adopt/fewrows.go"
	folderRows  = "adopt/memadopt/folders.go"
	holds       = "adopt/holds.go"
	memHolds    = "adopt/memadopt/holds.go"
	nameRows    = "adopt/memadopt/names.go"
	soloRuns    = "ledger/memledger/runs.go"
)

// folderMutants are the rules of folders taken away.
var folderMutants = of(adoptsim.Folders, []mutant{
	// What keeps a folder from being marked.
	{name: "folders are marked at first sight", rule: "seen twice", file: folderRows,
		edits: edit("k.State <= adopt.FolderMarking && f.named[name] == 0 {", "k.State <= adopt.FolderMarking && f.named[name] == 0 || k == nil {")},
	{name: "young folders are noted", rule: "min_age: bytes may be before their row", file: folderPlan,
		edits: edit("f.Newest != 0 && now.Sub(f.Newest) < r.MinAge", "f.Newest != 0 && now.Sub(f.Newest) < 0")},
	{name: "what lives is not seen to", rule: "a row that comes back cancels", file: folderPlan,
		edits: edit("	case v.Live[f.Name]:", "	case v.Live[f.Name] && k.State == 0:")},
	{name: "folders are condemned without another look", rule: "rows are asked in the transaction that condemns", file: folderRows,
		edits: edit("k.State <= adopt.FolderMarking && f.named[name] == 0 {", "k.State <= adopt.FolderMarking {")},
	{name: "folders are condemned whatever their record", rule: "another worker may be further", file: folderRows,
		edits: edit("k != nil && k.State <= adopt.FolderMarking &&", "k != nil &&")},
	{name: "markers are put however late", rule: "a marker is put soon after it was looked", file: folders,
		edits: edit("inTime(ctx, p.Boot, began, lookedWithin), condemned", "inTime(ctx, p.Boot, began, 1000*lookedWithin), condemned")},
	{name: "a listing that broke off is believed", rule: "what it leaves out is not gone", file: folders,
		edits: edit("	return out, err\n}\n\n// add counts", "	return out, nil\n}\n\n// add counts")},
	{name: "a run takes all there are", rule: "most", file: folderPlan,
		edits: edit("if len(steps) <= most {", "if len(steps) <= max(most, len(steps)) {")},

	// What keeps a folder from being purged.
	{name: "the bucket's clock is not asked", rule: "the retention by both clocks", file: folderPlan,
		edits: edit("now.Sub(f.Marker) < r.Retention || v.Now", "v.Now")},
	{name: "the database's clock is not asked", rule: "the retention by both clocks", file: folderPlan,
		edits: edit("now.Sub(f.Marker) < r.Retention || v.Now.Sub(k.MarkedAt) < r.Retention", "now.Sub(f.Marker) < r.Retention")},
	{name: "a page goes without a marker", rule: "a marker removed by hand cancels", file: folderPurge,
		edits: edit(`		s.Why = "its marker was removed"`, `		s.Why = ""`)},
	{name: "any marker will do for a page", rule: "another marker than was put cancels", file: folderPurge,
		edits: edit("second(info.ModTime) != s.Known.MarkerAt", "second(info.ModTime) != s.Known.MarkerAt && p.broken")},
	{name: "what was written since goes", rule: "an object that is newer than the marker cancels", file: folderPurge,
		edits: edit("second(i.ModTime) >= f.Marker", "second(i.ModTime) >= f.Marker && f.Objects < 0")},
	{name: "pages go without another look", rule: "rows are asked before each page", file: folderRows,
		edits: edit("	if f.named[k.Name] > 0 {", "	if f.named[k.Name] > 1000 {")},
	{name: "any record will do for a page", rule: "a record that was lost waits again", file: folderRows,
		edits: edit("if !f.is(k) || f.known[k.Name].State < adopt.FolderMarked {", "if f.known[k.Name] == nil || f.known[k.Name].State < adopt.FolderMarked {")},
	{name: "pages go however late", rule: "a page is deleted soon after it was looked", file: folderPurge,
		edits: edit("inTime(ctx, p.Boot, began, lookedWithin)", "inTime(ctx, p.Boot, began, 1000*lookedWithin)")},
	{name: "a page's time is counted from the answer", rule: "a page is deleted soon after it was looked", file: folderPurge,
		edits: edit("inTime(ctx, p.Boot, began, lookedWithin)", "inTime(ctx, p.Boot, max(began, p.Boot.Now()), lookedWithin)")},
	{name: "a run goes on although rows vanish", rule: "rows are counted before each marker and page", file: nameRows,
		edits: edit("rows < floor {", "rows < min(floor, 0) {")},
	{name: "most rows may vanish between runs", rule: "least", file: fewRows,
		edits: edit("max(1, int64(math.Ceil(least*float64(of))))", "max(1, int64(math.Ceil(least*float64(of)/1000)))")},

	{name: "an older count is put back", rule: "a worker that stood still puts back no count", file: nameRows,
		edits: edit("n.at <= at ||", "n.at <= max(n.at, at) ||")},

	// What keeps what somebody holds.
	{name: "folders are condemned whatever is held", rule: "holds are looked at in the transaction that condemns", file: folderRows,
		edits: edit("		if f.holds.standing().Folder(name+\"/\") != nil {", "		if f.holds.standing().Folder(name+\"/\") != nil && f.named[name] > 0 {")},
	{name: "a held folder is purged", rule: "holds are looked at before each page", file: folderRows,
		edits: edit("	if f.holds.standing().Folder(k.Name+\"/\") != nil {", "	if f.holds.standing().Folder(k.Name+\"/\") != nil && f.named[k.Name] > 0 {")},
	{name: "a hold on an object does not keep its folder", rule: "a folder stays for what is held in it", file: holds,
		edits: edit("return object && strings.HasPrefix(h.Key, prefix) ||", "return object && h.Key == prefix ||")},
	{name: "a hold on a prefix keeps no folder below it", rule: "a folder stays for what is held in it", file: holds,
		edits: edit("|| h.Scope == HoldPrefix && strings.HasPrefix(prefix, h.Key)", "|| h.Scope == HoldPrefix && prefix == h.Key")},

	// What leaves nothing behind, and counts.
	{name: "the record goes before the marker", rule: "a marker without a record would not be found again", file: folders,
		edits: edit("	if s.Unmark {\n		if err := p.unmark", "	if err := p.Rows.Forget(ctx, s.Known); err != nil {\n		return err\n	}\n	if s.Unmark {\n		if err := p.unmark")},
	{name: "the marker of what lives again stays", rule: "a row that comes back cancels", file: folderPlan,
		edits: edit("p.cancel(s, k.State > FolderSeen, hasRow(k))", "p.cancel(s, false, hasRow(k))")},
	{name: "a page that finds something newer leaves the marker", rule: "what is not to go keeps no marker", file: folderPurge,
		edits: edit("found.newer), true", "found.newer), false")},
	{name: "any record of the state is forgotten", rule: "a worker that stood still forgets no other's marker", file: folderRows,
		edits: edit("if f.is(k) && f.known[k.Name].State == k.State {", "if f.known[k.Name] != nil && f.known[k.Name].State == k.State {")},
	{name: "failed objects are taken for gone", rule: "only what is confirmed is gone", file: folderPurge,
		edits: edit("if blob.Gone(keyErr) {", "if blob.Gone(keyErr) || i < len(results) {")},
	{name: "objects that an answer leaves out are taken for gone", rule: "only what is confirmed is gone", file: folderPurge,
		edits: edit("if blob.Gone(keyErr) {", "if blob.Gone(keyErr) || i >= len(results) && err == nil {")},
	{name: "a folder ends with objects that stuck", rule: "the marker goes last", file: folderPurge,
		edits: edit("	if broken {", "	if broken && s.Known.Purged < 0 {")},

	// One instance at a time.
	{name: "a run in progress is taken over at once", rule: "a run that gives signs of life is alone", file: soloRuns,
		edits: edit("r.Worker != s.Run.Worker && db.now.Sub(r.BeatAt) < s.Stale", "r.Worker != s.Run.Worker && db.now.Sub(r.BeatAt) < 0")},
	{name: "a success that was not seen is not asked for", rule: "the interval since the last success", file: soloRuns,
		edits: edit(`r.Outcome == "ok" && r.StartedAt > s.Seen`, `r.Outcome == "ok" && r.StartedAt > max(s.Seen, r.StartedAt)`)},
})

// of is mutants that worlds of a site show.
func of(site adoptsim.Site, list []mutant) []mutant {
	for i := range list {
		list[i].site = site
	}
	return list
}
