package house

import (
	"go/ast"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// clockFiles may read the machine's clock: one for all that is ours, and one for an
// example that stands for the application of others and imports nothing of ours.
var clockFiles = []string{"time.go", "examples/pastebin/paste/clock.go"}

// Clock reports uses of time.Now, time.Since and time.Until outside of the files
// that may (docs/protocol.md, rule 10). Timers and tickers are allowed.
func Clock(files []*File) []Finding {
	var out []Finding
	for _, f := range goFiles(files) {
		if slices.Contains(clockFiles, f.Path) {
			continue
		}
		out = append(out, selectors(f, []string{"time"}, func(name string) string {
			if name == "Now" || name == "Since" || name == "Until" {
				return "time." + name + " reads the machine's clock: take a lethe.Clock or a lethe.Time"
			}
			return ""
		})...)
	}
	return out
}

// seeded are the names of math/rand that do not draw from the global source.
var seeded = []string{"New", "NewSource", "NewPCG", "NewChaCha8", "NewZipf", "Rand", "Source", "Source64", "PCG", "ChaCha8", "Zipf"}

// Randomness reports uses of math/rand's global source outside of tests: what
// is drawn must be replayable from a seed, or come from crypto/rand.
func Randomness(files []*File) []Finding {
	var out []Finding
	for _, f := range goFiles(files) {
		if f.IsTest() {
			continue
		}
		out = append(out, selectors(f, []string{"math/rand", "math/rand/v2"}, func(name string) string {
			if slices.Contains(seeded, name) {
				return ""
			}
			return "rand." + name + " draws from the global source: pass the source of randomness in"
		})...)
	}
	return out
}

// Templates reports imports of template packages outside of tests. They call methods by
// name, after which the linker drops no exported method of any type: lethe grows by a third.
func Templates(files []*File) []Finding {
	var out []Finding
	for _, f := range goFiles(files) {
		if f.IsTest() {
			continue
		}
		for _, spec := range f.Go.Imports {
			if path := spec.Path.Value; path == `"text/template"` || path == `"html/template"` {
				out = append(out, f.at(spec, "imports %s: the linker then keeps every exported method; write the text with fmt or html.EscapeString", path))
			}
		}
	}
	return out
}

// selectors applies complain to each name that the file selects from one of the
// packages, and reports what is not "". A dot import of them is reported too.
func selectors(f *File, paths []string, complain func(name string) string) []Finding {
	var out []Finding
	local := map[string]bool{}
	for _, spec := range f.Go.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil || !slices.Contains(paths, path) {
			continue
		}
		switch {
		case spec.Name == nil && strings.HasPrefix(path, "math/rand"):
			local["rand"] = true
		case spec.Name == nil:
			local[path] = true
		case spec.Name.Name == ".":
			out = append(out, f.at(spec, "dot import of %s: import it by name", path))
		default:
			local[spec.Name.Name] = true
		}
	}
	ast.Inspect(f.Go, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := sel.X.(*ast.Ident); ok && local[x.Name] {
			if text := complain(sel.Sel.Name); text != "" {
				out = append(out, f.at(n, "%s", text))
			}
		}
		return true
	})
	return out
}

var (
	suppression = regexp.MustCompile(`^//\s*(nolint|lint:|#nosec|revive:)`)
	bannerStart = regexp.MustCompile(`^(//|/\*)? ?[-=#*~_]{4,}`)
	bannerEnd   = regexp.MustCompile(`^// .*\s[-=#*~_]{4,}$`)
	reminder    = regexp.MustCompile(`\b(TODO|FIXME|XXX|HACK)\b`)
)

// Suppressions reports comments that silence a linter.
func Suppressions(files []*File) []Finding {
	return comments(files, suppression, "silences a linter: mend what it complains about")
}

// Banners reports comments that draw lines between sections.
func Banners(files []*File) []Finding {
	out := comments(files, bannerStart, "section banner: a file that needs sections wants to be two files")
	return append(out, comments(files, bannerEnd, "section banner: a file that needs sections wants to be two files")...)
}

// Reminders reports comments that put work off.
func Reminders(files []*File) []Finding {
	return comments(files, reminder, "reminder of work to do: do it, or say in the docs that it is left out")
}

// comments reports every comment line that matches.
func comments(files []*File, re *regexp.Regexp, text string) []Finding {
	var out []Finding
	for _, f := range written(files) {
		for _, group := range f.Go.Comments {
			for _, c := range group.List {
				for i, line := range strings.Split(c.Text, "\n") {
					if re.MatchString(line) {
						out = append(out, Finding{f.Path, f.line(c.Pos()) + i, text})
					}
				}
			}
		}
	}
	return out
}
