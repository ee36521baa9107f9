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

// literal is the text of a string literal.
func literal(e ast.Expr) (string, bool) {
	l, ok := e.(*ast.BasicLit)
	if !ok || l.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(l.Value)
	return text, err == nil
}

// typeName is the last part of the name of a literal's type.
func typeName(e ast.Expr) string {
	switch t := e.(type) {
	case *ast.Ident:
		return t.Name
	case *ast.SelectorExpr:
		return t.Sel.Name
	}
	return ""
}

// eachLiteral calls fn for each composite literal of a folder's files, those of
// tests left out.
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

// stages are those that the sources count: of fate's failures all that are not left
// to those who give up, and what those say.
func stages(t *testing.T) []string {
	t.Helper()
	found := map[string]bool{}
	eachLiteral(t, "../../internal/fate", func(c *ast.CompositeLit) {
		for _, e := range c.Elts {
			if kv, ok := e.(*ast.KeyValueExpr); ok && typeName(c.Type) == "Failure" && typeName(kv.Key) == "Stage" {
				if text, ok := literal(kv.Value); ok {
					found[text] = true
				}
			}
		}
	})
	source, err := os.ReadFile("app/fate.go")
	if err != nil {
		t.Fatal(err)
	}
	_, list, ok := strings.Cut(string(source), "var counted = []string{")
	list, _, _ = strings.Cut(list, "}")
	if !ok {
		t.Fatal("app/fate.go has no list of stages that others count")
	}
	for name := range strings.SplitSeq(list, ", ") {
		delete(found, strings.Trim(name, `"`))
	}
	// What has given up says its stage by a literal.
	for folder, types := range map[string][]string{"../../object": {"Unrecorded"}, "app": {"lost"}} {
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

// rows are the names in the first column of a table of a text, whose head begins
// with the given column.
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

// The runbook of LetheEnqueueFailures explains each stage that the sources count,
// and no other; and each reason that the manual's metric may have has a row.
func TestStagesAreExplained(t *testing.T) {
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
	reasons := rows(section, "reason")
	source, err := os.ReadFile("../../internal/fate/fate.go")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(source), "\nfunc reason(err error) string {")
	text, _, _ = strings.Cut(text, "\n}")
	// What fate calls so has these labels.
	labels := map[string][]string{"cut off": {"canceled", "timeout"}, "other": {"error"}}
	explained := map[string]bool{}
	for line := range strings.Lines(text) {
		_, quoted, returns := strings.Cut(strings.TrimSpace(line), "return ")
		name, err := strconv.Unquote(quoted)
		if !returns || err != nil || name == "" {
			continue
		}
		for _, label := range labelsOf(labels, name) {
			explained[label] = true
			if !slices.Contains(reasons, label) {
				t.Errorf("the runbook does not explain the reason %q, which fate calls %q", label, name)
			}
		}
	}
	for _, r := range reasons {
		if !explained[r] {
			t.Errorf("the runbook explains the reason %q, which is none", r)
		}
	}
}

func labelsOf(labels map[string][]string, name string) []string {
	if l, ok := labels[name]; ok {
		return l
	}
	return []string{name}
}
