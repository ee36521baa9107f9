package house

import (
	"fmt"
	"strings"
	"testing"
)

// sample is a small set of files and the number of places in it that break the
// rule.
type sample struct {
	name  string
	files map[string]string
	want  int
}

// one makes a sample of one file in a room without rules of its own.
func one(name, src string, want int) sample {
	return sample{name, map[string]string{"object/x.go": src}, want}
}

// TestEveryRuleCanFail holds each rule against sources that break it and
// against sources that only look like it.
func TestEveryRuleCanFail(t *testing.T) {
	samples := map[string][]sample{}
	for _, table := range []map[string][]sample{sizeSamples(), docSamples(), importSamples(), banSamples(), textSamples(), nameSamples()} {
		for rule, list := range table {
			samples[rule] = list
		}
	}
	for _, rule := range Rules {
		t.Run(rule.Name, func(t *testing.T) {
			bad := 0
			for _, s := range samples[rule.Name] {
				bad += s.want
				check(t, rule, s)
			}
			if bad == 0 {
				t.Errorf("no sample breaks the rule")
			}
		})
	}
}

func check(t *testing.T, rule Rule, s sample) {
	t.Helper()
	var files []*File
	for name, src := range s.files {
		f := NewFile(name, []byte(src))
		if f.Err != nil && rule.Name != "parses" {
			t.Fatalf("%s: %v", s.name, f.Err)
		}
		files = append(files, f)
	}
	got := rule.Check(files)
	if len(got) != s.want {
		t.Errorf("%s: %d findings, want %d: %v", s.name, len(got), s.want, got)
	}
	for _, f := range got {
		if f.Path == "" || f.Line < 1 || f.Text == "" {
			t.Errorf("%s: finding without place or text: %+v", s.name, f)
		}
	}
}

// body is a function of n lines.
func body(n int) string {
	return "func f() {\n" + strings.Repeat("\tg()\n", n-2) + "}\n"
}

func sizeSamples() map[string][]sample {
	const head = "package x\n\n"
	return map[string][]sample{
		"function length": {
			one("as long as allowed", head+body(60), 0),
			one("one too long", head+body(61), 1),
			one("the doc comment does not count", head+"// f.\n// Long.\n"+body(60), 0),
			one("literal outside of functions", head+"var v = "+strings.Replace(body(61), "f()", "()", 1), 1),
			{"tests too", map[string]string{"object/x_test.go": head + body(61)}, 1},
		},
		"homonyms": {
			{"five", exporting("Thing", 5), 0},
			{"six", exporting("Thing", 6), 1},
			{"an idiom", exporting("Options", 6), 0},
			{"not exported", exporting("thing", 6), 0},
		},
		"file length": {
			one("500 lines", head+strings.Repeat("\n", 498), 0),
			one("501 lines", head+strings.Repeat("\n", 499), 1),
		},
		"interface size": {
			one("six", head+"type I interface{ A(); B(); C(); D(); E(); F() }", 0),
			one("seven", head+"type I interface{ A(); B(); C(); D(); E(); F(); G() }", 1),
			one("twelve with what it embeds", head+embedding(""), 0),
			one("thirteen", head+embedding("K; "), 1),
			{"of another package", map[string]string{
				"object/x.go": "package x\n\nimport \"" + Module + "/ledger\"\n\ntype I interface{ A(); B(); ledger.J }\n",
				"ledger/j.go": "package ledger\n\ntype J interface{ K; L }\ntype K interface{ C(); D(); E(); F(); G(); H() }\ntype L interface{ N(); O(); P(); Q(); R() }\n",
			}, 1},
			{"equipment may", map[string]string{"test/sim/x.go": head + embedding("K; ")}, 0},
			one("without a name", head+"var v interface{ A(); B(); C(); D(); E(); F(); G() }", 1),
		},
		"parameters": {
			one("five and a receiver", head+"func (t T) f(a, b int, c, d string, e bool) {}", 0),
			one("six", head+"func f(a, b int, c, d string, e, f bool) {}", 1),
			one("type, literal and method of an interface", head+
				"type F func(int, int, int, int, int, int)\nvar v = func(a, b, c, d, e, f int) {}\ntype I interface{ M(a, b, c, d, e, f int) }", 3),
			one("results do not count", head+"func f() (a, b, c, d, e, f int) { return }", 0),
		},
	}
}

// embedding declares an interface of six methods that embeds another of six, and more.
func embedding(more string) string {
	return "type J interface{ A(); B(); C(); D(); E(); F() }\ntype K interface{ M() }\n" +
		"type I interface{ J; " + more + "G(); H(); I(); J(); K(); L() }"
}

// exporting are so many packages with a type of that name.
func exporting(name string, n int) map[string]string {
	out := map[string]string{}
	for i := range n {
		out[fmt.Sprintf("internal/p%d/x.go", i)] = "package x\n\ntype " + name + " struct{}\n"
	}
	return out
}

func docSamples() map[string][]sample {
	return map[string][]sample{
		"package docs": {
			one("good", "// Package x is good.\npackage x\n", 0),
			one("none", "package x\n", 1),
			one("another name", "// Package y is not here.\npackage x\n", 1),
			one("a directive is none", "//go:build deps\n\npackage x\n", 1),
			{"two", map[string]string{"object/a.go": "// Package x is a.\npackage x\n", "object/b.go": "// Package x is b.\npackage x\n"}, 1},
			{"one of two", map[string]string{"object/a.go": "// Package x is a.\npackage x\n", "object/b.go": "package x\n"}, 0},
			{"same name elsewhere", map[string]string{"object/a.go": "// Package x is a.\npackage x\n", "blob/b.go": "package x\n"}, 1},
			{"command", map[string]string{"cmd/x/main.go": "// Command x does it.\npackage main\n"}, 0},
			{"external test", map[string]string{"object/x_test.go": "package x_test\n"}, 0},
			{"external test with one", map[string]string{"object/x_test.go": "// Package x tests.\npackage x_test\n"}, 1},
		},
		"exported docs": {
			one("documented", "package x\n\n// F does.\nfunc F() {}\n\n// T is.\ntype T int\n\n// M does.\nfunc (t *T) M() {}\n", 0),
			one("bare", "package x\n\nfunc F() {}\n\ntype T int\n\nfunc (t *T) M() {}\n\nconst C = 1\n\nvar V int\n", 5),
			one("private", "package x\n\nfunc f() {}\n\ntype t int\n\nfunc (t t) String() string { return \"\" }\n", 0),
			one("a directive is no comment", "package x\n\n//go:noinline\nfunc F() {}\n", 1),
			one("groups", "package x\n\n// All of them.\nconst (\n\tA = 1\n\tB = 2\n)\n\nvar (\n\tC = 1 // c\n\t// D is.\n\tD = 2\n\tE = 3\n)\n", 1),
			one("types in a group need their own", "package x\n\n// All.\ntype (\n\tA int\n\t// B is.\n\tB int\n)\n", 1),
			one("generic receiver", "package x\n\n// T is.\ntype T[A, B any] struct{}\n\nfunc (t *T[A, B]) M() {}\n", 1),
			{"commands and tests", map[string]string{"cmd/x/a.go": "package main\n\nfunc F() {}\n", "object/x_test.go": "package x\n\nfunc F() {}\n"}, 0},
		},
	}
}

// importing makes a file that imports folders of the module.
func importing(folders ...string) string {
	src := "package x\n\n"
	for _, f := range folders {
		src += "import _ \"" + strings.TrimSuffix(Module+"/"+f, "/") + "\"\n"
	}
	return src
}

func importSamples() map[string][]sample {
	at := func(name, path, src string, want int) sample {
		return sample{name, map[string]string{path: src}, want}
	}
	return map[string][]sample{"equipment": {
		at("the product", "object/x.go", importing("test/failpoint", "blob/blobtest", "test/sim"), 3),
		at("its tests", "object/x_test.go", importing("test/failpoint"), 0),
		at("other equipment", "bench/x.go", importing("test/servers", "test/sim/x"), 0),
		at("a build for tests", "cmd/x/x.go", "//go:build failpoints\n\n"+importing("test/failpoint"), 0),
		at("a build without them", "cmd/x/x.go", "//go:build !failpoints && linux\n\n"+importing("test/failpoint"), 1),
	}, "imports": {
		at("down", "object/x.go", importing("ledger", "blob", ""), 0),
		at("within the room", "blob/memblob/x.go", importing("blob", "blob/blobtest"), 0),
		at("up", "ledger/x.go", importing("object"), 1),
		at("sideways", "object/x.go", importing("reclaim"), 1),
		at("sideways in a test", "reclaim/x_test.go", importing("object"), 1),
		at("the simulation joins both", "test/sim/x.go", importing("object", "reclaim"), 0),
		at("the engine does not know the front", "reclaim/x.go", importing("s3"), 1),
		at("an external test runs a suite", "object/x_test.go", strings.Replace(importing("ledger/ledgertest"), "package x", "package x_test", 1), 0),
		at("an internal test runs a suite", "object/x_test.go", importing("ledger/ledgertest"), 1),
		at("root imports ours", "lethe.go", importing("blob"), 1),
		at("root imports others", "lethe.go", "package x\n\nimport _ \"pgregory.net/rapid\"\n", 1),
		at("root imports the standard library", "lethe.go", "package x\n\nimport _ \"encoding/json\"\n", 0),
		at("tests of the root import others", "x_test.go", "package x\n\nimport _ \"pgregory.net/rapid\"\n", 0),
		at("unknown folder", "stuff/x.go", "package x\n", 1),
		at("like a room by name", "metadata/x.go", "package x\n", 1),
		at("a room drives the application of the examples", "adopt/x_test.go", importing("examples/pastebin/paste"), 0),
		at("no room drives its command", "adopt/x_test.go", importing("examples/pastebin"), 1),
		at("another room knows the gateway", "s3/x_test.go", "package x\n\nimport _ \"github.com/versity/versitygw/auth\"\n", 1),
		at("another room knows the web server", "cmd/x/x.go", "package x\n\nimport (\n\t_ \"github.com/gofiber/fiber/v3\"\n\t_ \"github.com/valyala/fasthttp\"\n)\n", 2),
		at("one room knows both", "s3/gateway/x.go", "package x\n\nimport (\n\t_ \"github.com/versity/versitygw/auth\"\n\t_ \"github.com/gofiber/fiber/v3\"\n)\n", 0),
		at("the admin API's types", "admin/api/x.go", importing("", "ledger", "receipt", "reclaim/plan"), 0),
		at("with what does the work", "admin/api/x.go", importing("ledger/sqlledger", "ledger/memledger", "reclaim", "blob/s3blob", "admin/service"), 5),
		at("with a driver", "admin/api/x.go", "package x\n\nimport _ \"github.com/jackc/pgx/v5\"\n", 1),
		at("with a driver through a contract", "cache/x.go", "package x\n\nimport (\n\t_ \"github.com/redis/go-redis/v9\"\n\t_ \"net/http\"\n)\n", 1),
		at("with an engine through a contract", "ledger/x.go", importing("internal/sqldb"), 1),
		at("tests of the admin API's types", "admin/api/x_test.go", "package x\n\nimport _ \"github.com/invopop/jsonschema\"\n", 0),
		at("what serves the admin API", "admin/service/x.go", importing("admin/api", "ledger/sqlledger", "reclaim"), 0),
		at("who decides does not know the gateway", "s3/authz/x.go", importing("s3/gateway"), 1),
		at("command imports internal", "cmd/x/x.go", importing("internal/a", "s3", "reclaim"), 0),
		at("internal imports a command", "internal/a/x.go", importing("cmd/x"), 1),
		{"internal stands above what it imports", map[string]string{
			"internal/a/x.go": importing("object"), "object/x.go": importing("internal/a")}, 1},
		{"through another internal package", map[string]string{
			"internal/a/x.go": importing("internal/b"), "internal/b/x.go": importing("object"), "object/x.go": importing("internal/a")}, 1},
		{"internal of its own rank", map[string]string{
			"internal/a/x.go": importing(""), "object/x.go": importing("internal/a"), "internal/a/x_test.go": importing("object")}, 0},
	}}
}

func banSamples() map[string][]sample {
	return map[string][]sample{
		"clock": {
			one("three calls", "package x\n\nimport \"time\"\n\nvar a, b, c = time.Now, time.Since, time.Until\n", 3),
			one("renamed", "package x\n\nimport t \"time\"\n\nvar a = t.Now()\n", 1),
			one("dot", "package x\n\nimport . \"time\"\n\nvar a = Now()\n", 1),
			one("timers", "package x\n\nimport \"time\"\n\nvar a, b = time.NewTicker(time.Second), time.After(1)\n", 0),
			one("another Now", "package x\n\nvar a = clock.Now()\n", 0),
			{"tests too", map[string]string{"object/x_test.go": "package x\n\nimport \"time\"\n\nvar a = time.Now()\n"}, 1},
			{"where it is allowed", map[string]string{"time.go": "package x\n\nimport \"time\"\n\nvar a = time.Now()\n"}, 0},
			{"an example's own clock", map[string]string{"examples/pastebin/paste/clock.go": "package x\n\nimport \"time\"\n\nvar a = time.Now()\n"}, 0},
			{"beside an example's clock", map[string]string{"examples/pastebin/paste/x.go": "package x\n\nimport \"time\"\n\nvar a = time.Now()\n"}, 1},
		},
		"templates": {
			one("text", "package x\n\nimport _ \"text/template\"\n", 1),
			one("html, by another name", "package x\n\nimport page \"html/template\"\n\nvar _ page.HTML\n", 1),
			one("escaping", "package x\n\nimport _ \"html\"\n", 0),
			{"tests may", map[string]string{"object/x_test.go": "package x\n\nimport _ \"text/template\"\n"}, 0},
		},
		"randomness": {
			one("global", "package x\n\nimport \"math/rand/v2\"\n\nvar a = rand.IntN(3)\n", 1),
			one("old global", "package x\n\nimport \"math/rand\"\n\nvar a = rand.Intn(3)\n", 1),
			one("seeded", "package x\n\nimport \"math/rand/v2\"\n\nvar a = rand.New(rand.NewPCG(1, 2))\n", 0),
			one("crypto", "package x\n\nimport \"crypto/rand\"\n\nvar a = rand.Reader\n", 0),
			{"tests may", map[string]string{"object/x_test.go": "package x\n\nimport \"math/rand/v2\"\n\nvar a = rand.IntN(3)\n"}, 0},
		},
		"suppressions": {
			one("two linters", "package x\n\nvar a int //nolint:all\n\n//lint:ignore U1000 because\nvar b int\n", 2),
			one("only the word", "package x\n\n// No nolint here.\nvar a int\n", 0),
		},
		"banners": {
			one("lines", "package x\n\n//----------\n// Section\n// ==========\n\nvar a int\n", 2),
			one("with a title", "package x\n\n// ---- Section ----\nvar a int\n\n// Other ========\nvar b int\n", 3),
			one("in a block", "package x\n\n/*\n * Fine\n ****\n */\nvar a int\n", 1),
			one("a diagram", "package x\n\n// States:\n//\n//\ta ------> b\n//\t+-------+ |\nvar a int\n", 0),
		},
		"reminders": {
			one("two", "package x\n\n// TODO: later.\nvar a int // FIXME\n", 2),
			one("in a string", "package x\n\nvar a = \"TODO\"\n", 0),
		},
	}
}

func textSamples() map[string][]sample {
	text := func(name, src string, want int) sample {
		return sample{name, map[string]string{"docs/x.md": src}, want}
	}
	return map[string][]sample{
		"parses": {
			one("good", "package x\n", 0),
			one("bad", "package\n", 1),
		},
		"gofmt": {
			one("good", "package x\n\nvar a int\n", 0),
			one("bad", "package x\n\nvar a  int\n", 1),
			one("without the last newline", "package x\n\nvar a int", 1),
		},
		"file names": {
			{"vague", map[string]string{"object/utils.go": "package x\n", "object/helpers_test.go": "package x\n"}, 2},
			{"telling", map[string]string{"object/claims.go": "package x\n"}, 0},
		},
		"links": {
			{"pages", map[string]string{
				"docs/a.md": "# A page\n\n[b](b.md) [up](../README.md) [here](#a-page) [web](https://example.org/x.md) `[code](c.md)`\n",
				"docs/b.md": "[a](a.md#a-page) [no page](c.md) [no\nheading](a.md#a-pages) [gone](#gone)\n\n```\n# gone\n[x](x.md)\n```\n",
				"README.md": "[docs](docs)\n",
			}, 3},
			{"other files", map[string]string{
				"docs/a.md": "# A\n", "x/x.yaml": "# docs/a.md docs/a.md#a\n", "x/x.go": "package x\n\n// See docs/a.md#b and docs/b.md.\n",
			}, 2},
		},
		"page size": {
			text("a page", strings.Repeat("x", pageBytes), 0),
			text("a long page", strings.Repeat("x", pageBytes+1), 1),
			{"elsewhere", map[string]string{"README.md": strings.Repeat("x", 2*pageBytes), "docs/x.yaml": strings.Repeat("x", 2*docsBytes)}, 0},
			{"long together", manyPages(docsBytes/pageBytes + 1), 1},
		},
		"words": {
			text("path", "see /wo"+"rk/main\n", 1),
			text("path alone", "see `/wo"+"rk`\n", 1),
			text("another path", "see /tmp/br"+"ief/x\n", 1),
			text("part of a path", "see docs/wo"+"rk/main and /workers\n", 0),
			text("host", "from proxy.go"+"lang.org\n", 1),
			text("talk", "a Helper Ag"+"ent wrote it\n", 1),
			text("plain", "A worker, a session, a helper.\n", 0),
			one("in Go too", "package x\n\n// From /wo"+"rk/main.\nvar a int\n", 1),
		},
	}
}

// manyPages are n pages, none of them too long.
func manyPages(n int) map[string]string {
	pages := map[string]string{}
	for i := range n {
		pages[fmt.Sprintf("docs/%d.md", i)] = strings.Repeat("x", pageBytes)
	}
	return pages
}

func nameSamples() map[string][]sample {
	return map[string][]sample{
		"architecture": {
			{"what exists", map[string]string{
				"object/x.go":     "package object\n\ntype Store struct{ Cache int }\n\nfunc (s *Store) Put() {}\n\ntype L interface{ Get() }\n\nvar small = 1\n",
				"ARCHITECTURE.md": "`object` `object/x.go` `Store` `object.Store.Put` `Store.Cache` `L.Get` (`object/x.go`) `small`, not `make test`\n```\n`x`\n```\n",
			}, 0},
			{"what does not", map[string]string{
				"object/x.go": "package object\n\nfunc Put() { var Local int; _ = Local }\n", "object/y.go": "package object\n",
				"ARCHITECTURE.md": "`object/z.go` `Get` `Local` `Store.Put` `Put` (`object/y.go`) and `Put`\n(`object/z.go`)\n",
			}, 6},
			{"elsewhere", map[string]string{"README.md": "`Get`\n"}, 0},
		},
		"comment names": {
			{"what exists", map[string]string{
				"object/x.go": "package object\n\ntype Store struct{ Inner }\n\nfunc Put() {}\n\ntype Inner struct{}\n",
				"s3/x.go":     "package s3\n\n// See object.Store, object.Store.Get, object.Put, os.File and object.go.\nvar a int\n",
				"docs/x.md":   "`object.Store`, `Store.Get`, `store.get`\n",
			}, 0},
			{"a member of a number", map[string]string{
				"object/x.go": "package object\n\ntype Kind int\n",
				"s3/x.go":     "package s3\n\n// See object.Kind.Get.\nvar a int\n",
			}, 1},
			{"what does not", map[string]string{
				"object/x.go": "package object\n\ntype Store struct{}\n",
				"s3/x.go":     "package s3\n\n// See object.Get and object.Store.Get.\nvar a int\n",
				"docs/x.md":   "`Store.Get`\n",
			}, 3},
		},
	}
}
