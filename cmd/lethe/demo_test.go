package main

import (
	"strings"
	"testing"
)

// The tour starts while a server of the same machine has the usual ports: it takes free ones, or none.
func TestDemoTakesNoFixedPort(t *testing.T) {
	dir := t.TempDir()
	s := demoConfig(dir).Server
	for name, l := range map[string]string{"s3": s.S3.Listen, "paste": s.Paste.Listen, "admin": s.Admin.Listen, "metrics": s.Metrics.Listen, "console": s.Console.Listen} {
		if l != "off" && !strings.HasPrefix(l, "unix:") && !strings.HasSuffix(l, ":0") {
			t.Errorf("%s listens on %s, which a server may have", name, l)
		}
	}
}
