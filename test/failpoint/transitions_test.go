package failpoint

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	ledgers "github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/ledgertest"
)

// withoutPoints are the transitions around which no process is killed, and why.
var withoutPoints = map[string]string{
	"SetBucketOwner": bySomeone, "PutDocument": bySomeone, "DeleteDocument": bySomeone, "SetRules": bySomeone,
	"AddHold": bySomeone, "ReleaseHold": bySomeone, "AllowBeyondLimit": bySomeone, "Requeue": bySomeone, "WriteOff": bySomeone,
	"HoldBackend": repeated, "ChangeHold": repeated, "DoubtClock": repeated, "EndTrips": repeated, "EndStaleRuns": repeated,
	"IntendEpoch": bySomeone, "AcceptEpoch": bySomeone, "NoteBlocks": "one transaction that the next reader makes again", "CondemnLate": "a process that dies before it leaves what reconcile finds",
	"MarkSuspect": repeated, "MarkSound": repeated, "SaveUsage": repeated, "ReapplyRules": repeated, "AbortRuled": "as AbortStale, which has points",
	"CountRead":       "one transaction of a reader, who has had the read once it is done, with no effect beside it",
	"ClaimPlacements": repeated, "KeepPlacement": repeated, "QueuePlacements": repeated, "SettlePlacements": repeated, "TrimCopies": repeated,
	"SetDraining": bySomeone, "RemoveBackend": bySomeone,
	"SetNotifications": bySomeone, "RequeueEvents": bySomeone, "DropEvents": bySomeone, "TrimEvents": repeated,
	"ClaimEvents": delivery, "SettleEvents": delivery,
	"Evict":        "one transaction of a write that needs room, or of a batch, that the next one makes again, with no effect beside it",
	"NoteReads":    "one transaction of a batch of notes, which a process that dies loses, with no effect beside it",
	"SealReceipts": receipts, "DropReceipts": receipts, "Outcome": "it reads, behind all that was written before",
}

// Reasons.
const (
	bySomeone = "one transaction that a person asked for, with no effect beside it"
	repeated  = "one transaction of the engine that its next round makes again, with no effect beside it"
	delivery  = "an event that was sent and not settled is sent again; its own tests end a worker between the two"
	receipts  = "a segment stands in the ledger alone; its own tests cut the chain off"
)

// ledger is what objects and the engine need of the ledger.
type ledger interface {
	ledgertest.ObjectLedger
	ledgertest.EngineLedger
	ledgertest.PlacementLedger
	EndClaims(ctx context.Context, process string) (ledgers.EndedClaims, error) // of the start
}

// A transition of the ledger without points is one that no process dies at.
func TestEveryTransitionHasPoints(t *testing.T) {
	left, writes := maps.Clone(transitions), writers(t)
	for m := range reflect.TypeFor[ledger]().Methods() {
		step, ok := transitions[m.Name]
		reason := withoutPoints[m.Name]
		switch {
		case ok && reason != "":
			t.Errorf("%s has points, and is listed as one without (%s)", m.Name, reason)
		case ok && !writes[m.Name]:
			t.Errorf("%s has points and writes nothing, as far as can be seen", m.Name)
		case ok && !slices.Contains(steps, step):
			t.Errorf("%s runs under %q, which is no step", m.Name, step)
		case !ok && writes[m.Name] && reason == "":
			t.Errorf("%s writes, and has no points: add it to transitions, or list why not", m.Name)
		case reason != "" && !writes[m.Name]:
			t.Errorf("%s is listed as one that writes, and does not", m.Name)
		}
		delete(left, m.Name)
	}
	if len(left) > 0 {
		t.Errorf("these are no transitions of the ledger: %v", left)
	}
}

// methods are those of a type in the files, by name; their tags are not looked at.
func methods(t *testing.T, pattern, of string) map[string]*ast.FuncDecl {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %d files, %v", pattern, len(files), err)
	}
	out := map[string]*ast.FuncDecl{}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv != nil && receiver(fn) == of {
				out[fn.Name.Name] = fn
			}
		}
	}
	return out
}

func receiver(fn *ast.FuncDecl) string {
	typ := fn.Recv.List[0].Type
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	name, _ := typ.(*ast.Ident)
	if name == nil {
		return ""
	}
	return name.Name
}

// writers are the methods of the ledger that write, themselves or by others.
func writers(t *testing.T) map[string]bool {
	t.Helper()
	all := methods(t, filepath.Join("..", "..", "ledger", "sqlledger", "*.go"), "DB")
	writes := map[string]bool{"write": true, "writeAsking": true, "batch": true, "submit": true}
	for grown := true; grown; {
		grown = false
		for name, fn := range all {
			if !writes[name] && callsOne(fn, writes) {
				writes[name], grown = true, true
			}
		}
	}
	return writes
}

// callsOne says whether the method calls one of those on its own receiver.
func callsOne(fn *ast.FuncDecl, names map[string]bool) (found bool) {
	if len(fn.Recv.List[0].Names) == 0 {
		return false
	}
	self := fn.Recv.List[0].Names[0].Name
	ast.Inspect(fn, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && names[s.Sel.Name] {
			if on, ok := s.X.(*ast.Ident); ok && on.Name == self {
				found = true
			}
		}
		return !found
	})
	return found
}
