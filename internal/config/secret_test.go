package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

func TestSecretNeverShows(t *testing.T) {
	const text = "hunter2hunter2"
	s := NewSecret(text)
	type hidden struct{ inner Secret }
	c := Default()
	c.Root.Secret = s
	var b bytes.Buffer
	for _, verb := range []string{"v", "+v", "#v", "s", "q", "x", "X", "d", "t", "p", "c", "10s", "e", "w"} {
		fmt.Fprintf(&b, "%"+verb+"\n", s)
		fmt.Fprintf(&b, "%"+verb+"\n", hidden{s})
		fmt.Fprintf(&b, "%"+verb+"\n", &hidden{s})
		fmt.Fprintf(&b, "%"+verb+"\n", *c)
	}
	for _, log := range []*slog.Logger{slog.New(slog.NewTextHandler(&b, nil)), slog.New(slog.NewJSONHandler(&b, nil))} {
		log.Info("secret", "s", s, "c", c, "h", hidden{s})
	}
	for _, marshal := range []func(any) ([]byte, error){json.Marshal, yaml.Marshal} {
		out, err := marshal(c)
		b.Write(out)
		if err != nil || !strings.Contains(string(out), "REDACTED") {
			t.Errorf("%v: %s", err, out)
		}
	}
	b.WriteString(printed(t, c))
	for _, form := range []string{text, fmt.Sprintf("%x", text), fmt.Sprintf("%X", text), fmt.Sprintf("%d", []byte(text))} {
		if strings.Contains(b.String(), form) {
			t.Errorf("shows %s:\n%s", form, b.String())
		}
	}
	if s.Reveal() != text || NewSecret("").Reveal() != "" || !NewSecret("").IsZero() || NewSecret("").String() != "" {
		t.Error("Reveal or the empty secret is wrong")
	}
}

func TestErrorsHideSecrets(t *testing.T) {
	const secret = "hunter2"
	for _, text := range []string{
		"root:\n  secret: [hunter2]\n",
		"root:\n  secret: *hunter2\n",
		"root:\n  secret:\n    hunter2: 1\n",
		"root:\n  secret: \"hunter2\n",
		"root:\n  secret: |\n    hunter2\n   x\n",
		"root:\n  secret: 'a' hunter2\n",
		"root:\n  secret:\n    a:\n      b: hunter2\n",
		"root: {secret: hunter2}}\n",
		"database:\n  url: [hunter2]\n",
		"database:\n  ulr: hunter2\n",
		"database: {url: postgres://u:hunter2@h/d, x: 1}\n",
		"redis:\n  url:\n    hunter2: 1\n",
		"backends:\n  - name: a\n    s3:\n      secret_key: [hunter2]\n",
		"backends:\n  - name: a\n    s3:\n      secert_key: hunter2\n",
		"backends: [{name: a, s3: {secret_key: hunter2, x: 1}}]\n",
		"root: {secret: hunter2, x: 1}\n",
		"root:\n  secrte: hunter2\n  secret: [\n",
		"events:\n  targets:\n    - name: a\n      ulr: https://h/hunter2\n",
		"events: {targets: [{name: a, url: 'https://h/hunter2', x: 1}]}\n",
	} {
		_, err := Parse("f", []byte(text))
		if !errors.Is(err, ErrInvalid) {
			t.Errorf("%q: %v; want ErrInvalid", text, err)
			continue
		}
		if strings.Contains(err.Error(), secret) {
			t.Errorf("%q: the error shows the secret: %v", text, err)
		}
	}
	_, err := Load("", []string{"LETHE_ROOT_SECRET=hunter2", "LETHE_ROOT_ACCESS_KEY=a"})
	if err == nil || strings.Contains(err.Error(), secret) {
		t.Errorf("too short a secret: %v", err)
	}
}

func TestSecretFromAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secret")
	if _, err := (Secret{}).OrFile(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	for text, want := range map[string]string{"hunter2\n": "hunter2", " \n": ""} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := (Secret{}).OrFile(path)
		if got.Reveal() != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", text, got.Reveal(), err)
		}
	}
	if got, err := NewSecret("set").OrFile(path); err != nil || got.Reveal() != "set" {
		t.Errorf("a secret that is set: %q, %v", got.Reveal(), err)
	}
	if got, err := (Secret{}).OrFile(""); err != nil || !got.IsZero() {
		t.Errorf("neither: %v", err)
	}
}

// An error about an address does not show the password, or the token of a webhook, in it.
func TestPasswordsInAddressesDoNotShow(t *testing.T) {
	for _, text := range []string{
		"tracing:\n  endpoint: http://me:hunter2hunter2@collector:4318\n", "tracing: {endpoint: \"http://me:hunter2hunter2@collector\", sample_ratio: 7}\n",
		"tracing:\n  endpoint: [http://me:hunter2hunter2@collector\n", "tracing:\n  endpiont: 'http://me:hunter2 hunter2@collector'\n",
		"events:\n  targets:\n    - name: a\n      secret: 0123456789abcdef\n      url: https://h/hunter2#x\n",
	} {
		path := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Load(path, nil)
		if err == nil {
			t.Errorf("%q was taken", text)
		} else if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("it shows: %v", err)
		}
	}
}

func TestSealingKeys(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys")
	key := strings.Repeat("QUFB", 10) + "QUE="
	for text, want := range map[string]int{
		key + "\n": 1, "# new\n" + key + "\n\n" + key + "\r\n": 2,
		"# none\n": 0, "hunter2": 0, key[:40] + "\n": 0, key + "\nhunter2\n": 0,
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		keys, err := Database{SealingKeyFile: file}.SealingKeys()
		if len(keys) != want || (err == nil) != (want > 0) {
			t.Errorf("%q: %d keys, %v", text, len(keys), err)
		}
		if err != nil && (strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "QUFB") || !strings.Contains(err.Error(), "openssl rand -base64 32")) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if keys, err := (Database{}).SealingKeys(); keys != nil || err != nil {
		t.Errorf("no file: %v, %v", keys, err)
	}
	if _, err := (Database{SealingKeyFile: file + "-"}).SealingKeys(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}

// The secret of a target is as long in a file as in the configuration. A line's end does not count.
func TestKeyOfATarget(t *testing.T) {
	path := filepath.Join(t.TempDir(), "app.secret")
	for text, want := range map[string]string{"fifteen bytes..\n": "", "sixteen bytes...\n": "sixteen bytes...", "short": ""} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		key, err := EventTarget{SecretFile: path}.Key()
		switch {
		case want != "" && (err != nil || key.Reveal() != want):
			t.Errorf("%q: %v", text, err)
		case want == "" && (err == nil || !strings.Contains(err.Error(), path+" is shorter than 16 characters") || strings.Contains(err.Error(), strings.TrimSpace(text)+" ")):
			t.Errorf("%q: %v", text, err)
		}
	}
}
