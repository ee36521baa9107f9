package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// literal returns the text of a string literal.
func literal(e ast.Expr) (string, bool) {
	l, ok := e.(*ast.BasicLit)
	if !ok || l.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(l.Value)
	return text, err == nil
}

// typeName returns the last part of the name of a literal's type.
func typeName(e ast.Expr) string {
	switch t := e.(type) {
	case *ast.Ident:
		return t.Name
	case *ast.SelectorExpr:
		return t.Sel.Name
	}
	return ""
}

// eachLiteral calls fn for each composite literal in a folder's files, except
// tests.
func eachLiteral(t *testing.T, folder string, fn func(*ast.CompositeLit)) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %v, %v", folder, files, err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if c, ok := n.(*ast.CompositeLit); ok {
				fn(c)
			}
			return true
		})
	}
}

// stages returns those in the sources: of transactions that fail, and of what
// objects, placement and the cleaner report after giving up.
func stages(t *testing.T) []string {
	t.Helper()
	found := map[string]bool{}
	source, err := os.ReadFile("../../internal/app/lost.go")
	if err != nil {
		t.Fatal(err)
	}
	_, list, ok := strings.Cut(string(source), "var stages = map[string]string{")
	list, _, _ = strings.Cut(list, "\n}")
	if !ok {
		t.Fatal("../../internal/app/lost.go has no list of stages")
	}
	for pair := range strings.SplitSeq(list, ",") {
		if _, name, ok := strings.Cut(pair, ": "); ok {
			found[strings.Trim(name, `"`)] = true
		}
	}
	for folder, types := range map[string][]string{"../../object": {"Unrecorded"}, "../../internal/app": {"lost"}} {
		eachLiteral(t, folder, func(c *ast.CompositeLit) {
			if !slices.Contains(types, typeName(c.Type)) {
				return
			}
			for _, e := range c.Elts {
				if text, ok := literal(e); ok {
					found[text] = true
				}
			}
		})
	}
	return slices.Sorted(maps.Keys(found))
}

// rows returns the first column of the table whose head begins with the given
// column.
func rows(text, head string) (out []string) {
	_, table, _ := strings.Cut(text, "\n| "+head+" |")
	table, _, _ = strings.Cut(table, "\n\n")
	for line := range strings.Lines(table) {
		if name, ok := strings.CutPrefix(line, "| `"); ok {
			name, _, _ = strings.Cut(name, "`")
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// The runbook of LetheEnqueueFailures explains exactly the stages in the
// sources, and the metric's section has a row for each reason.
func TestExplainNamesTheStage(t *testing.T) {
	book, err := os.ReadFile(runbooks)
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(book), "\n## LetheEnqueueFailures\n")
	section, _, _ = strings.Cut(section, "\n## ")
	have, want := rows(section, "stage"), stages(t)
	if len(want) < 8 || !slices.Equal(have, want) {
		t.Errorf("the runbook explains the stages %q, the sources have %q", have, want)
	}
	want = []string{"canceled", "corrupt", "error", "timeout", "unavailable", "unknown"}
	if reasons := rows(section, "reason"); !slices.Equal(reasons, want) {
		t.Errorf("the runbook explains the reasons %q, want %q", reasons, want)
	}
	source, err := os.ReadFile("../../internal/app/outcome.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range want {
		if !strings.Contains(string(source), strconv.Quote(name)) {
			t.Errorf("../../internal/app/outcome.go has no outcome %q", name)
		}
	}
}
