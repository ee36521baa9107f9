package adopt

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var codeSpan = regexp.MustCompile("`([^`]+)`")

// What texts.md names exists: tests, files, and the last word of other code.
func TestTextsNameWhatExists(t *testing.T) {
	page, err := os.ReadFile("texts.md")
	if err != nil {
		t.Fatal(err)
	}
	files, source := map[string]bool{}, &strings.Builder{}
	for _, root := range []string{".", "../internal/app/adoption", "../internal/claimlock", "../blob/s3blob", "../reclaim", "../bench", "../cmd/lethe", "../test/adoptinterleave", "../examples/pastebin", "../deploy/prometheus"} {
		if err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || path == "texts.md" {
				return err
			}
			text, err := os.ReadFile(path)
			files[filepath.Base(path)] = true
			fmt.Fprintf(source, "%s\n", text)
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	spans := codeSpan.FindAllStringSubmatch(string(page), -1)
	if len(spans) < 100 {
		t.Errorf("%d code spans were found", len(spans))
	}
	for _, span := range spans {
		name := span[1]
		words := strings.FieldsFunc(strings.TrimSuffix(name, "."), func(r rune) bool { return strings.ContainsRune(" .:/{}\"*", r) })
		if len(words) == 0 {
			t.Errorf("`%s` names nothing", name)
			continue
		}
		word := regexp.QuoteMeta(words[len(words)-1])
		pattern := `\b` + word + `\b`
		if word != strings.ToLower(word) && word != "DeleteObjects" && word != strings.ToUpper(word) { // a name of Go, not of S3
			pattern = `(?m)(^func (\([^)]*\) )?|^(type|var|const) |^\t)` + word + `\b`
		}
		if strings.HasPrefix(name, "Test") {
			pattern = `func ` + name + `\(`
		}
		_, path := os.Stat(filepath.Join("..", name))
		if path != nil && !files[name] && !regexp.MustCompile(pattern).MatchString(source.String()) {
			t.Errorf("`%s` does not exist", name)
		}
	}
}
