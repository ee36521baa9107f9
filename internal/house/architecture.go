package house

import (
	"fmt"
	"go/ast"
	"go/types"
	"path"
	"regexp"
	"strings"
)

// architecturePage is the page on which code in backticks names what exists.
const architecturePage = "ARCHITECTURE.md"

var (
	pageSpan = regexp.MustCompile("`([^`\\s]+)`(?:\\s+\\(`([^`\\s]+)`\\))?")
	isName   = regexp.MustCompile(`^[A-Za-z]\w*(\.[A-Za-z]\w*){0,2}$`)
)

// Architecture reports what ARCHITECTURE.md names in backticks and the repository does
// not have: paths, and names such as Store.Put or ledger.Intent. A name with a path in
// parentheses behind it has to be declared in that file. Fenced blocks are not read.
func Architecture(files []*File) []Finding {
	paths, names := map[string]bool{}, map[string]map[string]bool{}
	var page *File
	for _, f := range files {
		for p := f.Path; p != "."; p = path.Dir(p) {
			paths[p] = true
		}
		if f.Path == architecturePage {
			page = f
		}
		topNames(f, func(name string) {
			if names[name] == nil {
				names[name] = map[string]bool{}
			}
			names[name][f.Path] = true
		})
	}
	if page == nil {
		return nil
	}
	var out []Finding
	text := withoutFences(string(page.Src))
	for _, m := range pageSpan.FindAllStringSubmatchIndex(text, -1) {
		line := strings.Count(text[:m[0]], "\n") + 1
		name, file := text[m[2]:m[3]], ""
		if m[4] >= 0 {
			file = text[m[4]:m[5]]
		}
		if why := missing(name, file, paths, names); why != "" {
			out = append(out, Finding{page.Path, line, why + ": correct the page"})
		}
	}
	return out
}

// missing returns what is wrong with a name or path and the file that should have it, ""
// if nothing is.
func missing(name, file string, paths map[string]bool, names map[string]map[string]bool) string {
	switch {
	case file != "" && !paths[file]:
		return fmt.Sprintf("%s does not exist", file)
	case file != "" && !names[name][file]:
		return fmt.Sprintf("%s is not declared in %s", name, file)
	case file != "" || paths[name] || isName.MatchString(name) && names[name] != nil:
		return ""
	}
	return fmt.Sprintf("%s is neither a path nor a declared name", name)
}

// topNames calls add with every name that a Go file declares at its top, alone and
// qualified by type and package.
func topNames(f *File, add func(name string)) {
	if f.Go == nil {
		return
	}
	both := func(name string) {
		add(name)
		add(f.Go.Name.Name + "." + name)
	}
	for _, d := range f.Go.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				both(d.Name.Name)
			} else {
				both(receiver(d) + "." + d.Name.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				namesBy(spec, both)
			}
		}
	}
}

func namesBy(spec ast.Spec, add func(name string)) {
	switch s := spec.(type) {
	case *ast.ValueSpec:
		for _, n := range s.Names {
			add(n.Name)
		}
	case *ast.TypeSpec:
		add(s.Name.Name)
		var members *ast.FieldList
		switch t := s.Type.(type) {
		case *ast.StructType:
			members = t.Fields
		case *ast.InterfaceType:
			members = t.Methods
		default:
			return
		}
		for _, m := range members.List {
			for _, n := range m.Names {
				add(s.Name.Name + "." + n.Name)
			}
		}
	}
}

// embeddingTypes calls add with each type of a Go file that embeds others, alone and
// qualified by its package: it has more members than it declares.
func embeddingTypes(f *File, add func(name string)) {
	for _, d := range f.Go.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range g.Specs {
			if t, ok := spec.(*ast.TypeSpec); ok && embeds(t.Type) {
				add(t.Name.Name)
				add(f.Go.Name.Name + "." + t.Name.Name)
			}
		}
	}
}

// embeds reports whether a type has members that it does not declare: by embedding, or as
// another name of a type.
func embeds(t ast.Expr) bool {
	var members *ast.FieldList
	switch t := t.(type) {
	case *ast.StructType:
		members = t.Fields
	case *ast.InterfaceType:
		members = t.Methods
	case *ast.SelectorExpr:
		return true
	case *ast.Ident:
		return types.Universe.Lookup(t.Name) == nil
	default:
		return false
	}
	for _, m := range members.List {
		if len(m.Names) == 0 {
			return true
		}
	}
	return false
}
