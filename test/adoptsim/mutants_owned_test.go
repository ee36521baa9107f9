package adoptsim_test

import (
	"github.com/lethe-storage/lethe/test/adoptsim"
	"github.com/lethe-storage/lethe/test/mutation"
)

const (
	owned    = "adopt/owned.go"
	ownedMem = "adopt/memadopt/owned.go"
	database = "adopt/memadopt/db.go"
)

// ownedMutants are the rules of rows that own objects, or folders, taken away.
var ownedMutants = of(adoptsim.Owned, []mutant{
	// What protects names that are used again.
	{name: "what goes may be named by a new row", rule: "a mark refuses rows", file: ownedMem,
		edits: edit("if err := db.guard(key); err != nil {", "if err := db.guard(key); err != nil && len(had) > 0 {")},
	{name: "what goes may be named by a row that moves", rule: "a mark refuses rows", file: ownedMem,
		edits: edit("if err := db.guard(key); err != nil {", "if err := db.guard(key); err != nil && len(had) == 0 {")},
	{name: "what another row owns goes", rule: "rows are asked in the transaction that condemns", file: database,
		edits: edit("r.Content == content || slices.Contains(db.owns.of(r), content)", "r.Content == content")},
	{name: "a folder of which a part is gone is taken for untouched", rule: "what was touched stays closed", file: owned,
		edits: edit("case err != nil && touched:", "case err != nil && touched && key == rest:")},
	{name: "pages that are answered in part touch nothing", rule: "what was touched stays closed", file: owned,
		edits: edit("	return some, answered, cmp.Or(certain, late)\n", "	return some && certain == nil, answered, cmp.Or(certain, late)\n")},
	{name: "pages go however late", rule: "a page is deleted while its mark stands", file: clean,
		edits: edit("inTime(ctx, c.Boot, began, c.Grace.sendWithin())", "inTime(ctx, c.Boot, began, 1000*time.Hour)")},
	{name: "the time of pages is counted from the mark's answer", rule: "a page is deleted while its mark stands", file: clean,
		edits: edit("inTime(ctx, c.Boot, began,", "inTime(ctx, c.Boot, max(began, c.Boot.Now()),")},
	{name: "each page has its own time", rule: "a page is deleted while its mark stands", file: owned,
		edits: edit("results, err := e.Store.Delete(ctx, keys)", "results, err := e.Store.Delete(context.WithoutCancel(blob.WithCheck(context.Background(), func() error { return nil })), keys)")},
	{name: "what an answer leaves out of a page is gone", rule: "an answer is checked against the request", file: owned,
		edits: edit("	for _, keyErr := range blob.Outcomes(keys, results, err) {\n", "	for i, keyErr := range blob.Outcomes(keys, results, err) {\n		if i >= len(results) && err == nil {\n			keyErr = nil\n		}\n")},
	{name: "pages whose end was not seen are forgotten", rule: "Late: a delete may take effect later", file: contents,
		edits: edit("			m.unseen(o, now.Add(g.Late))\n			if m", "			m.unseen(o, now)\n			if m")},
	{name: "folders are taken over at once", rule: "Late: the worker before may still delete", file: contents,
		edits: edit("takeover := now.Add(r.Late)", "takeover := now")},

	// What keeps what somebody holds.
	{name: "what rows own is not looked up in the holds", rule: "holds are looked at in the transaction that condemns", file: contents,
		edits: edit("case holds.Object(m.Object) != nil:", "case holds.Object(m.Object) != nil && m.Attempts > 1000:")},
	{name: "a hold on an object does not keep the folder that a row owned", rule: "a folder stays for what is held in it", file: holds,
		edits: edit("	if strings.HasSuffix(key, \"/\") {\n		return hs.Folder(key)", "	if strings.HasSuffix(key, \"//\") {\n		return hs.Folder(key)")},
	{name: "a hold is told of no delete of what rows owned", rule: "a hold tells of the deletes that may yet take effect", file: memHolds,
		edits: edit("		if until > now &&", "		if m.State != Condemned && until > now &&")},
	{name: "a hold is not told of deletes whose end was not seen", rule: "a hold tells of the deletes that may yet take effect", file: memHolds,
		edits: edit("		if until > now &&", "		if m.State == Condemned && until > now &&")},
	{name: "a hold is told of deletes by when they are sent", rule: "a hold tells of the deletes that may yet take effect", file: memHolds,
		edits: edit("until = max(until, m.Due.Add(db.o.Grace.Landed()-db.o.Grace.Late))", "until = max(until, m.Due.Add(-db.o.Grace.Late))")},

	// What leaves nothing behind.
	{name: "what expired rows owned stays", rule: "what a row leaves behind is written down", file: records,
		edits: edit("db.leave(db.owns.of(r), nil)", "db.leave(nil, db.owns.of(r))")},
	{name: "what deleted rows owned stays", rule: "what a row leaves behind is written down", file: app,
		edits: edit("db.leave(db.owns.of(r), nil)", "db.leave(nil, db.owns.of(r))")},
	{name: "what moved rows owned stays", rule: "what a row leaves behind is written down", file: ownedMem,
		edits: edit("db.leave(had, db.owns.of(r))", "db.leave(nil, had)")},
	{name: "a folder ends with its first page", rule: "a folder ends once a listing shows nothing", file: owned,
		edits: edit("if err == nil && len(page) == 0 {", "if err == nil && (len(page) == 0 || touched) {")},
	{name: "a listing of a folder that failed shows nothing", rule: "a folder ends once a listing shows nothing", file: owned,
		edits: []mutation.Edit{{Old: "		return nil, fmt.Errorf(\"list it", New: "		return nil, nil\n	}\n	if err != nil && prefix == \"\" {\n		return nil, fmt.Errorf(\"list it"}}},
	{name: "objects that failed are taken for gone", rule: "only what is confirmed is gone", file: clean,
		edits: edit("if !blob.Gone(objectErr) {", "if !blob.Gone(objectErr) && i >= len(results) {")},
})
