package app

import (
	"strings"
	"testing"

	"github.com/lethe-storage/lethe/internal/config"
)

// Adding a profile to the file keeps the root key.
func TestOtherProfilesAreNotTheRootKey(t *testing.T) {
	const ours, other = "aws_access_key_id = a\naws_secret_access_key = s\n", "[backup]\naws_access_key_id = b\naws_secret_access_key = t\n"
	for _, text := range []string{ours, ours + other, "[default]\n" + ours + other, other + " [default] \r\n" + ours, "# x = y\n\n" + ours} {
		if c, err := parseCredentials(text); err != nil || c.Access != "a" || c.Secret.Reveal() != "s" {
			t.Errorf("%q: %s, %q, %v", text, c.Access, c.Secret.Reveal(), err)
		}
	}
	if c, err := parseCredentials(other); err == nil {
		t.Errorf("the root key is %s, of another profile", c.Access)
	}
}

// FuzzCredentials checks that an accepted key has both its parts, of one line
// each, in the default profile, and survives writing and reading; an error
// shows nothing of the file.
func FuzzCredentials(f *testing.F) {
	for _, seed := range []string{
		"", "x", "=", "[default]\naws_access_key_id = a\naws_secret_access_key = s\n", "aws_access_key_id=a\r\naws_secret_access_key=s=\r\n",
		"aws_access_key_id=\naws_secret_access_key=s", "aws_secret_access_key = canary\n", "[default]\naws_access_key_id = a\n[other]\naws_secret_access_key = canary",
		"aws_access_key_id = a\naws_access_key_id = b\naws_secret_access_key = s", "aws_access_key_id = a b\u2028\naws_secret_access_key = \x00\xff", "[default\naws_access_key_id",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := parseCredentials(text)
		if err != nil {
			if c.Access != "" || c.Secret != (config.Secret{}) || err.Error() != "aws_access_key_id or aws_secret_access_key is missing" {
				t.Fatalf("%q: %v, %v", text, c, err)
			}
			return
		}
		for _, half := range []string{c.Access, c.Secret.Reveal()} {
			if half == "" || half != strings.TrimSpace(half) || strings.Contains(half, "\n") || !strings.Contains(text, half) {
				t.Fatalf("%q has half a key, %q", text, half)
			}
		}
		const other = "\n[other]\naws_access_key_id = x\naws_secret_access_key = y\n"
		for _, file := range []string{c.text(), c.text() + other, text + other} {
			if again, err := parseCredentials(file); err != nil || again.Access != c.Access || again.Secret.Reveal() != c.Secret.Reveal() {
				t.Fatalf("%q, read as %q, is %v: %v", file, c.Access, again, err)
			}
		}
	})
}
