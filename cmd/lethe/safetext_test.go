package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/internal/safetext"
)

// hostile are keys that affect a terminal, or imitate other output.
var hostile = []string{
	"clear\x1b[2Jed", "title\x1b]0;x\a", "c1\u009b31m", "turned\u202egpj.exe", "isolated\u2066x\u2069", "zero\u200bwidth", "filler\u3164", "tag\U000e0041",
	"back\rover", "two\nlines", "a\ttab", "column  10 B  deleted",
}

// harm returns the first rune of a text that is not safe on a terminal.
func harm(text string) string {
	for i, r := range text {
		if r != '\n' && !safetext.Plain(r) {
			return fmt.Sprintf("%q in %q", r, text[max(0, i-20):min(len(text), i+20)])
		}
	}
	return ""
}

// Every command that prints untrusted names prints them readable and without
// effect; JSON stays the same JSON.
func TestNamesCannotControlATerminal(t *testing.T) {
	w := newWorld(t).start()
	w.bucket("first")
	w.ok("buckets", "set", "first", "--undo", "1d")
	ctx := context.Background()
	for _, key := range hostile {
		w.put("first", key, "bytes", "1h")
		w.put("first", key, "others", "1h")
		if _, err := w.s3("", "").CreateMultipartUpload(ctx, &awss3.CreateMultipartUploadInput{Bucket: aws.String("first"), Key: &key}); err != nil {
			t.Fatal(err)
		}
		w.ok("hold", "add", "first", "--key", key, "--reason", key)
	}
	if err := os.WriteFile(filepath.Join(w.dir, "blobs", "foreign\x1b[1m\u202e"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	rules := filepath.Join(t.TempDir(), "rules")
	if err := os.WriteFile(rules, []byte("{\"Rules\": [{\"ID\": \"id\u202e\", \"Status\": \"Enabled\", \"Filter\": {\"Prefix\": \"c\u202e\"}, \"Expiration\": {\"Days\": 1}}]}"), 0o600); err != nil {
		t.Fatal(err)
	}
	commands := [][]string{
		{"trash", "list"}, {"trash", "list", "--json"}, {"hold", "list"}, {"hold", "list", "--json"}, {"lifecycle", "set", "first", rules},
		{"lifecycle", "get", "first"}, {"lifecycle", "get", "first", "--xml"}, {"lifecycle", "get", "first", "--json"}, {"lifecycle", "simulate", "first"},
		{"reconcile", "--dry-run"}, {"reconcile", "--dry-run", "--json"}, {"reconcile"}, {"reconcile", "--last"}, {"pending-objects", "list"},
		{"reclaim", "--dry-run"}, {"trash", "purge", "--all", "--plan", filepath.Join(t.TempDir(), "plan")}, {"ttl", "show", "s3://first/none\x1b"},
		{"import", "--backend", "main", "--bucket", "first", "--dry-run"}, {"check"}, {"status"}, {"cleanup-queue", "list"},
		{"ttl", "set", "s3://first/" + hostile[1], "2h\x1b[1m"}, {"keys", "remove", "x\x1b"}, {"hold", "rm", "first", "--key", "\x1bnone"},
	}
	for _, key := range hostile {
		commands = append(commands, []string{"explain", "s3://first/" + key}, []string{"explain", "s3://first/" + key, "--json"},
			[]string{"ttl", "show", "s3://first/" + key}, []string{"hold", "rm", "first", "--key", key})
	}
	for _, args := range commands {
		_, out, errs := w.lethe(args...)
		if found := harm(out + errs); found != "" {
			t.Errorf("lethe %q prints %s", args, found)
		}
	}
	list := asked[[]api.TrashEntry](w, "trash", "list")
	names := map[string]bool{}
	for _, e := range list {
		names[e.Key] = true
	}
	for _, key := range hostile {
		if !names[key] {
			t.Errorf("JSON has another key than %q", key)
		}
	}
	if rows := strings.Count(w.ok("trash", "list"), "\n"); rows != 1+len(list) {
		t.Errorf("%d entries in %d lines", len(list), rows)
	}
}

// Output for a file is exact, except on a terminal.
func TestDocumentsAreEscapedOnATerminal(t *testing.T) {
	var b bytes.Buffer
	e := &escaping{w: &b}
	for _, part := range []string{"a\xe2\x80", "\xaeb\x1b", "\n"} {
		if _, err := e.Write([]byte(part)); err != nil {
			t.Fatal(err)
		}
	}
	if want := "a\\u202eb\\u001b\n"; b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
}

// All output goes through the functions that quote.
func TestCommandsPrintInOnePlace(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if name != "safetext.go" && name != "output.go" && !strings.HasSuffix(name, "_test.go") && bytes.Contains(text, []byte("fmt.Fprint")) {
			t.Errorf("%s prints by itself: use printf or table", name)
		}
	}
}

// The commands in the output can be pasted: they address the same store.
func TestNextStepsCanBePasted(t *testing.T) {
	w := newWorld(t)
	w.dir = filepath.Join(t.TempDir(), "a folder of 'mine'")
	w.start()
	w.bucket("first")
	w.put("first", "a", "bytes", "1h")
	file := filepath.Join(t.TempDir(), "backup")
	w.ok("backup", file)
	w.stop()
	quoted := "--data-dir '" + strings.ReplaceAll(w.dir, "'", `'\''`) + "'"
	for _, line := range strings.Split(strings.TrimSpace(w.ok("restore", "--replace", file)), "\n") {
		if strings.HasPrefix(line, "  lethe") && !strings.Contains(line, quoted) {
			t.Errorf("it lacks %s: %s", quoted, line)
		}
	}
	w.start()
	w.clock.Advance(2 * time.Hour)
	if out, want := w.ok("status"), "lethe backend accept main "+quoted; !strings.Contains(out, want) {
		t.Errorf("%s is not in\n%s", want, out)
	}
	w.fails("lethe backend accept main "+quoted, "apply", w.plan())
	if secret := (&cli{settings: []string{"root.secret=hush", "database.url=postgres://a:hush@b/c"}}).command("status"); strings.Contains(secret, "hush") {
		t.Errorf("a secret: %s", secret)
	}
}

// plan returns a plan of everything that is due.
func (w *world) plan() string {
	w.t.Helper()
	file := filepath.Join(w.t.TempDir(), "plan")
	w.ok("reclaim", "--plan", file)
	head, err := os.ReadFile(file)
	if err != nil || !json.Valid(bytes.SplitN(head, []byte("\n"), 2)[0]) {
		w.t.Fatalf("%q, %v", head, err)
	}
	return file
}

// Indented lines of a database's error are shown indented; a name cannot make lines.
func TestErrorsOfSeveralLines(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{errors.New("failed:\n\tno answer\tfrom it"), "lethe: failed:\n  no answer\\u0009from it\n"},
		{&api.Error{Message: "no\n\tline"}, "lethe: no\\u000a\\u0009line\n"},
	} {
		var out bytes.Buffer
		if printError(&out, c.err.Error(), c.err); out.String() != c.want {
			t.Errorf("%q, want %q", &out, c.want)
		}
	}
}
