package adoptsim_test

import (
	"slices"

	"github.com/lethe-storage/lethe/test/adoptsim"
	"github.com/lethe-storage/lethe/test/mutation"
)

// mutant is a break of one rule: what Old stands for becomes New.
type mutant struct {
	name  string
	rule  string // what it takes away
	file  string
	edits []mutation.Edit
	site  adoptsim.Site // whose worlds show it: of records, if it is empty
}

const (
	clean    = "adopt/clean.go"
	expire   = "adopt/expire.go"
	watchdog = "adopt/watchdog.go"
	records  = "adopt/memadopt/records.go"
	contents = "adopt/memadopt/contents.go"
	app      = "adopt/memadopt/app.go"
	moves    = "adopt/quarantine.go"
	restores = "adopt/restore.go"
	custody  = "adopt/quarantined.go"
	moved    = "adopt/memadopt/quarantine.go"
)

func edit(old, new string) []mutation.Edit { return []mutation.Edit{{Old: old, New: new}} }

// mutants are each guard taken away. Those in memadopt stand for the same rule of
// sqladopt.
var mutants = slices.Concat(recordMutants, numberedMutants, takenMutants, folderMutants, keyMutants, ownedMutants, pairedMutants)

// recordMutants are those of rows that expire.
var recordMutants = []mutant{
	// What protects names that are used again.
	{name: "no guard", rule: "a mark refuses references", file: app,
		edits: edit("m != nil && m.State != Waiting && !db.unguarded", "m != nil && m.State != Waiting && db.unguarded")},
	{name: "the guard looks away once the object is gone", rule: "LongestWrite: a mark outlasts the delete", file: app,
		edits: edit("m.State != Waiting && !db.unguarded", "m.State == Condemned && !db.unguarded")},
	{name: "marks end with the delete", rule: "LongestWrite: a mark outlasts the delete", file: contents,
		edits: edit("last.Add(longest)", "last")},
	{name: "marks end before they are due", rule: "LongestWrite: a mark outlasts the delete", file: contents,
		edits: edit("m.State == Gone && m.Due <= now", "m.State == Gone && m.Due <= max(now, m.Due)")},
	{name: "the longest write is counted from the confirmation", rule: "an unseen delete may take away what was uploaded right before it", file: contents,
		edits: edit("m.over(max(now, m.Unseen), db.lasts(g))", "m.over(max(now.Add(g.LongestWrite), m.Unseen), 0)")},
	{name: "unseen deletes are forgotten", rule: "Late: a delete may take effect later", file: contents,
		edits: edit("			m.unseen(o, now.Add(g.Late))\n			if m", "			m.unseen(o, now)\n			if m")},
	{name: "what had no response is forgotten with the next success", rule: "Late: a delete may take effect later", file: clean,
		edits: edit("blob.Unknown(objectErr) || errors.Is(objectErr, blob.ErrLate)", "blob.Unknown(objectErr)")},
	{name: "a delete that succeeded ends all others", rule: "Late: a delete may take effect later", file: contents,
		edits: edit("			m.unseen(o, now.Add(g.Late))\n			if !db", "			if !db")},
	{name: "unknown deletes are taken for not done", rule: "Late: a delete may take effect later", file: clean,
		edits: edit("blob.Unknown(objectErr)", "blob.Unknown(objectErr) && i >= len(results)")},
	{name: "keys that an answer leaves out are taken for not done", rule: "an answer is checked against the request", file: clean,
		edits: edit("blob.Unknown(objectErr)", "blob.Unknown(objectErr) && (i < len(results) || err != nil)")},
	{name: "failed calls are taken for not done", rule: "Late: a delete may take effect later", file: clean,
		edits: edit("blob.Unknown(objectErr)", "blob.Unknown(objectErr) && (i < len(results) || err == nil)")},
	{name: "marks are taken over at once", rule: "Late: the worker before may still delete", file: contents,
		edits: edit("takeover := now.Add(r.Late)", "takeover := now")},
	{name: "a takeover expects no delete of the worker before", rule: "Late: the worker before may still delete", file: contents,
		edits: edit("		m.Unseen = takeover\n	}\n	m.State", "		m.Unseen = max(m.Unseen, 0)\n	}\n	m.State")},
	{name: "deletes are sent however late", rule: "a delete is sent only while its mark stands", file: clean,
		edits: edit("inTime(ctx, c.Boot, began, c.Grace.sendWithin())", "inTime(ctx, c.Boot, began, 1000*time.Hour)")},
	{name: "time is counted from the mark's answer", rule: "a delete is sent only while its mark stands", file: clean,
		edits: edit("inTime(ctx, c.Boot, began,", "inTime(ctx, c.Boot, max(began, c.Boot.Now()),")},
	{name: "confirmations need no fence", rule: "what was taken over is the other's", file: contents,
		edits: edit("m.State != Condemned || m.Fence != fence", "m.State != Condemned")},
	{name: "failed deletes are taken for done", rule: "only what is confirmed is gone", file: clean,
		edits: edit("if !blob.Gone(objectErr) {", "if !blob.Gone(objectErr) && i >= len(results) {")},
	{name: "keys that an answer leaves out are taken for deleted", rule: "only what is confirmed is gone", file: clean,
		edits: edit("		o := Outcome{Content:", "		if i >= len(results) && err == nil {\n			objectErr = nil\n		}\n		o := Outcome{Content:")},
	{name: "what is referenced again is condemned", rule: "marks look again", file: contents,
		edits: []mutation.Edit{{Old: ", m.State == Waiting && c != nil && c.Count != 0:", New: ":"},
			{Old: "c != nil && (referenced || c.Count != 0)", New: "c != nil && referenced && c.Count < 0"}}},
	{name: "what was tried is let be once its content is forgotten", rule: "only the mark knows of it", file: contents,
		edits: edit("c == nil && m.Attempts == 0,", "c == nil,")},
	{name: "counts are believed where contents end with their rows", rule: "a count that is wrong deletes nothing", file: records,
		edits: edit("m.State != Waiting || db.referenced(content) ||", "m.State != Waiting ||")},
	{name: "contents that end with their rows are not looked up in the holds on objects", rule: "holds are looked at in the transaction that condemns", file: records,
		edits: edit(" || holds.Object(m.Object) != nil {", " || holds.Object(m.Object) != nil && m.Attempts > 1000 {")},
	{name: "marks of contents that end with their rows are taken over at once", rule: "Late: the worker before may still delete", file: records,
		edits: edit("m.mark(marked.Fence, now.Add(r.Late))", "m.mark(marked.Fence, now)")},
	{name: "other tables are not looked at", rule: "a count that is wrong deletes nothing", file: database,
		edits: edit("if db.o.Shared && db.pinned[content] {", "if !db.o.Shared && db.pinned[content] {")},
	{name: "counts are believed", rule: "a count that is wrong deletes nothing", file: contents,
		edits: edit("c != nil && (referenced || c.Count != 0)", "c != nil && (referenced && c.Count < 0 || c.Count != 0)")},

	// What keeps what somebody holds.
	{name: "settles do not look at holds", rule: "holds are looked at in the transaction that removes", file: records,
		edits: edit("		if holds.Row(r.Key) != nil {", "		if holds.Row(r.Key) != nil && r.End == 0 {")},
	{name: "marks do not look at holds on objects", rule: "holds are looked at in the transaction that condemns", file: contents,
		edits: edit("case holds.Object(m.Object) != nil:", "case holds.Object(m.Object) != nil && m.Attempts > 1000:")},
	{name: "marks do not look at holds on the collection", rule: "holds are looked at in the transaction that condemns", file: contents,
		edits: []mutation.Edit{{Old: "if len(due) == 0 || holds.All() != nil {", New: "if len(due) == 0 {"},
			{Old: "case holds.Object(m.Object) != nil:", New: "case holds.All() == nil && holds.Object(m.Object) != nil:"}}},

	{name: "holds end before their time", rule: "a hold stands until it is over", file: memHolds,
		edits: edit("h.Until != 0 && h.Until <= now })", "h.Until != 0 && h.Until <= now.Add(time.Hour) })")},
	{name: "holds that are over keep", rule: "a hold ends by itself", file: memHolds,
		edits: edit("h.Until != 0 && h.Until <= now })", "h.Until != 0 && h.Until <= min(now, 0) })")},

	// What protects rows that are extended, and copies.
	{name: "what was extended is removed", rule: "still expired", file: records,
		edits: edit("		if !r.expired(now) {\n			r.giveBack()", "		if !r.expired(now.Add(24 * time.Hour)) && r.End == 0 {\n			r.giveBack()")},
	{name: "settles need no fence", rule: "what was claimed by another is the other's", file: records,
		edits: edit("have.Status == Claimed && have.At == db.kept(c.At)", "have.Status == Claimed")},
	{name: "settles need no claim", rule: "still in progress", file: records,
		edits: edit("have.Status == Claimed && have.At == db.kept(c.At)", "have.Status != Deleted")},
	{name: "copies are not dropped", rule: "copies go before their row", file: expire,
		edits: edit("if e.Copies == nil || len(keys) == 0 {", "if e.Copies != nil || len(keys) == 0 {")},
	{name: "rows go although copies may be there", rule: "copies go before their row", file: expire,
		edits: edit("if err := e.drop(ctx, claim); err != nil {", "if err := e.drop(ctx, claim); err != nil && len(claim.Rows) == 0 {")},
	{name: "copies are not written down to be dropped once more", rule: "the second drop", file: records,
		edits: edit("	if len(keys) == 0 {\n		return\n	}\n	db.ids++", "	if len(keys) < 1000 {\n		return\n	}\n	db.ids++")},
	{name: "copies are dropped once more at once", rule: "CacheAgain: readers fill late", file: records,
		edits: edit("db.dropLater(after, append(keys, fresh...))", "db.dropLater(0, append(keys, fresh...))")},
	{name: "copies of rows that were changed since their claim stay", rule: "the second drop is of what a row has when it goes, too", file: records,
		edits: edit("return slices.Contains(had[r.Key], k)", "return len(had[r.Key]) > 0")},
	{name: "the second drop is not done", rule: "the second drop", file: watchdog,
		edits: edit("if err := r.Copies.Drop(ctx, a.Keys); err != nil {", "if err := r.Copies.Drop(ctx, a.Keys[:0]); err != nil {")},
	{name: "a second drop that failed is forgotten", rule: "the second drop", file: watchdog,
		edits: edit("if err := r.Copies.Drop(ctx, a.Keys); err != nil {", "if err := r.Copies.Drop(ctx, a.Keys); err != nil && len(a.Keys) == 0 {")},

	{name: "what failed is let go although an earlier delete may have had an effect", rule: "the mark", file: contents,
		edits: edit("if m.Unseen == 0 {", "if m.Fence == 0 {")},

	// What leaves nothing behind.
	{name: "the watchdog recovers nothing", rule: "nothing stays in progress", file: watchdog,
		edits: edit("w.Records.Recover(ctx, w.Grace.Watchdog, w.Batch)", "w.Records.Recover(ctx, w.Grace.Watchdog, 0)")},
	{name: "contents that others let go are not found", rule: "nothing stays without a reference", file: clean,
		edits: edit("p.Contents.Find(ctx, after, p.Batch, p.Grace.Unreferenced)", "p.Contents.Find(ctx, \"~\"+after, p.Batch, p.Grace.Unreferenced)")},
	{name: "one reference is counted for all rows", rule: "counting by what each row names", file: records,
		edits: edit("		c.Count -= n", "		c.Count -= min(n, 1)")},
	{name: "rows that were not removed are counted", rule: "counting by what each row names", file: records,
		edits: edit("			out.Returned++\n			continue\n", "			out.Returned++\n			references[r.Content]++\n			order = append(order, r.Content)\n			continue\n")},

	// What a quarantine needs, where no guard refuses anything.
	{name: "objects are deleted before their copy is on record", rule: "the record stands before the delete", site: adoptsim.Quarantined, file: moves,
		edits: edit("	if err != nil {\n		return err\n	}\n	m.wait(found, may)", "	if err != nil {\n		may = m.left(going)\n	}\n	m.wait(found, may)")},
	{name: "copies are not compared", rule: "a copy is compared with the object", site: adoptsim.Quarantined, file: moves,
		edits: edit("if err := c.same(ctx, m.seen[key], copied); err != nil {", "if err := c.same(ctx, m.seen[key], copied); err != nil && copied.Key == \"\" {")},
	{name: "nothing is copied back", rule: "what is referred to again is restored", site: adoptsim.Quarantined, file: restores,
		edits: edit("			case !there:\n				back = append(back, h.Key)", "			case !there:\n				back = nil")},
	{name: "copies overwrite what was put meanwhile", rule: "what lies in its place is newer", site: adoptsim.Quarantined, file: restores,
		edits: edit("c.Objects.CopyForeign(ctx, c.Copies, seen, rest, true)", "c.Objects.CopyForeign(ctx, c.Copies, seen, rest, false)")},
	{name: "what nothing refers to now is purged", rule: "what is known may be referred to without an upload", site: adoptsim.Quarantined, file: moved,
		edits: edit("return c.Count != 0 || db.referenced(c.Key), true", "return c.Count != 0 || db.referenced(c.Key), c.Count != 0 || db.referenced(c.Key)")},
	{name: "what silent workers began stays", rule: "nothing is kept for ever", site: adoptsim.Quarantined, file: restores,
		edits: edit("			spare = append(spare, h.Key)\n		case !h.Named", "			spare = append(spare, spare...)\n		case !h.Named")},
	{name: "what is over is not purged", rule: "nothing is kept for ever", site: adoptsim.Quarantined, file: restores,
		edits: edit("				over = append(over, h.Key)", "				over = append(over, over...)")},
	{name: "moved objects are not looked for once more", rule: "a mark ends only by a look without a row", site: adoptsim.Quarantined, file: contents,
		edits: edit("if n++; db.o.Quarantine && db.content(m) == nil {", "if n++; db.o.Quarantine && n < 0 {")},
}
