package house

import (
	"bytes"
	"go/format"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Format reports Go files that gofmt would change.
func Format(files []*File) []Finding {
	var out []Finding
	for _, f := range goFiles(files) {
		want, err := format.Source(f.Src)
		if err != nil || bytes.Equal(want, f.Src) {
			continue
		}
		line := 1
		for i := 0; i < min(len(want), len(f.Src)) && want[i] == f.Src[i]; i++ {
			if want[i] == '\n' {
				line++
			}
		}
		out = append(out, Finding{f.Path, line, "not formatted: run gofmt -w " + f.Path})
	}
	return out
}

// vague are file names that do not describe their contents.
var vague = []string{"util", "utils", "helper", "helpers", "misc", "common", "stuff", "lib", "base"}

// FileNames reports Go files whose name does not describe their contents.
func FileNames(files []*File) []Finding {
	var out []Finding
	for _, f := range goFiles(files) {
		name := strings.TrimSuffix(strings.TrimSuffix(path.Base(f.Path), ".go"), "_test")
		if slices.Contains(vague, name) {
			out = append(out, Finding{f.Path, 1, "the file's name does not say what is in it: name it after its subject"})
		}
	}
	return out
}

// words are texts that belong to a machine on which someone worked, not to the
// project. They are put together here so that this file does not hold them.
var words = []*regexp.Regexp{
	regexp.MustCompile(`(^|[\s"'(=:` + "`" + `])/wo` + `rk(/|$|[\s"'):,` + "`" + `])`),
	regexp.MustCompile(`/tmp/br` + `ief`),
	regexp.MustCompile(`(proxy|sum|index)\.go` + `lang\.org`),
	regexp.MustCompile(`(?i)\bhelper ag` + `ent|session of (this|the) work` + `place`),
}

// Words reports texts, in files of any kind, that belong to the machine of one
// of us: absolute paths, registry hosts, talk about how the work was organised.
func Words(files []*File) []Finding {
	var out []Finding
	for _, f := range files {
		for i, line := range strings.Split(string(f.Src), "\n") {
			for _, re := range words {
				if m := re.FindString(line); m != "" {
					out = append(out, Finding{f.Path, i + 1, "holds " + strings.TrimSpace(m) + ", which belongs to one machine and not to the project: leave it out"})
				}
			}
		}
	}
	return out
}
