package house

import (
	"go/ast"
	"sort"
	"strings"
)

// PackageDocs reports packages without a package comment, with more than one,
// or with one that does not begin as Go's tools expect: "Package name", for
// commands also "Command name". Packages of external tests need none.
func PackageDocs(files []*File) []Finding {
	var out []Finding
	packages := map[string][]*File{}
	for _, f := range goFiles(files) {
		name := f.Go.Name.Name
		if strings.HasSuffix(name, "_test") {
			if f.Go.Doc != nil {
				out = append(out, f.at(f.Go, "package comment on an external test: move it to the package or to a test's comment"))
			}
			continue
		}
		packages[f.Dir()+" "+name] = append(packages[f.Dir()+" "+name], f)
	}
	keys := make([]string, 0, len(packages))
	for k := range packages {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	for _, k := range keys {
		out = append(out, packageDoc(packages[k])...)
	}
	return out
}

func packageDoc(files []*File) []Finding {
	var out []Finding
	var first *File
	for _, f := range files {
		if f.Go.Doc == nil {
			continue
		}
		name := f.Go.Name.Name
		text := f.Go.Doc.Text()
		if !strings.HasPrefix(text, "Package "+name+" ") && (name != "main" || !strings.HasPrefix(text, "Command ")) {
			out = append(out, f.at(f.Go, "package comment does not begin with %q", "Package "+name+" "))
		}
		if first != nil {
			out = append(out, f.at(f.Go, "second package comment, the first is in %s: keep one that says what lives here", first.Path))
			continue
		}
		first = f
	}
	if first == nil {
		f := files[0]
		out = append(out, f.at(f.Go, "package %s has no package comment: say what lives here", f.Go.Name.Name))
	}
	return out
}

// ExportedDocs reports exported identifiers without a doc comment, methods of
// exported types included, outside of tests and commands. In a group of
// constants or variables the comment of the group, of the line above or at the
// end of the line will do.
func ExportedDocs(files []*File) []Finding {
	var out []Finding
	for _, f := range goFiles(files) {
		if f.IsTest() || f.Go.Name.Name == "main" {
			continue
		}
		for _, d := range f.Go.Decls {
			for _, name := range undocumented(d) {
				out = append(out, f.at(name, "exported %s has no doc comment: say what it is, its units and its errors", name.Name))
			}
		}
	}
	return out
}

func undocumented(d ast.Decl) []*ast.Ident {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && blank(d.Doc) && ast.IsExported(receiver(d)) {
			return []*ast.Ident{d.Name}
		}
	case *ast.GenDecl:
		var out []*ast.Ident
		for _, s := range d.Specs {
			out = append(out, undocumentedSpec(d, s)...)
		}
		return out
	}
	return nil
}

func undocumentedSpec(d *ast.GenDecl, s ast.Spec) []*ast.Ident {
	var out []*ast.Ident
	switch s := s.(type) {
	case *ast.TypeSpec:
		if s.Name.IsExported() && blank(s.Doc) && (d.Lparen.IsValid() || blank(d.Doc)) {
			out = append(out, s.Name)
		}
	case *ast.ValueSpec:
		for _, n := range s.Names {
			if n.IsExported() && blank(s.Doc) && blank(s.Comment) && blank(d.Doc) {
				out = append(out, n)
			}
		}
	}
	return out
}

func blank(c *ast.CommentGroup) bool { return c == nil || strings.TrimSpace(c.Text()) == "" }

// receiver returns the name of the receiver's type; for a plain function its
// own name, so that both are exported alike.
func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return d.Name.Name
	}
	t := d.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}
