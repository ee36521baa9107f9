package adopt

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The descriptions in the documentation are valid.
func TestDocumentedDescriptions(t *testing.T) {
	pages, err := filepath.Glob("../docs/adopting*.md")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range indented(string(text)) {
			if !strings.HasPrefix(block, "database: ") || !strings.Contains(block, "\ncollections:") {
				continue
			}
			found++
			if _, err := Parse([]byte(block), func(name string) (string, bool) { return "given", !strings.Contains(name, "CLEANUP") }); err != nil {
				t.Errorf("%s: %v", page, err)
			}
		}
	}
	if found < 4 {
		t.Errorf("%d descriptions were found", found)
	}
}

// The file of audit lines in the documentation lies where the service may write.
func TestDocumentedAuditFile(t *testing.T) {
	page, err := os.ReadFile("../docs/adopting-operate.md")
	if err != nil {
		t.Fatal(err)
	}
	unit, err := os.ReadFile("../deploy/systemd/lethe-adopt.service")
	if err != nil {
		t.Fatal(err)
	}
	_, path, _ := strings.Cut(string(page), "`audit: /var/log/")
	folder, _, _ := strings.Cut(path, "/")
	if !strings.Contains(string(unit), "\nLogsDirectory="+folder+"\n") {
		t.Errorf("the service may not write below /var/log/%s", folder)
	}
}

// indented returns the code blocks of a page.
func indented(text string) (blocks []string) {
	block := ""
	for _, line := range strings.Split(text+"\nend", "\n") {
		code, ok := strings.CutPrefix(line, "    ")
		if ok {
			block += code + "\n"
		} else if line != "" && block != "" {
			blocks, block = append(blocks, block), ""
		}
	}
	return blocks
}
