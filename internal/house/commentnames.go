package house

import (
	"fmt"
	"path"
	"regexp"
	"strings"
)

var (
	// commentName is a package's exported name in a comment: object.Store,
	// object.Store.Put.
	commentName = regexp.MustCompile(`(^|[^\w./"-])([a-z]\w*)\.([A-Z]\w*)(\.[A-Z]\w*)?`)
	// spanName is an exported name of a type or package in backticks.
	spanName = regexp.MustCompile("^`([A-Za-z]\\w*\\.[A-Z]\\w*(\\.[A-Z]\\w*)?)`$")
)

// CommentNames reports names such as object.Store in comments of Go files whose package is
// of this module and does not declare them, and qualified names in backticks on pages
// below docs that are declared nowhere.
func CommentNames(files []*File) []Finding {
	packages, names, embedding := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, f := range goFiles(files) {
		if name := f.Go.Name.Name; name == path.Base(f.Dir()) || f.Dir() == "." {
			packages[name] = true
		}
		topNames(f, func(name string) { names[name] = true })
		embeddingTypes(f, func(name string) { embedding[name] = true })
	}
	declared := func(name string) bool {
		i := strings.LastIndexByte(name, '.')
		return names[name] || embedding[name[:i]]
	}
	var out []Finding
	for _, f := range files {
		if f.Go != nil {
			out = append(out, unresolved(f, packages, declared)...)
		} else if isPage(f) && strings.HasPrefix(f.Path, "docs/") {
			out = append(out, undeclaredSpans(f, declared)...)
		}
	}
	return out
}

// unresolved reports the names in a file's comments that their package does not declare.
func unresolved(f *File, packages map[string]bool, declared func(string) bool) []Finding {
	var out []Finding
	for _, group := range f.Go.Comments {
		for _, c := range group.List {
			for _, m := range commentName.FindAllStringSubmatch(c.Text, -1) {
				name := m[2] + "." + m[3]
				if packages[m[2]] && (!declared(name) || m[4] != "" && !declared(name+m[4])) {
					out = append(out, f.at(c, "the comment names %s%s, which package %s does not declare: correct it", name, m[4], m[2]))
				}
			}
		}
	}
	return out
}

// undeclaredSpans reports qualified names on a page that are declared nowhere.
func undeclaredSpans(f *File, declared func(string) bool) []Finding {
	var out []Finding
	text := withoutFences(string(f.Src))
	for _, at := range codeSpan.FindAllStringIndex(text, -1) {
		m := spanName.FindStringSubmatch(text[at[0]:at[1]])
		if m != nil && !declared(m[1]) {
			line := strings.Count(text[:at[0]], "\n") + 1
			out = append(out, Finding{f.Path, line, fmt.Sprintf("%s is declared nowhere: correct the page", m[1])})
		}
	}
	return out
}
