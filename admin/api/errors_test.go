package api

import "testing"

// What each layer says is said once, and their names not at all.
func TestPlainErrors(t *testing.T) {
	for text, want := range map[string]string{
		"reconcile: backend main: pairing: fsblob: list \"x/\": backend is down: backend is down: folder /b: no such file": "backend main: list \"x/\": backend is down: folder /b: no such file",
		"restore 17: restore trash entry 17: no such trash entry":                                                          "restore 17: no such trash entry",
		"put s3://b/k: bad request: too large":                                                                             "put s3://b/k: too large",
	} {
		if got := Plain(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}
