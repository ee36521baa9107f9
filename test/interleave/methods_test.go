package interleave_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"testing"
)

// apart are methods that change rows and meet nobody here, with the reason.
var apart = map[string]string{
	"PagesVisited": "it changes nothing, and counts what SQLite reads",
	"ResetClock":   "one process works on the ledger alone while a person sets its clock back",
	"ConfirmClock": "it changes one row, by what the process has seen of its clock",
	"DropLost":     "it removes one row of secrets, by the text that it has read, in one transaction",
	"SealAll":      "it changes the texts of secrets that it has read, in one transaction",
	"ClaimEvents":  ofTarget, "SettleEvents": ofTarget, "TrimEvents": ofTarget, "RequeueEvents": ofTarget, "DropEvents": ofTarget,
	"SweepDigests": "it is for SQLite, where one writes at a time",
	"Vacuum":       "it is for SQLite, where one writes at a time",
}

// ofTarget is the reason of what changes events that are there already.
const ofTarget = "it locks the row of its target first, so that two follow each other; those who write events insert rows, and meet no other"

// TestEveryMethod: what changes rows has an action, or stands apart with a reason.
func TestEveryMethod(t *testing.T) {
	covered := maps.Clone(apart)
	for _, x := range actions() {
		covered[x.method()] = x.name
	}
	changing := changingMethods(t)
	for _, m := range changing {
		if covered[m] == "" {
			t.Errorf("DB.%s changes rows: give it an action, with the rows that it changes and reads", m)
		}
	}
	for m := range covered {
		if !slices.Contains(changing, m) {
			t.Errorf("there is an action of DB.%s, which changes no rows", m)
		}
	}
}

// changingMethods are the exported methods of the ledger that run a transaction which
// writes, by themselves or by a method that is not exported.
func changingMethods(t *testing.T) (out []string) {
	t.Helper()
	calls := ledgerCalls(t)
	runs := func(name string) bool {
		return slices.ContainsFunc([]string{"write", "writeAsking", "batch", "batchFor"}, func(by string) bool { return slices.Contains(calls[name], by) })
	}
	for name, called := range calls {
		if ast.IsExported(name) && (runs(name) || slices.ContainsFunc(called, func(c string) bool { return !ast.IsExported(c) && runs(c) })) {
			out = append(out, name)
		}
	}
	return out
}

// ledgerCalls are what each method of the ledger calls, or names.
func ledgerCalls(t *testing.T) map[string][]string {
	t.Helper()
	files, err := filepath.Glob("../../ledger/sqlledger/*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	calls := map[string][]string{}
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Recv == nil || len(fn.Recv.List[0].Names) != 1 || fn.Recv.List[0].Names[0].Name != "db" {
				continue
			}
			ast.Inspect(fn.Body, func(n ast.Node) bool {
				if of, ok := n.(*ast.SelectorExpr); ok {
					calls[fn.Name.Name] = append(calls[fn.Name.Name], of.Sel.Name)
				}
				return true
			})
		}
	}
	return calls
}
