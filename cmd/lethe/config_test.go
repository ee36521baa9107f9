package main

import (
	"strings"
	"testing"
)

// Valid settings that are likely mistakes cause a warning, not an error.
func TestConfigValidateWarns(t *testing.T) {
	w := newWorld(t, "server.admin.listen=0.0.0.0:9003")
	code, out, errs := w.lethe("config", "validate")
	if code != 0 || !strings.Contains(out, "is valid") || !strings.Contains(errs, "without TLS") {
		t.Errorf("it answers %d, %s, %s", code, out, errs)
	}
	if _, _, errs = newWorld(t).lethe("config", "validate"); strings.Contains(errs, "TLS") {
		t.Errorf("a socket is warned of: %s", errs)
	}
}

// The program lists its settings.
func TestConfigSettings(t *testing.T) {
	w := newWorld(t)
	code, out, errs := w.lethe("config", "settings", "cache")
	if code != 0 || !strings.Contains(out, "cache.size (size, default 64MiB, LETHE_CACHE_SIZE)\n    What ") || strings.Contains(out, "paste.") {
		t.Errorf("it answers %d, %s, %s", code, out, errs)
	}
	if code, out, _ = w.lethe("config", "settings"); code != 0 || strings.Count(out, "LETHE_") < 150 {
		t.Errorf("it answers %d, %s", code, out)
	}
	if code, _, errs = w.lethe("config", "settings", "cash"); code == 0 || !strings.Contains(errs, `no setting begins with "cash"`) {
		t.Errorf("it answers %d, %s", code, errs)
	}
}

// A list of the settings says where each value comes from, and shows no secret.
func TestConfigPrintSources(t *testing.T) {
	t.Setenv("LETHE_CACHE_TTL", "3h")
	w := newWorld(t, "root.access_key=someone", "root.secret=a secret of somebody")
	out := w.ok("config", "print", "--sources")
	for key, want := range map[string]string{"cache.ttl": "the variable LETHE_CACHE_TTL", "server.s3.listen": "a flag", "cache.size": "the default", "root.access_key": "someone"} {
		found := false
		for line := range strings.Lines(out) {
			found = found || strings.HasPrefix(line, key+" ") && strings.Contains(line, want)
		}
		if !found {
			t.Errorf("%s is not from %s:\n%s", key, want, out)
		}
	}
	if strings.Contains(out, "a secret of somebody") {
		t.Error("the secret is shown")
	}
	if head, _, _ := strings.Cut(out, "\n"); strings.Index(head, "FROM") > strings.Index(head, "VALUE") {
		t.Errorf("the sources are beside the longest list: %s", head)
	}
}
