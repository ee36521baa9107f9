package main

import (
	"strings"
	"testing"
)

// What is valid and likely a mistake is warned of, and is no error.
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
