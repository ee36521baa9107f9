package house

import (
	"fmt"
	"path"
	"regexp"
	"strings"
	"unicode"
)

var (
	link     = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	pageName = regexp.MustCompile(`\bdocs/[a-z0-9-]+\.md(#[a-z0-9_-]+)?`)
	codeSpan = regexp.MustCompile("`[^`\n]*`")
	heading  = regexp.MustCompile(`^#{1,6} +(.*)$`)
)

// Links reports links of pages that lead to no file or no heading, and pages that a file
// of any kind names (docs/x.md, with a heading or without) and that do not exist.
func Links(files []*File) []Finding {
	l := linked{paths: map[string]bool{}, headings: map[string]map[string]bool{}}
	for _, f := range files {
		for p := f.Path; p != "."; p = path.Dir(p) {
			l.paths[p] = true
		}
		if isPage(f) {
			l.headings[f.Path] = headingsOf(string(f.Src))
		}
	}
	var out []Finding
	for _, f := range files {
		if isPage(f) {
			out = append(out, l.dead(f, withoutCode(string(f.Src)), link, path.Dir(f.Path))...)
		} else if f.Dir() != "internal/house" {
			out = append(out, l.dead(f, string(f.Src), pageName, ".")...)
		}
	}
	return out
}

const (
	pageBytes = 14 << 10 // ten minutes of reading
	docsBytes = 200_000  // all pages together
)

// PageSize reports pages below docs that are longer than ten minutes take to read, and
// pages that are too much together.
func PageSize(files []*File) []Finding {
	var out []Finding
	all := 0
	for _, f := range files {
		if !isPage(f) || !strings.HasPrefix(f.Path, "docs/") {
			continue
		}
		all += len(f.Src)
		if n := len(f.Src); n > pageBytes {
			out = append(out, Finding{f.Path, 1, fmt.Sprintf("has %d bytes, more than %d: say less, or leave lists to the program", n, pageBytes)})
		}
	}
	if all > docsBytes {
		out = append(out, Finding{"docs", 1, fmt.Sprintf("has %d bytes of pages, more than %d: say less", all, docsBytes)})
	}
	return out
}

// linked are the places that a link can lead to.
type linked struct {
	paths    map[string]bool            // files, and the folders above them
	headings map[string]map[string]bool // anchors by page
}

// dead reports what expr finds in a text and what is not there. Targets are relative to dir.
func (l linked) dead(f *File, text string, expr *regexp.Regexp, dir string) []Finding {
	var out []Finding
	for _, at := range expr.FindAllStringSubmatchIndex(text, -1) {
		to := text[at[0]:at[1]]
		if expr == link {
			to = text[at[2]:at[3]]
		}
		line := strings.Count(text[:at[0]], "\n") + 1
		name, anchor, anchored := strings.Cut(to, "#")
		target := path.Join(dir, name)
		if name == "" {
			target = f.Path
		}
		switch {
		case strings.Contains(to, "://") || strings.HasPrefix(to, "mailto:"):
		case !l.paths[target]:
			out = append(out, Finding{f.Path, line, "leads to " + to + ", which does not exist: mend the link"})
		case anchored && l.headings[target] != nil && !l.headings[target][anchor]:
			out = append(out, Finding{f.Path, line, "leads to " + to + ", and that page has no such heading: mend the link"})
		}
	}
	return out
}

func isPage(f *File) bool { return path.Ext(f.Path) == ".md" }

// withoutCode blanks blocks between fences and code within lines, and keeps the lines.
func withoutCode(text string) string {
	return codeSpan.ReplaceAllString(withoutFences(text), "")
}

// withoutFences blanks blocks between fences, and keeps the lines.
func withoutFences(text string) string {
	fenced := false
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced, lines[i] = !fenced, ""
		} else if fenced {
			lines[i] = ""
		}
	}
	return strings.Join(lines, "\n")
}

// headingsOf are the anchors of a page's headings, as GitHub makes them; of headings with
// the same text only the first.
func headingsOf(text string) map[string]bool {
	out, fenced := map[string]bool{}, false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
		}
		if m := heading.FindStringSubmatch(strings.TrimRight(line, "\n")); m != nil && !fenced {
			out[anchorOf(m[1])] = true
		}
	}
	return out
}

func anchorOf(title string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(title) {
		switch {
		case r == ' ':
			b.WriteByte('-')
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			b.WriteRune(r)
		}
	}
	return b.String()
}
