package main

import (
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// scripts/release.sh writes the manual pages here: only tests link what makes them.
var manFolder = flag.String("man", "", "write the manual pages to this `folder`")

// Every command that a person sees has a manual page, which man can read.
func TestManualPages(t *testing.T) {
	folder := *manFolder
	if folder == "" {
		folder = t.TempDir()
	}
	root := (&cli{streams: streams{strings.NewReader(""), io.Discard, io.Discard}}).root()
	header := doc.GenManHeader{Section: "1", Source: "Lethe", Manual: "Lethe"}
	if err := doc.GenManTree(root, &header, folder); err != nil {
		t.Fatal(err)
	}
	seen := 0
	visit(root, func(c *cobra.Command) {
		page := filepath.Join(folder, strings.ReplaceAll(c.CommandPath(), " ", "-")+".1")
		text, err := os.ReadFile(page)
		if err != nil || !strings.Contains(string(text), ".SH SYNOPSIS") {
			t.Errorf("%s has no manual page: %v", c.CommandPath(), err)
		}
		seen++
	})
	if seen < 50 {
		t.Errorf("%d pages", seen)
	}
	if _, err := exec.LookPath("man"); err != nil {
		return
	}
	out, err := exec.CommandContext(t.Context(), "man", "--warnings", "-l", filepath.Join(folder, "lethe-serve.1")).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "lethe serve") {
		t.Errorf("man: %v\n%s", err, out)
	}
}

// visit calls fn with every command that help lists.
func visit(c *cobra.Command, fn func(*cobra.Command)) {
	fn(c)
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() && !sub.IsAdditionalHelpTopicCommand() {
			visit(sub, fn)
		}
	}
}
