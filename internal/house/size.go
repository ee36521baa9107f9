package house

import (
	"bytes"
	"fmt"
	"go/ast"
)

// The limits of size.
const (
	MaxFunctionLines    = 60
	MaxFileLines        = 500
	MaxInterfaceMethods = 6  // of its own
	MaxMethodSet        = 12 // with what it embeds
	MaxParameters       = 5
)

// function is a declared function, or a function literal outside of any.
type function struct {
	file  *File
	node  ast.Node
	name  string
	lines int
}

// functions lists the functions of a file. Literals inside of a function count
// as its lines.
func functions(f *File) []function {
	var out []function
	ast.Inspect(f.Go, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Body != nil {
				out = append(out, function{f, n, n.Name.Name, f.line(n.End()) - f.line(n.Type.Pos()) + 1})
			}
			return false
		case *ast.FuncLit:
			out = append(out, function{f, n, "function literal", f.lines(n)})
			return false
		}
		return true
	})
	return out
}

// FunctionLength reports functions of more than MaxFunctionLines lines.
func FunctionLength(files []*File) []Finding {
	var out []Finding
	for _, f := range written(files) {
		for _, fn := range functions(f) {
			if fn.lines > MaxFunctionLines {
				out = append(out, f.at(fn.node, "%s has %d lines, at most %d: split it where it changes the subject",
					fn.name, fn.lines, MaxFunctionLines))
			}
		}
	}
	return out
}

// FileLength reports Go files of more than MaxFileLines lines.
func FileLength(files []*File) []Finding {
	var out []Finding
	for _, f := range written(files) {
		if n := bytes.Count(f.Src, []byte("\n")); n > MaxFileLines {
			out = append(out, Finding{f.Path, n, fmt.Sprintf("%d lines, at most %d: split the file by subject", n, MaxFileLines)})
		}
	}
	return out
}

// Parameters reports functions of more than MaxParameters parameters, the
// receiver not counted; types and literals of functions included.
func Parameters(files []*File) []Finding {
	var out []Finding
	for _, f := range goFiles(files) {
		ast.Inspect(f.Go, func(n ast.Node) bool {
			ft, ok := n.(*ast.FuncType)
			if !ok {
				return true
			}
			if c := ft.Params.NumFields(); c > MaxParameters {
				out = append(out, f.at(n, "%d parameters, at most %d: pass a struct", c, MaxParameters))
			}
			return true
		})
	}
	return out
}
