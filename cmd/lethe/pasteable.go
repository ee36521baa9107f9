package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/lethe-storage/lethe/internal/config"
	"github.com/lethe-storage/lethe/internal/words"
)

// command returns a command of lethe for pasting into a shell: it addresses the
// same store, by the options of this one. Values of secrets are left out.
func (c *cli) command(args ...string) string {
	parts := append([]string{"lethe"}, args...)
	for _, o := range []struct{ flag, value string }{{"--config", c.file}, {"--data-dir", c.dataDir}} {
		if o.value != "" {
			parts = append(parts, o.flag, o.value)
		}
	}
	for _, s := range c.settings {
		parts = append(parts, "--set", withoutSecret(s))
	}
	if c.server != "" && c.server != os.Getenv(serverEnv) {
		parts = append(parts, "--server", c.server)
	}
	for i, w := range parts {
		parts[i] = forShell(w)
	}
	return strings.Join(parts, " ")
}

// hidden are settings that may hold a secret.
var hidden = regexp.MustCompile(`(?i)secret|password|token|header|://[^/]*@`)

// withoutSecret returns a setting without a value that may be a secret.
func withoutSecret(setting string) string {
	key, _, _ := strings.Cut(setting, "=")
	if hidden.MatchString(strings.ReplaceAll(setting, "secret_key_file", "")) {
		return key + "=..."
	}
	return setting
}

// bare matches words that a shell takes unquoted.
var bare = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

// forShell quotes a word for a shell.
func forShell(word string) string {
	if bare.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// pasteable completes the commands in a text of the server.
func (c *cli) pasteable(text string) string {
	return words.Commands(text, c.command)
}

// elsewhere returns c for texts that are read in another folder and
// environment, such as a log.
func (c *cli) elsewhere(conf *config.Config) *cli {
	out := *c
	out.settings = append([]string(nil), c.settings...)
	if out.dataDir == "" && conf.DataDir != config.Default().DataDir {
		out.dataDir = conf.DataDir
	}
	for _, path := range []*string{&out.file, &out.dataDir} {
		if abs, err := filepath.Abs(*path); *path != "" && err == nil {
			*path = abs
		}
	}
	return &out
}
