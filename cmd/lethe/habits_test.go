package main

import (
	"bytes"
	"context"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/lethe-storage/lethe/admin/api"
)

// TestExitCodes checks that scripts can tell a wrong command line and a missing thing from a
// failure, and that each error is one line without the layers of the code.
func TestExitCodes(t *testing.T) {
	w := newWorld(t).start()
	w.bucket("first")
	w.put("first", "a", "bytes", "")
	w.exits([]exit{
		{"explain s3://first/a", 0, ""},
		{"explain", exitUsage, "name an object as s3://bucket/key"},
		{"explain first/a", exitUsage, `"first/a" is not an object; write s3://bucket/key`},
		{"explain s3://first/a b", exitUsage, "lethe explain --help"},
		{"explain s3://first/none", exitNothing, ""},
		{"ttl show s3://first/none", exitNothing, "head first/none: no such key"},
		{"ttl set s3://first/a soon", exitUsage, `"soon" has no number`},
		{"ttl show", exitUsage, "write lethe ttl show s3://bucket/key; see lethe ttl show --help"},
		{"hold rm s3://first/a", exitNothing, "no such hold"},
		{"hold add s3://nowhere", exitNothing, "no such bucket"},
		{"ls s3://nowhere", exitNothing, "list nowhere: no such bucket"},
		{"buckets set nowhere --undo 1h", exitNothing, "bucket nowhere: no such bucket"},
		{"buckets set first", exitUsage, "nothing to change"},
		{"buckets set s3://first/a --undo 1h", exitUsage, "not a bucket; write s3://first"},
		{"keys rm nobody", exitNothing, "remove access key nobody: no such access key"},
		{"token rm nobody", exitNothing, "remove token nobody: no such token"},
		{"lifecycle get nowhere", exitNothing, "no such bucket"},
		{"dead requeue xyz", exitUsage, `"xyz" is not an id`},
		{"statu", exitUsage, "did you mean status?"},
		{"backend lst", exitUsage, "did you mean list?"},
		{"limits show --nope", exitUsage, "unknown flag: --nope; see lethe limits show --help"},
		{"check now", exitUsage, `lethe check takes no argument such as "now"`},
		{"reclaim", exitUsage, "add --once"},
		{"reclaim --once --only zz", exitUsage, `there is no routine "zz": use lifecycle, expire, `},
		{"limits allow rule first --yes", exitUsage, `there is no kind of limit "rule": use rules, ttl, deletes, purge`},
		{"receipts verify --head 1:abc", exitUsage, "with 64 digits"},
		{"receipts verify --head first", exitUsage, "is not a number and hash"},
		{"buckets set first --max-idle 5s --yes", exitUsage, "for --max-idle: want a time such as 12h or 30d"},
		{"receipts export --since yesterday", exitUsage, "nor a duration such as 1h or 7d"},
		{"apply " + t.TempDir() + "/none", exitFailure, "no such file"},
	})
}

// TestExitCodesOfFlagsAndNames checks the same of flags, and of backends, rules and dead letters.
func TestExitCodesOfFlagsAndNames(t *testing.T) {
	w := newWorld(t).start()
	w.bucket("first")
	w.exits([]exit{
		{"import", exitUsage, "add --backend and --bucket; see lethe import --help"},
		{"import --backend tape --bucket first --yes", exitNothing, `no such backend: "tape"; configured here: main`},
		{"reconcile --dry-run --last", exitUsage, "--dry-run and --last exclude each other"},
		{"reconcile --kind size", exitUsage, "--kind needs --last"},
		{"reconcile --last --kind sizes", exitUsage, `no kind of finding "sizes": use orphan, foreign, elsewhere, missing, size`},
		{"reconcile --last --kind size", 0, ""},
		{"reconcile --last --backend tape", exitNothing, "no such backend"},
		{"dead list --backend tape", exitNothing, "no such backend"},
		{"cleanup-queue list --backend tape", exitNothing, "no such backend"},
		{"backend hold tape", exitNothing, "no such backend"},
		{"backend undrain tape", exitNothing, "no such backend"},
		{"dead requeue 00000000000000000000000000 --yes", exitNothing, "1 named blob is no dead letter"},
		{"dead list --min-size much", exitUsage, "is not a size"},
		{"lifecycle rm first old --yes", exitNothing, `no such rule: "old"; bucket first has none`},
		{"lifecycle disable first", exitUsage, "write lethe lifecycle disable bucket rule"},
		{"ls s3://first/none", exitNothing, "nothing is under s3://first/none"},
		{"du s3://first/none/", exitNothing, "nothing is under s3://first/none/"},
		{"usage s3://first/none/ --json", exitNothing, "nothing is under s3://first/none/"},
		{"ls s3://first", 0, ""},
		{"config settings none", exitNothing, "no setting begins with"},
		{"clock reset --yes", exitUsage, "--to-now"},
		{"status --nope", exitUnknown, "unknown flag: --nope; see lethe status --help"},
	})
}

// exit is how a command line ends.
type exit struct {
	line string
	code int
	says string
}

func (w *world) exits(list []exit) {
	w.t.Helper()
	for _, c := range list {
		code, _, errs := w.lethe(strings.Fields(c.line)...)
		if code != c.code || !strings.Contains(errs, c.says) {
			w.t.Errorf("lethe %s: exit code %d, want %d with %q\n%s", c.line, code, c.code, c.says, errs)
		}
		for _, layer := range []string{"ledger: ", "object: ", "bad request", "sqlledger"} {
			if strings.Contains(errs, layer) || strings.Count(errs, "\n") > 1 {
				w.t.Errorf("lethe %s does not fail in one plain line:\n%s", c.line, errs)
			}
		}
	}
}

// TestReadingCommandsWriteJSON checks that what can be read can be read by a program.
func TestReadingCommandsWriteJSON(t *testing.T) {
	lines := []string{ // whose output is JSON or a file of its own form
		"backup", "completion", "help", "config init", "config print", "config validate", "config settings", "dead export", "receipts export",
		"adopt receipts export", "adopt init", "adopt plan", "adopt guard show", "keys root",
	}
	for name, cmd := range leaves(newCLI().root(), "", map[string]*cobra.Command{}) {
		if has := cmd.Flags().Lookup("json") != nil; classes[name] == reads && has == slices.Contains(lines, name) {
			t.Errorf("%s has --json: %t", name, has)
		}
	}
}

// TestSinceTakesDurations checks that times back from now are taken where times are.
func TestSinceTakesDurations(t *testing.T) {
	w := newWorld(t).start()
	w.bucket("first")
	w.put("first", "a", "bytes", "")
	w.remove("first", "a")
	w.ok("usage", "s3://first", "--since", "2020-01-01T00:00:00Z")
	w.fails("nor a duration such as 1h or 7d", "usage", "--since", "yesterday")
	for since, want := range map[string]int{"1h": 1, "7d": 1, "2020-01-01T00:00:00Z": 1, "2100-01-01T00:00:00Z": 0} {
		if got := strings.Count(w.ok("receipts", "export", "--since", since), `"kind":"object"`); got != want {
			t.Errorf("--since %s shows %d receipts, want %d", since, got, want)
		}
	}
}

// TestPlacesAreNamedAlike checks that what a list prints can be given to a command.
func TestPlacesAreNamedAlike(t *testing.T) {
	w := newWorld(t).start()
	w.bucket("first")
	w.put("first", "a/b", "bytes", "")
	for place, want := range map[string]string{
		"s3://first": "s3://first/*", "s3://first/a/": "s3://first/a/*", "s3://first/a/b": "s3://first/a/b", "s3://first/x*": "s3://first/x*",
	} {
		if out := w.ok("hold", "add", place); !strings.Contains(out, "held: "+want+"\n") {
			t.Errorf("a hold on %s is said to be on %s", place, out)
		}
		if out := w.ok("hold", "list"); !strings.Contains(out, want+" ") {
			t.Errorf("no %s in\n%s", want, out)
		}
		w.ok("hold", "rm", want)
	}
	if list := asked[[]api.HoldInfo](w, "hold", "list"); len(list) != 0 {
		t.Errorf("held: %+v", list)
	}
	w.ok("buckets", "set", "s3://first", "--undo", "1h")
	w.fails("names a key or a prefix already", "hold", "add", "s3://first/a", "--key", "b")
}

// TestCompletion checks that a shell is offered what there is, by a running server only.
func TestCompletion(t *testing.T) {
	w := newWorld(t).start()
	w.bucket("first")
	w.bucket("second")
	w.ok("hold", "add", "s3://second/kept/")
	for _, key := range []string{"in/a", "in/b", "index", "other", "in/line\nbreak"} {
		w.put("first", key, "bytes", "")
	}
	w.ok("token", "add", "reader", "--role", "read")
	w.rules(`{"Rules":[{"ID":"old","Filter":{"Prefix":"a/"},"Status":"Enabled","Expiration":{"Days":7}}]}`)
	offers := func(words []string, begun string) string {
		var out bytes.Buffer
		args := append(append(append([]string{"__complete"}, w.args()...), words...), begun)
		if code := run(context.Background(), args, streams{strings.NewReader(""), &out, io.Discard}); code != 0 {
			t.Fatalf("%v: exit code %d\n%s", args, code, &out)
		}
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		return strings.Join(lines[:len(lines)-1], " ")
	}
	for line, want := range map[string]string{
		"buckets set |": "first pastes second", "buckets set f|": "first", "explain s3://s|": "s3://second/", "lifecycle get |": "first pastes second",
		"backend drain |": "main", "hold rm |": "s3://second/kept/*", "token rm |": "reader", "limits allow |": "rules ttl deletes purge",
		"reclaim --only ex|": "expire", "trash list --bucket s|": "second", "reconcile --backend |": "main", "dead list --bucket f|": "first",
		"limits allow ttl s|": "second", "limits allow deletes |": "main", "limits allow purge |": "", "lifecycle disable first |": "old",
		"hold add s3://f|": "s3://first/", "hold add s3://first/in|": "s3://first/in/ s3://first/index", "hold add s3://first/in/|": "s3://first/in/a s3://first/in/b", "hold add s3://none/|": "", "forecast --day tom|": "tomorrow",
	} {
		words := strings.Fields(strings.TrimSuffix(line, "|"))
		begun := ""
		if !strings.HasSuffix(line, " |") {
			words, begun = words[:len(words)-1], words[len(words)-1]
		}
		if got := offers(words, begun); got != want {
			t.Errorf("%s offers %q, want %q", line, got, want)
		}
	}
	w.stop()
	if got := offers([]string{"buckets", "set"}, ""); got != "" {
		t.Errorf("without a server it offers %q", got)
	}
}
