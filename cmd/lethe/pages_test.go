package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

var (
	// calls are commands in a page: at the start of a line, or after a prompt, a quote or an operator of the shell.
	calls   = regexp.MustCompile("(?m)(?:^ *|[`$(;&|] ?)(?:\\./)?lethe ([a-z][^`\n]*)")
	callEnd = regexp.MustCompile(`\s[#|>&]|;`)
)

// The commands of pages exist, with their flags.
func TestCommandsOfPages(t *testing.T) {
	root, count := newCLI().root(), 0
	root.InitDefaultHelpCmd()
	for _, pattern := range []string{"README.md", "docs/*.md", "deploy/*.md", "deploy/*/*.yaml", "examples/*.yaml", "examples/*/README.md"} {
		files, err := filepath.Glob("../../" + pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v, %v", pattern, files, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, call := range calls.FindAllStringSubmatch(strings.ReplaceAll(string(text), "\\\n", " "), -1) {
				line := callEnd.Split(call[1], 2)[0]
				if wrong := wrongCall(root, strings.Fields(line)); wrong != "" {
					t.Errorf("%s: lethe %s: there is no %s", file, line, wrong)
				}
				count++
			}
		}
	}
	if count < 200 {
		t.Errorf("only %d commands were found", count)
	}
}

// wrongCall returns the command or flag that the program does not have.
func wrongCall(root *cobra.Command, words []string) string {
	cmd, rest, err := root.Find(words)
	if err != nil {
		return words[0]
	}
	for i, word := range rest {
		name, isFlag := strings.CutPrefix(word, "--")
		name, _, _ = strings.Cut(strings.TrimRight(name, ".,:;)]"), "=")
		switch {
		case isFlag && name != "help" && cmd.Flag(name) == nil:
			return word
		case !isFlag && i == 0 && cmd.HasSubCommands():
			return word
		}
	}
	return ""
}
