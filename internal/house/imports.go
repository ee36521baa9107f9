package house

import (
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// Module is the path of the module whose imports are checked.
const Module = "github.com/lethe-storage/lethe"

// rooms give every folder its rank; a folder belongs to the room with the
// longest matching name. A package imports its own room and rooms of a lower
// rank only. Rooms of equal rank do not import each other: object and reclaim
// share rows, not calls. Ranks of internal packages and of test equipment are
// derived.
var rooms = map[string]int{
	"": 0,
	// Values: lifecycle rules, which the ledger evaluates where it writes; receipts of
	// deletion, which it writes where it deletes; plans, schedules, and how fast the
	// engine may go.
	"lifecycle": 5, "receipt": 5, "notification": 5, "reclaim/plan": 5, "reclaim/schedule": 5, "reclaim/throttle": 5,
	// The contracts, and the ledger's two engines.
	"blob": 10, "ledger": 10, "cache": 10,
	"ledger/memledger": 11, "ledger/sqlledger": 12,
	// The types of the admin API know the contract, and neither engine.
	"admin/api": 11,
	// reclaim/routine, reclaim/pairing and reclaim/reconcile import reclaim, so that the
	// compiler keeps the loop from importing them.
	"object": 20, "reclaim": 20, "placement": 20, "adopt": 20,
	// The suite of ledgers uses the interfaces of its users.
	"ledger/ledgertest": 25,
	"s3":                30, "paste": 30, "admin/service": 30, "admin/metrics": 30,
	// The console asks the admin API within the process.
	"console": 31,
	// authz authorises in terms of S3; the gateway serves both.
	"s3/authz": 31, "s3/gateway": 32,
	"cmd": 40, "bench": 40, "examples": 40,
	// Applications of their own, which import nothing of ours: tests in any room may
	// drive them.
	"examples/pastebin/paste": 5, "examples/recordings/recording": 5,
}

// confined are the libraries, by the beginning of their path, that one room alone
// imports, tests included.
var confined = map[string]string{
	"github.com/versity/versitygw": "s3/gateway",
	"github.com/gofiber/":          "s3/gateway",
	"github.com/valyala/fasthttp":  "s3/gateway",
}

// light are the packages that are linked with the types and the client of the admin API:
// they import each other, the standard library and lightLibrary.
var light = []string{"admin/api", "", "cache", "ledger", "lifecycle", "notification", "receipt", "reclaim/plan"}

// lightLibrary compresses receipts.
const lightLibrary = "github.com/klauspost/compress/"

// rankInternal is the rank of an internal package that imports nothing of ours;
// rankCommand is what no internal package may reach.
const (
	rankInternal = 1
	rankCommand  = 40
)

// Imports reports imports that point against the table of rooms, folders that
// the table does not know, and a root package that imports more than the
// standard library.
func Imports(files []*File) []Finding {
	g := newGraph(goFiles(files))
	var out []Finding
	for _, f := range goFiles(files) {
		room, ok := roomOf(f.Dir())
		if !ok {
			out = append(out, f.at(f.Go, "folder %q is in no room: add it to the table in internal/house/imports.go", f.Dir()))
			continue
		}
		for _, spec := range f.Go.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				continue
			}
			if why := g.refuse(f, room, name); why != "" {
				out = append(out, f.at(spec, "%s", why))
			}
		}
	}
	return out
}

// graph knows what each internal package imports, tests left out.
type graph struct{ internal map[string][]string }

func newGraph(files []*File) graph {
	g := graph{map[string][]string{}}
	for _, f := range files {
		room, _ := roomOf(f.Dir())
		if f.IsTest() || !isDerived(room) {
			continue
		}
		for _, spec := range f.Go.Imports {
			if to, ok := folder(strings.Trim(spec.Path.Value, `"`)); ok {
				g.internal[room] = append(g.internal[room], to)
			}
		}
	}
	return g
}

// refuse returns why the file of the room must not import the path, "" if it
// may.
func (g graph) refuse(f *File, room, path string) string {
	if why := refuseHeavy(f, path); why != "" {
		return why
	}
	to, ours := folder(path)
	if !ours {
		if room == "" && !f.IsTest() && strings.Contains(strings.SplitN(path, "/", 2)[0], ".") {
			return fmt.Sprintf("the root package imports %s: it imports the standard library only", path)
		}
		return refuseLibrary(room, path)
	}
	target, ok := roomOf(to)
	if !ok || target == room || suiteFor(f, to) {
		return ""
	}
	have, want := g.rank(room, nil), g.rank(target, nil)
	if isDerived(room) {
		have = rankCommand
	}
	if want < have {
		return ""
	}
	return fmt.Sprintf("%s (rank %d) imports %s (rank %d): imports point to lower ranks only; declare the few methods needed as an interface here, or move the code down",
		title(room), have, title(target), want)
}

// refuseLibrary returns why the room must not import a library, "" if it may.
func refuseLibrary(room, path string) string {
	for library, only := range confined {
		if strings.HasPrefix(path, library) && room != only {
			return fmt.Sprintf("%s imports %s: only %s does; translate its types there", title(room), path, only)
		}
	}
	return ""
}

// refuseHeavy returns why a light package must not import the path, "" if it may.
func refuseHeavy(f *File, path string) string {
	if f.IsTest() || !slices.Contains(light, f.Dir()) {
		return ""
	}
	to, ours := folder(path)
	library := strings.Contains(strings.SplitN(path, "/", 2)[0], ".")
	if ours && slices.Contains(light, to) || !ours && (!library || strings.HasPrefix(path, lightLibrary)) {
		return ""
	}
	return fmt.Sprintf("%s imports %s: who links admin/api links %s, and must not link an engine, a backend or a server; declare what is needed where the work is done",
		title(f.Dir()), path, title(f.Dir()))
}

// suiteFor reports that the file is an external test that runs a conformance
// suite: the package under test does not import what the suite does.
func suiteFor(f *File, to string) bool {
	return f.IsTest() && strings.HasSuffix(f.Go.Name.Name, "_test") && strings.HasSuffix(to, "test")
}

// rank of an internal room is one above the highest that it imports.
func (g graph) rank(room string, seen []string) int {
	if r, ok := rooms[room]; ok {
		return r
	}
	r := rankInternal
	for _, s := range seen {
		if s == room {
			return r
		}
	}
	for _, to := range g.internal[room] {
		if target, ok := roomOf(to); ok && target != room {
			r = max(r, g.rank(target, append(seen, room))+1)
		}
	}
	return r
}

// isDerived reports whether the room ranks above whatever it imports: internal packages
// and test equipment.
func isDerived(room string) bool {
	return strings.HasPrefix(room, "internal/") || strings.HasPrefix(room, "test/")
}

// roomOf returns the room of a folder; "internal/x" for internal packages, "test/x" for
// test equipment.
func roomOf(dir string) (string, bool) {
	for _, root := range []string{"internal", "test"} {
		if rest, ok := strings.CutPrefix(dir, root+"/"); ok {
			return root + "/" + strings.SplitN(rest, "/", 2)[0], true
		}
	}
	names := make([]string, 0, len(rooms))
	for name := range rooms {
		names = append(names, name)
	}
	sort.Slice(names, func(i, j int) bool { return len(names[i]) > len(names[j]) })
	for _, name := range names {
		if dir == name || name != "" && strings.HasPrefix(dir, name+"/") {
			return name, true
		}
	}
	return "", false
}

// folder returns the folder of a package of this module.
func folder(path string) (string, bool) {
	if path == Module {
		return "", true
	}
	return strings.CutPrefix(path, Module+"/")
}

func title(room string) string {
	if room == "" {
		return "the root package"
	}
	return room
}
