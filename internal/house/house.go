// Package house has the project's rules as pure functions over the files of the
// module, and the test that applies them: sizes, the direction of imports,
// documentation, banned calls and words. A finding has its place, and what to
// do.
package house

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// File is one text file of the module.
type File struct {
	// Path is relative to the module's root, with forward slashes.
	Path string
	Src  []byte
	// Go is the parsed file; nil for what is not Go, lies under testdata, or
	// does not parse.
	Go *ast.File
	// Generated reports that a program writes the file: rules about how people write do
	// not apply.
	Generated bool
	// Err is why a Go file does not parse.
	Err error

	fset *token.FileSet
}

// Finding is one place that breaks a rule.
type Finding struct {
	Path string
	Line int    // 1-based
	Text string // what is wrong, and what to do
}

// String returns the finding in the form "path:line: text" of compilers.
func (f Finding) String() string { return fmt.Sprintf("%s:%d: %s", f.Path, f.Line, f.Text) }

// Rule is one rule of the house. Check reports every place that breaks it.
type Rule struct {
	Name  string
	Check func(files []*File) []Finding
}

// Rules are all rules, in the order in which they are reported.
var Rules = []Rule{
	{"parses", Parses},
	{"gofmt", Format},
	{"function length", FunctionLength},
	{"homonyms", Homonyms},
	{"file length", FileLength},
	{"interface size", InterfaceSize},
	{"parameters", Parameters},
	{"package docs", PackageDocs},
	{"exported docs", ExportedDocs},
	{"imports", Imports},
	{"equipment", Equipment},
	{"clock", Clock},
	{"randomness", Randomness},
	{"templates", Templates},
	{"suppressions", Suppressions},
	{"banners", Banners},
	{"reminders", Reminders},
	{"file names", FileNames},
	{"words", Words},
	{"links", Links},
	{"page size", PageSize},
	{"architecture", Architecture},
	{"comment names", CommentNames},
}

// NewFile makes a File; Go sources outside testdata folders are parsed.
func NewFile(name string, src []byte) *File {
	f := &File{Path: name, Src: src, fset: token.NewFileSet()}
	if strings.HasSuffix(name, ".go") && !strings.Contains("/"+name, "/testdata/") {
		f.Go, f.Err = parser.ParseFile(f.fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
		if f.Err != nil {
			f.Go = nil
		}
		f.Generated = f.Go != nil && ast.IsGenerated(f.Go)
	}
	return f
}

// Load reads the text files under root. It leaves out what is not part of the
// module's sources: folders that begin with a dot (but .ci and .github), data
// and build output, binary files, and nested modules. Pictures have a path and no text, so
// that pages may lead to them.
func Load(root string) ([]*File, error) {
	var files []*File
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			return enter(root, rel)
		}
		if !d.Type().IsRegular() || ignored(rel) {
			return nil
		}
		src, err := os.ReadFile(name)
		if bytes.IndexByte(src, 0) >= 0 {
			src = nil
		}
		if err == nil && (src != nil || path.Ext(rel) == ".png") {
			files = append(files, NewFile(rel, src))
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("house: read the module: %w", err)
	}
	return files, nil
}

// enter returns fs.SkipDir for folders that hold no sources of this module.
func enter(root, rel string) error {
	if rel == "." || rel == ".ci" || rel == ".github" {
		return nil
	}
	_, err := os.Stat(filepath.Join(root, rel, "go.mod"))
	if err == nil || strings.HasPrefix(path.Base(rel), ".") || rel == "lethe-data" || rel == "bench/out" {
		return fs.SkipDir
	}
	return nil
}

// ignored mirrors the patterns of .gitignore that are files; .git is a file in a
// linked work tree.
func ignored(rel string) bool {
	ext := path.Ext(rel)
	return rel == "lethe" || rel == ".git" || ext == ".test" || ext == ".prof"
}

// Parses reports Go files that do not parse.
func Parses(files []*File) []Finding {
	var out []Finding
	for _, f := range files {
		if f.Err != nil {
			out = append(out, Finding{f.Path, 1, "does not parse: " + f.Err.Error()})
		}
	}
	return out
}

// goFiles returns the parsed Go files.
func goFiles(files []*File) []*File {
	var out []*File
	for _, f := range files {
		if f.Go != nil {
			out = append(out, f)
		}
	}
	return out
}

// written are the Go files that people write.
func written(files []*File) []*File {
	return slices.DeleteFunc(goFiles(files), func(f *File) bool { return f.Generated })
}

// IsTest reports whether the file is compiled for tests only.
func (f *File) IsTest() bool { return strings.HasSuffix(f.Path, "_test.go") }

// Dir is the folder of the file relative to the root, "" for the root itself.
func (f *File) Dir() string {
	if d := path.Dir(f.Path); d != "." {
		return d
	}
	return ""
}

func (f *File) line(p token.Pos) int { return f.fset.Position(p).Line }

// lines counts the lines that a node covers.
func (f *File) lines(n ast.Node) int { return f.line(n.End()) - f.line(n.Pos()) + 1 }

func (f *File) at(n ast.Node, format string, args ...any) Finding {
	return Finding{f.Path, f.line(n.Pos()), fmt.Sprintf(format, args...)}
}
