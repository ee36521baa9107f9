package house

import (
	"bytes"
	"fmt"
	"go/ast"
	"slices"
)

// The limits of size.
const (
	MaxFunctionLines    = 60
	MaxMedianLines      = 10
	MaxFileLines        = 500
	MaxInterfaceMethods = 5
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
	for _, f := range goFiles(files) {
		for _, fn := range functions(f) {
			if fn.lines > MaxFunctionLines {
				out = append(out, f.at(fn.node, "%s has %d lines, at most %d: split it where it changes the subject",
					fn.name, fn.lines, MaxFunctionLines))
			}
		}
	}
	return out
}

// Median returns the median length in lines of the functions outside of tests,
// and how many there are.
func Median(files []*File) (median, n int) {
	var lengths []int
	for _, f := range goFiles(files) {
		if f.IsTest() {
			continue
		}
		for _, fn := range functions(f) {
			lengths = append(lengths, fn.lines)
		}
	}
	if len(lengths) == 0 {
		return 0, 0
	}
	slices.Sort(lengths)
	return lengths[len(lengths)/2], len(lengths)
}

// MedianLength reports a median function length above MaxMedianLines.
func MedianLength(files []*File) []Finding {
	median, n := Median(files)
	if median <= MaxMedianLines {
		return nil
	}
	return []Finding{{"go.mod", 1, fmt.Sprintf("the median of %d functions outside of tests is %d lines, at most %d: split the long ones",
		n, median, MaxMedianLines)}}
}

// FileLength reports Go files of more than MaxFileLines lines.
func FileLength(files []*File) []Finding {
	var out []Finding
	for _, f := range goFiles(files) {
		if n := bytes.Count(f.Src, []byte("\n")); n > MaxFileLines {
			out = append(out, Finding{f.Path, n, fmt.Sprintf("%d lines, at most %d: split the file by subject", n, MaxFileLines)})
		}
	}
	return out
}

// InterfaceSize reports interfaces of more than MaxInterfaceMethods methods of
// their own; what they embed does not count.
func InterfaceSize(files []*File) []Finding {
	var out []Finding
	for _, f := range goFiles(files) {
		ast.Inspect(f.Go, func(n ast.Node) bool {
			it, ok := n.(*ast.InterfaceType)
			if !ok {
				return true
			}
			own := 0
			for _, m := range it.Methods.List {
				own += len(m.Names)
			}
			if own > MaxInterfaceMethods {
				out = append(out, f.at(n, "interface with %d methods, at most %d: keep what the caller needs, make the rest optional abilities or compose",
					own, MaxInterfaceMethods))
			}
			return true
		})
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
