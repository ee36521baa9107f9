package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
)

// A misspelt command fails, so that a script notices.
func TestUnknownCommandsFail(t *testing.T) {
	for line, want := range map[string]string{
		"stauts":           "status",
		"bogus":            `unknown command "bogus" for "lethe"`,
		"keys bogus":       `"lethe keys --help" lists them`,
		"keys lst":         "did you mean list or set?",
		"ttl s3://a/b 10m": `unknown command "s3://a/b" for "lethe ttl"`,
		"serve extra":      `lethe serve takes no argument such as "extra"`,
	} {
		var out, errs bytes.Buffer
		code := run(context.Background(), strings.Fields(line), streams{strings.NewReader(""), &out, &errs})
		if code != exitUsage || !strings.Contains(errs.String(), want) {
			t.Errorf("%s: exit code %d, %q, want %q", line, code, errs.String(), want)
		}
	}
	var out, errs bytes.Buffer
	code := run(context.Background(), []string{"serve", "--roles", "x"}, streams{strings.NewReader(""), &out, &errs})
	if want := `roles[0]: "x" is not known; use serve, reclaim or both`; code != exitFailure || !strings.Contains(errs.String(), want) {
		t.Errorf("a setting: exit code %d, %q, want %q", code, errs.String(), want)
	}
	for _, line := range []string{"", "keys", "help", "keys --help"} {
		var out, errs bytes.Buffer
		code := run(context.Background(), strings.Fields(line), streams{strings.NewReader(""), &out, &errs})
		if code != 0 || !strings.Contains(out.String(), "Available Commands") {
			t.Errorf("%q: exit code %d, %q %q", line, code, out.String(), errs.String())
		}
	}
}

func TestVersion(t *testing.T) {
	for _, arg := range []string{"version", "--version", "--version --data-dir x", "--data-dir x --version"} {
		var out, errs bytes.Buffer
		code := run(context.Background(), strings.Fields(arg), streams{strings.NewReader(""), &out, &errs})
		if code != 0 || !strings.HasPrefix(out.String(), "lethe ") {
			t.Errorf("%s: exit code %d, %q %q", arg, code, out.String(), errs.String())
		}
	}
}

// An empty time to live, such as from a script's unset variable, changes
// nothing.
func TestEmptyTimeToLiveIsRefused(t *testing.T) {
	w := newWorld(t).start()
	w.bucket("first")
	w.put("first", "a", "bytes", "1d")
	before := w.ok("ttl", "show", "s3://first/a")
	var out, errs bytes.Buffer
	code := run(context.Background(), w.args("ttl", "set", "s3://first/a", "", "--yes"), streams{strings.NewReader(""), &out, &errs})
	if code != exitUsage || !strings.Contains(errs.String(), "lethe ttl clear") {
		t.Errorf("exit code %d: %q", code, errs.String())
	}
	if after := w.ok("ttl", "show", "s3://first/a"); after != before {
		t.Errorf("it was %q and is %q", before, after)
	}
}

// Nonsensical arguments are refused, with what to do.
func TestNonsensicalArgumentsAreRefused(t *testing.T) {
	w := newWorld(t).start()
	w.bucket("first")
	w.put("first", "a", "bytes", "1d")
	w.fails("lies in the past", "ttl", "set", "s3://first/a", "--at", "2020-01-01T00:00:00Z")
	w.ok("ttl", "show", "s3://first/a")
	w.fails("is no name of a bucket", "keys", "add", "--bucket", "A B")
	w.ok("keys", "add", "--bucket", "*")
}
