package house

import (
	"go/ast"
	"path"
	"strconv"
	"strings"
)

// InterfaceSize reports interfaces of more than MaxInterfaceMethods methods of their own,
// or of more than MaxMethodSet with those that they embed. Tests and their equipment may
// put together what they drive.
func InterfaceSize(files []*File) []Finding {
	all := interfacesOf(files)
	var out []Finding
	for _, f := range goFiles(files) {
		ast.Inspect(f.Go, func(n ast.Node) bool {
			it, ok := n.(*ast.InterfaceType)
			if !ok {
				return true
			}
			if own := ownMethods(it); own > MaxInterfaceMethods {
				out = append(out, f.at(n, "interface with %d methods, at most %d: keep what the caller needs, make the rest optional abilities or compose",
					own, MaxInterfaceMethods))
			}
			return true
		})
		if f.IsTest() || isEquipment(f.Dir()) {
			continue
		}
		for name, spec := range typeSpecs(f) {
			if _, ok := spec.Type.(*ast.InterfaceType); !ok {
				continue
			}
			if set := all.methods(f.Dir()+" "+name, map[string]bool{}); len(set) > MaxMethodSet {
				out = append(out, f.at(spec, "interface %s has %d methods with those that it embeds, at most %d: ask for what this consumer needs",
					name, len(set), MaxMethodSet))
			}
		}
	}
	return out
}

func ownMethods(it *ast.InterfaceType) (n int) {
	for _, m := range it.Methods.List {
		n += len(m.Names)
	}
	return n
}

// interfaces are those of the module, by folder and name.
type interfaces map[string]declared

type declared struct {
	file *File
	spec *ast.InterfaceType
}

func interfacesOf(files []*File) interfaces {
	out := interfaces{}
	for _, f := range goFiles(files) {
		if f.IsTest() {
			continue
		}
		for name, spec := range typeSpecs(f) {
			if it, ok := spec.Type.(*ast.InterfaceType); ok {
				out[f.Dir()+" "+name] = declared{f, it}
			}
		}
	}
	return out
}

// methods are the names of an interface's methods, with those that it embeds from this
// module.
func (all interfaces) methods(id string, seen map[string]bool) map[string]bool {
	out := map[string]bool{}
	d, ok := all[id]
	if !ok || seen[id] {
		return out
	}
	seen[id] = true
	for _, m := range d.spec.Methods.List {
		for _, name := range m.Names {
			out[name.Name] = true
		}
		if len(m.Names) == 0 {
			for name := range all.methods(d.file.embedded(m.Type), seen) {
				out[name] = true
			}
		}
	}
	return out
}

// embedded returns the folder and the name of an interface that the file embeds.
func (f *File) embedded(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.Ident:
		return f.Dir() + " " + x.Name
	case *ast.SelectorExpr:
		from, _ := x.X.(*ast.Ident)
		for _, spec := range f.Go.Imports {
			name, _ := strconv.Unquote(spec.Path.Value)
			dir, ours := folder(name)
			if ours && from != nil && (spec.Name != nil && spec.Name.Name == from.Name || spec.Name == nil && path.Base(name) == from.Name) {
				return dir + " " + x.Sel.Name
			}
		}
	}
	return ""
}

// typeSpecs returns the types that a file declares outside of functions, by name.
func typeSpecs(f *File) map[string]*ast.TypeSpec {
	out := map[string]*ast.TypeSpec{}
	for _, d := range f.Go.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, s := range g.Specs {
			if t, ok := s.(*ast.TypeSpec); ok {
				out[t.Name.Name] = t
			}
		}
	}
	return out
}

// MaxHomonyms is how many packages of the product may export a type of one name.
const MaxHomonyms = 5

// idioms are names that say what a type is to its package, whatever that is about.
var idioms = map[string]bool{"Options": true, "Store": true, "Events": true}

// Homonyms reports exported types whose name more than MaxHomonyms packages use.
func Homonyms(files []*File) []Finding {
	type place struct {
		file *File
		spec *ast.TypeSpec
	}
	dirs, last := map[string]map[string]bool{}, map[string]place{}
	for _, f := range goFiles(files) {
		if f.IsTest() || isEquipment(f.Dir()) || strings.HasPrefix(f.Dir(), "examples") {
			continue
		}
		for name, spec := range typeSpecs(f) {
			if !ast.IsExported(name) || idioms[name] {
				continue
			}
			if dirs[name] == nil {
				dirs[name] = map[string]bool{}
			}
			dirs[name][f.Dir()] = true
			last[name] = place{f, spec}
		}
	}
	var out []Finding
	for name, in := range dirs {
		if len(in) > MaxHomonyms {
			out = append(out, last[name].file.at(last[name].spec, "%d packages export a type %s, at most %d: a reader has to know which; give this one its own name",
				len(in), name, MaxHomonyms))
		}
	}
	return out
}
