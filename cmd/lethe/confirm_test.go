package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/lethe-storage/lethe/admin/api"
)

// What a command does to a store.
type class int

const (
	reads    class = iota // changes nothing
	works                 // runs until it is stopped, or ends by itself
	harmless              // ends nothing, and does not change what does
	asks                  // ends objects or bytes, or changes what does: asks first
)

// classes are those of all commands. A new command has to be added here, and if
// it asks, acting needs arguments with which it would act.
var classes = map[string]class{
	"serve": works, "demo": works, "version": reads, "completion": reads, "help": reads,
	"usage": reads, "forecast": reads, "ls": reads, "du": reads,
	"status": reads, "audit": reads, "explain": reads, "check": reads, "backup": reads,
	"config init": reads, "config validate": reads, "config print": reads, "config settings": reads,
	"reclaim": asks, "apply": asks, "reconcile": asks, "import": asks,
	"cleanup-queue list": reads, "pending-objects list": reads,
	"dead list": reads, "dead show": reads, "dead export": reads, "dead requeue": asks, "dead write-off": asks,
	"events targets": reads, "events list": reads, "events requeue": harmless, "events drop": asks,
	"receipts export": reads, "receipts verify": reads,
	"trash list": reads, "trash restore": asks, "trash purge": asks,
	"ttl show": reads, "ttl clear": harmless, "ttl set": asks,
	"hold list": reads, "hold add": harmless, "hold rm": asks,
	"limits show": reads, "limits allow": asks,
	"buckets list": reads, "buckets set": asks,
	"lifecycle get": reads, "lifecycle simulate": reads, "lifecycle set": asks, "lifecycle rm": asks, "lifecycle enable": asks, "lifecycle disable": harmless,
	"keys list": reads, "keys root": reads, "keys add": harmless, "keys set": harmless, "keys seal": harmless, "keys forget-root": harmless, "keys rm": asks,
	"token list": reads, "token who": reads, "token add": harmless, "token rm": asks,
	"backend list": reads, "backend hold": harmless, "backend undrain": harmless,
	"backend accept": asks, "backend drain": asks, "backend remove": asks,
	"clock show": reads, "clock reset": asks,
	"restore": asks, "ledger accept": asks,
	// The file defines what adopt run may destroy, as the configuration does
	// for serve.
	"adopt init": reads, "adopt check": reads, "adopt run": works, "adopt status": reads, "adopt explain": reads, "adopt orphans": reads, "adopt recount": asks,
	"adopt guard show": reads, "adopt guard install": asks, "adopt guard remove": asks, "adopt remove": asks, "adopt accept": asks,
	"adopt hold list": reads, "adopt receipts list": reads, "adopt receipts export": reads, "adopt receipts verify": reads, "adopt hold add": harmless, "adopt hold rm": asks, "adopt plan": reads, "adopt apply": asks,
	"adopt quarantine list": reads, "adopt quarantine restore": harmless, "adopt quarantine purge": asks,
}

// leaves returns the commands that do something, by their paths.
func leaves(cmd *cobra.Command, path string, into map[string]*cobra.Command) map[string]*cobra.Command {
	for _, sub := range cmd.Commands() {
		name := strings.TrimSpace(path + " " + sub.Name())
		if sub.HasSubCommands() {
			leaves(sub, name, into)
			continue
		}
		into[name] = sub
	}
	return into
}

func newCLI() *cli { return &cli{streams: streams{strings.NewReader(""), io.Discard, io.Discard}} }

// Each command has a class, and exactly those that change something have --yes.
func TestEveryCommandIsOfAClass(t *testing.T) {
	all := leaves(newCLI().root(), "", map[string]*cobra.Command{})
	for name, cmd := range all {
		class, known := classes[name]
		if !known {
			t.Errorf("%s is of no class: does it end something, or change what does? Then it has to ask", name)
		}
		if has := cmd.Flags().Lookup("yes") != nil; has != (class == asks || class == harmless) {
			t.Errorf("%s has --yes: %t", name, has)
		}
	}
	for name := range classes {
		if all[name] == nil && name != "help" && name != "completion" {
			t.Errorf("there is no command %s", name)
		}
	}
}

// withYes adds --yes to a command that asks.
func withYes(command []string) []string {
	cmd, _, err := newCLI().root().Find(command)
	if err != nil || cmd.Flags().Lookup("yes") == nil || slices.Contains(command, "--yes") {
		return command
	}
	return append(slices.Clone(command), "--yes")
}

// worth creates a store in which every command that asks has something to do.
// It returns the arguments with which each would act, and the amount that its
// question has to name.
func (w *world) worth() (acting map[string][]string, named map[string]string) {
	w.t.Helper()
	rules, foreign, file := filepath.Join(w.t.TempDir(), "rules"), filepath.Join(w.dir, "blobs", "photos"), filepath.Join(w.t.TempDir(), "plan")
	w.bucket("first")
	w.ok("buckets", "set", "first", "--undo", "1d")
	for _, key := range []string{"a", "gone", "replaced"} {
		w.put("first", key, "bytes of "+key, map[string]string{"a": "2d"}[key])
	}
	w.remove("first", "gone")
	w.put("first", "replaced", "other", "")
	w.ok("hold", "add", "first", "--key", "a")
	w.rules(`{"Rules": [{"ID": "old", "Status": "Disabled", "Filter": {"Prefix": "a"}, "Expiration": {"Days": 1}}]}`)
	w.ok("keys", "add", "--id", "alice", "--bucket", "first")
	w.ok("token", "add", "watcher")
	trash := asked[[]api.TrashEntry](w, "trash", "list")
	lines := map[string]string{rules: `{"Rules": [{"ID": "old", "Status": "Enabled", "Filter": {"Prefix": "a"}, "Expiration": {"Days": 1}}]}`, filepath.Join(foreign, "1.jpg"): "a photo"}
	if err := os.MkdirAll(foreign, 0o700); err != nil {
		w.t.Fatal(err)
	}
	for path, text := range lines {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			w.t.Fatal(err)
		}
	}
	w.ok("trash", "purge", "--all", "--plan", file)
	return map[string][]string{
			"reclaim": {"--once"}, "apply": {file}, "reconcile": {}, "import": {"--backend", "main", "--prefix", "photos/", "--bucket", "first"},
			"dead requeue": {"--all"}, "dead write-off": {"--all"},
			"events drop":   {"app", "--all"},
			"trash restore": {trash[1].ID, "--overwrite"}, "trash purge": {"--all"},
			"ttl set": {"s3://first/a", "1h"}, "hold rm": {"first", "--key", "a"}, "limits allow": {"ttl", "first"},
			"buckets set": {"first", "--max-objects", "1", "--when-full", "evict"}, "lifecycle set": {"first", rules}, "lifecycle rm": {"first"},
			"lifecycle enable": {"first", "old"},
			"keys rm":          {"alice"}, "token rm": {"watcher"},
			"backend accept": {"main"}, "backend drain": {"main"}, "backend remove": {"main"},
			"clock reset": {"--to-now"},
		}, map[string]string{
			"reclaim": "Nothing is due now.", "apply": "2 items of 30 B", "reconcile": "0 orphans of 0 B", "import": "1 key of 7 B",
			"events drop": "", "dead requeue": "", "dead write-off": "", // there are none

			"trash restore": "1 object of 5 B", "trash purge": "2 trash entries of 30 B",
			"ttl set": "1 object of 10 B", "hold rm": "1 object of 10 B",
			"buckets set": "2 objects of 15 B; about 1 object beyond the quota will go for good", "lifecycle set": "would end 0 objects today", "lifecycle rm": "Remove 1 rule of first? It would end nothing within 30 days",
			"lifecycle enable": "Enable the rule old of first? It would end",
			"keys rm":          "1 key: alice", "token rm": "1 token: watcher",
			"backend accept": "4 live of 45 B", "backend drain": "4 live of 45 B", "backend remove": "4 live of 45 B",
			"clock reset": "0 objects",
		}
}

// audits counts the audit lines of changes so far.
func (w *world) audits() (n int) {
	for line := range strings.Lines(w.log.String()) {
		var l struct{ Audit bool }
		if json.Unmarshal([]byte(line), &l) == nil && l.Audit {
			n++
		}
	}
	return n
}

// Without a terminal there is no consent: not by empty input, by a no or even a
// yes, or on a terminal whose question goes into a file.
func TestWithoutATerminalNothingIsDestroyed(t *testing.T) {
	w := newWorld(t).start()
	acting, _ := w.worth()
	acting["restore"], acting["ledger accept"] = []string{filepath.Join(w.dir, "ledger.db"), "--replace"}, []string{}
	for _, name := range []string{"adopt guard install", "adopt guard remove", "adopt remove", "adopt accept", "adopt quarantine purge"} {
		acting[name] = []string{"adopt.yaml"}
	}
	acting["adopt apply"], acting["adopt hold rm"] = append([]string{"adopt.yaml"}, acting["apply"]...), []string{"adopt.yaml", "pastes"}
	acting["adopt recount"] = []string{"adopt.yaml", "pastes", "--repair"}
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	before, lines := w.ok("trash", "list", "--json"), w.audits()
	for name, class := range classes {
		if class != asks {
			continue
		}
		args, known := acting[name]
		if !known {
			t.Errorf("%s asks, and is not tried", name)
			continue
		}
		for what, in := range map[string]io.Reader{"/dev/null": null, "echo n": strings.NewReader("n\n"), "echo y": strings.NewReader("y\n"), "a terminal, errors into a file": terminal(t, "y\n")} {
			var out, errs bytes.Buffer
			code := run(context.Background(), w.args(append(strings.Fields(name), args...)...), streams{in, &out, &errs})
			if code != exitUsage || !strings.Contains(errs.String(), "--yes") {
				t.Errorf("%s with %s: exit code %d\n%s%s", name, what, code, &out, &errs)
			}
		}
	}
	if w.audits() != lines || w.ok("trash", "list", "--json") != before {
		t.Errorf("something was done:\n%s", w.log)
	}
}

// On a terminal each shows numbers and sizes before it does anything, and a no
// is respected.
func TestQuestionsNameAmounts(t *testing.T) {
	w := newWorld(t, "events.targets=[{name: app, url: 'http://127.0.0.1:1/', secret: "+inboxSecret+", private: true}]").start()
	acting, named := w.worth()
	delete(acting, "limits allow") // TestPredictionsAskTheLimits has one that counted something
	lines := w.audits()
	for _, name := range slices.Sorted(maps.Keys(acting)) {
		var out bytes.Buffer
		in, shown := terminal(t, "n\n"), newScreen(t)
		code := run(context.Background(), w.args(append(strings.Fields(name), acting[name]...)...), streams{in, &out, shown.file})
		text := shown.read()
		if named[name] == "" {
			if code != 0 || text != "" || out.String() != "there is nothing to do\n" {
				t.Errorf("%s of nothing: exit code %d\n%s%s", name, code, &out, text)
			}
			continue
		}
		if code == 0 || !strings.Contains(text, named[name]) || !strings.Contains(text, "nothing was done") {
			t.Errorf("%s: exit code %d\n%s%s", name, code, &out, text)
		}
	}
	if w.audits() != lines {
		t.Errorf("something was done:\n%s", w.log)
	}
	shown := newScreen(t)
	if code := run(context.Background(), w.args("keys", "remove", "alice"), streams{terminal(t, "y\n"), io.Discard, shown.file}); code != 0 {
		t.Errorf("a yes: exit code %d, %s", code, shown.read())
	}
	if out := w.ok("keys", "list"); strings.Contains(out, "alice") {
		t.Errorf("it is still there:\n%s", out)
	}
	w.bucket("empty")
	nothing, out := newScreen(t), new(bytes.Buffer)
	code := run(context.Background(), w.args("trash", "purge", "--bucket", "empty"), streams{terminal(t, ""), out, nothing.file})
	if text := nothing.read(); code != 0 || text != "" || out.String() != "there is nothing to do\n" {
		t.Errorf("a purge of nothing: exit code %d, %s%s", code, out, text)
	}
}

// So do those that need exclusive use of the data folder.
func TestQuestionsAboutALedger(t *testing.T) {
	w := newWorld(t).start()
	w.bucket("first")
	w.put("first", "a", "bytes", "")
	file := filepath.Join(t.TempDir(), "backup")
	w.ok("backup", file)
	w.put("first", "b", "more bytes", "")
	w.stop()
	for want, args := range map[string][]string{
		"(1 object of 5 B) into " + w.dir + ", which has 2 objects of 15 B": {"restore", "--replace", file},
		"(2 objects of 15 B) a new identity":                                {"ledger", "accept"},
	} {
		shown := newScreen(t)
		code := run(context.Background(), w.args(args...), streams{terminal(t, "n\n"), io.Discard, shown.file})
		if text := shown.read(); code != 1 || !strings.Contains(text, want) {
			t.Errorf("%v: exit code %d, %s", args, code, text)
		}
	}
	if s := asked[api.Status](w, "status"); s.Objects != 2 {
		t.Errorf("%d objects", s.Objects)
	}
}
