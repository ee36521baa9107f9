package config

import (
	"slices"
	"testing"
)

func TestChanged(t *testing.T) {
	a, b := Default(), Default()
	if keys := Changed(a, b); keys != nil {
		t.Errorf("nothing changed, and it names %q", keys)
	}
	for key, value := range map[string]string{
		"server.domain": "s3.test", "root.secret": "another secret", "reclaim.clean.schedule": "every 9s",
		"backends": "[{name: b, kind: dir, path: b}]",
	} {
		if err := b.Set(key, value); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"root.secret", "server.domain", "backends", "reclaim.clean.schedule"}
	if keys := Changed(a, b); !slices.Equal(keys, want) {
		t.Errorf("%q, want %q", keys, want)
	}
}
