// Package mutation plants breaks into the module's own code, by text, and builds the
// tests of a package with them: a test that finds a break shows that it looks for it.
package mutation

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
)

// Wakes is the variable of the environment that names the mutant which a process is.
const Wakes = "LETHE_MUTANT"

// Edit replaces Old, which must occur exactly once, by New.
type Edit struct{ Old, New string }

// Mutant is the module with edits, by the file in the module.
type Mutant struct {
	Name  string
	Edits map[string][]Edit
}

// Patches returns the mutant's files, changed. Root is the module's folder.
func (m Mutant) Patches(root string) (map[string]string, error) {
	files := map[string]string{}
	for name, list := range m.Edits {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return nil, err
		}
		out := string(text)
		for _, e := range list {
			if n := strings.Count(out, e.Old); n != 1 {
				return nil, fmt.Errorf("the patch of %s applies %d times, want once: write it anew", name, n)
			}
			out = strings.Replace(out, e.Old, e.New, 1)
		}
		files[name] = out
	}
	return files, nil
}

// Build compiles the tests of the package in the working directory with other texts of
// these files of the module.
func Build(root, dir string, files map[string]string) (binary string, err error) {
	here, err := filepath.Abs(root)
	if err != nil {
		return "", err
	}
	replace := map[string]string{}
	for name, text := range files {
		mutated := filepath.Join(dir, strings.ReplaceAll(name, "/", "_"))
		if err := os.WriteFile(mutated, []byte(text), 0o600); err != nil {
			return "", err
		}
		replace[filepath.Join(here, name)] = mutated
	}
	overlay, binary := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "mutants.test")
	table, err := json.Marshal(map[string]any{"Replace": replace})
	if err == nil {
		err = os.WriteFile(overlay, table, 0o600)
	}
	if err != nil {
		return "", err
	}
	cmd := exec.Command("go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay", overlay, "-o", binary, ".")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w:\n%s", err, out)
	}
	return binary, nil
}

// Plant puts many mutants into one build, to compile and link once: each function
// that one of them changes is there as it is and as they have it, and under its name
// one that looks which mutant is awake; a variable of a package, such as a statement,
// gets the value that the one awake has for it. What changes more than that has to be
// built alone.
func Plant(root string, list []Mutant) (files map[string]string, alone []Mutant, err error) {
	beds := map[string]*bed{}
	for _, m := range list {
		changed, err := m.Patches(root)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", m.Name, err)
		}
		bodies, err := m.bodies(root, changed, beds)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", m.Name, err)
		}
		if bodies == nil {
			alone = append(alone, m)
		}
		for place, text := range bodies {
			b := beds[place.file]
			b.variants[place.function] = append(b.variants[place.function], variant{m.Name, text})
		}
	}
	files = map[string]string{}
	for name, b := range beds {
		if len(b.variants) > 0 {
			files[name] = b.text()
			files[path.Join(path.Dir(name), "awake_mutant.go")] = fmt.Sprintf(awake, b.own.name, Wakes)
		}
	}
	return files, alone, nil
}

// awake is the file of each package that has mutants.
const awake = `package %s

import "os"

var awakeMutant = os.Getenv(%q)

func ifAwake[T any](mutant string, theirs, own T) T {
	if awakeMutant == mutant {
		return theirs
	}
	return own
}
`

// bed is a source file into which mutants are planted.
type bed struct {
	own      source
	variants map[string][]variant // by function
}

// variant is a function as a mutant has it.
type variant struct{ mutant, text string }

type place struct{ file, function string }

// bodies answers the functions that a mutant changes; nil: it changes other things.
func (m Mutant) bodies(root string, changed map[string]string, beds map[string]*bed) (map[place]string, error) {
	out := map[place]string{}
	for name, text := range changed {
		if beds[name] == nil {
			own, err := os.ReadFile(filepath.Join(root, name))
			if err != nil {
				return nil, err
			}
			b := &bed{variants: map[string][]variant{}}
			if b.own, err = read(string(own)); err != nil {
				return nil, err
			}
			beds[name] = b
		}
		theirs, err := read(text)
		if err != nil {
			return nil, err
		}
		own := beds[name].own
		if own.rest != theirs.rest || !slices.Equal(own.order, theirs.order) {
			return nil, nil
		}
		for _, fn := range own.order {
			before, after := own.functions[fn], theirs.functions[fn]
			switch {
			case before.text == after.text:
			case before.value:
				out[place{name, fn}] = after.text
			case before.head != after.head || before.generic:
				return nil, nil
			default:
				out[place{name, fn}] = after.named(m.Name)
			}
		}
	}
	return out, nil
}

// source is a file taken apart into its functions, in order, and the rest.
type source struct {
	name      string // of the package
	all, rest string
	order     []string
	functions map[string]function
}

// function is a function or method, or a variable's value.
type function struct {
	value      bool
	text, head string // head: without the body
	at         int    // where it begins in the file
	nameAt     int    // where its name begins in its text
	name       string
	generic    bool
	receiver   string   // its type; empty: it has none
	params     []string // their types
	results    string
}

func read(text string) (source, error) {
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, "", text, parser.ParseComments)
	if err != nil {
		return source{}, err
	}
	out := source{name: f.Name.Name, all: text, functions: map[string]function{}}
	offset := func(p token.Pos) int { return set.Position(p).Offset }
	cut := func(n ast.Node) string { return text[offset(n.Pos()):offset(n.End())] }
	end := 0
	keep := func(key string, fn function) {
		out.order = append(out.order, key)
		out.functions[key] = fn
		out.rest += text[end:fn.at]
		end = fn.at + len(fn.text)
	}
	for _, d := range f.Decls {
		if vars, ok := d.(*ast.GenDecl); ok && vars.Tok == token.VAR {
			for _, s := range vars.Specs {
				if s := s.(*ast.ValueSpec); len(s.Names) == 1 && len(s.Values) == 1 && s.Names[0].Name != "_" {
					keep("var "+s.Names[0].Name, function{value: true, text: cut(s.Values[0]), at: offset(s.Values[0].Pos())})
				}
			}
			continue
		}
		decl, ok := d.(*ast.FuncDecl)
		if !ok || decl.Body == nil {
			continue
		}
		fn := function{
			text: cut(decl), at: offset(decl.Pos()), name: decl.Name.Name, nameAt: offset(decl.Name.Pos()) - offset(decl.Pos()),
			head: text[offset(decl.Pos()):offset(decl.Body.Pos())], generic: decl.Type.TypeParams != nil,
		}
		if decl.Recv != nil {
			fn.receiver = cut(decl.Recv.List[0].Type)
		}
		for _, p := range decl.Type.Params.List {
			fn.params = append(fn.params, slices.Repeat([]string{cut(p.Type)}, max(1, len(p.Names)))...)
		}
		if decl.Type.Results != nil {
			fn.results = cut(decl.Type.Results)
		}
		keep(fn.receiver+"."+fn.name, fn)
	}
	out.rest += text[end:]
	return out, nil
}

// named is the function's text under the name that it has for a mutant; that of none
// is its own.
func (f function) named(mutant string) string {
	return f.text[:f.nameAt] + f.as(mutant) + f.text[f.nameAt+len(f.name):]
}

func (f function) as(mutant string) string {
	return f.name + "_" + strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return '_'
	}, mutant)
}

// dispatch is the function that calls the one of the mutant which is awake.
func (f function) dispatch(list []variant) string {
	var params, args []string
	for i, p := range f.params {
		name := fmt.Sprintf("arg%d", i)
		params = append(params, name+" "+p)
		if strings.HasPrefix(p, "...") {
			name += "..."
		}
		args = append(args, name)
	}
	receiver, prefix := "", ""
	if f.receiver != "" {
		receiver, prefix = "(self "+f.receiver+") ", "self."
	}
	call := func(mutant string) string {
		c := prefix + f.as(mutant) + "(" + strings.Join(args, ", ") + ")"
		if f.results == "" {
			return c + "; return"
		}
		return "return " + c
	}
	out := "func " + receiver + f.name + "(" + strings.Join(params, ", ") + ") " + f.results + " {\n"
	for _, v := range list {
		out += fmt.Sprintf("if awakeMutant == %q { %s }\n", v.mutant, call(v.mutant))
	}
	return out + call("") + "\n}\n"
}

// text is the file with its mutants.
func (b *bed) text() string {
	out, end := "", 0
	for _, key := range b.own.order {
		list := b.variants[key]
		if len(list) == 0 {
			continue
		}
		fn := b.own.functions[key]
		out += b.own.all[end:fn.at]
		end = fn.at + len(fn.text)
		if fn.value {
			own := fn.text
			for _, v := range list {
				own = fmt.Sprintf("ifAwake(%q, %s, %s)", v.mutant, v.text, own)
			}
			out += own
			continue
		}
		out += fn.named("") + "\n\n"
		for _, v := range list {
			out += v.text + "\n\n"
		}
		out += fn.dispatch(list)
	}
	return out + b.own.all[end:]
}
