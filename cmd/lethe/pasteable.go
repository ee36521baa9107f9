package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/lethe-storage/lethe/internal/config"
)

// command returns a command of lethe for pasting into a shell: it addresses the
// same store, by the options of this one. Values of secrets are left out.
func (c *cli) command(args ...string) string {
	words := append([]string{"lethe"}, args...)
	for _, o := range []struct{ flag, value string }{{"--config", c.file}, {"--data-dir", c.dataDir}} {
		if o.value != "" {
			words = append(words, o.flag, o.value)
		}
	}
	for _, s := range c.settings {
		words = append(words, "--set", withoutSecret(s))
	}
	if c.server != "" && c.server != os.Getenv(serverEnv) {
		words = append(words, "--server", c.server)
	}
	for i, w := range words {
		words[i] = forShell(w)
	}
	return strings.Join(words, " ")
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

// nextStep matches the commands in texts of the server, which does not know the
// client's options.
var nextStep = regexp.MustCompile(`\blethe (backend accept [A-Za-z0-9._-]*[A-Za-z0-9]|limits show|ledger accept|token add)`)

// pasteable completes the commands in a text of the server.
func (c *cli) pasteable(text string) string {
	return nextStep.ReplaceAllStringFunc(text, func(found string) string { return c.command(strings.Fields(found)[1:]...) })
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
