package house

import (
	"bytes"
	"flag"
	"go/format"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/a-h/templ"
	"github.com/a-h/templ/generator"
	"github.com/a-h/templ/parser/v2"
)

var update = flag.Bool("update", false, "write the Go code of the templates")

// The Go code of each template is what its source says. -update writes it.
func TestTemplatesAreFresh(t *testing.T) {
	sources, err := filepath.Glob("../../console/*.templ")
	if err != nil || len(sources) == 0 {
		t.Fatalf("%v, %v", sources, err)
	}
	for _, source := range sources {
		file := strings.TrimSuffix(source, ".templ") + "_templ.go"
		want := codeOf(t, source)
		if *update {
			if err := os.WriteFile(file, want, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if have, err := os.ReadFile(file); err != nil || !bytes.Equal(have, want) {
			t.Errorf("%s is not what %s says (%v): go test ./internal/house -run TestTemplatesAreFresh -update", file, source, err)
		}
	}
	codes, err := filepath.Glob("../../console/*_templ.go")
	if err != nil || len(codes) != len(sources) {
		t.Errorf("%d templates and %d files of their code, %v", len(sources), len(codes), err)
	}
}

// codeOf returns the Go code of a template.
func codeOf(t *testing.T, source string) []byte {
	t.Helper()
	parsed, err := parser.Parse(source)
	if err != nil {
		t.Fatal(err)
	}
	var code bytes.Buffer
	if _, err := generator.Generate(parsed, &code, generator.WithVersion(templ.Version()), generator.WithFileName(filepath.Base(source))); err != nil {
		t.Fatal(err)
	}
	out, err := format.Source(code.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return out
}
