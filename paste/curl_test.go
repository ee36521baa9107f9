package paste_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/object"
)

// shell runs curl against a site.
type shell struct {
	*site
	curl, folder string
}

func newShell(t *testing.T) *shell {
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Skip("curl is not installed")
	}
	return &shell{newSite(t, nil), curl, t.TempDir()}
}

// run returns what curl prints.
func (s *shell) run(args ...string) string {
	s.t.Helper()
	cmd := exec.Command(s.curl, append([]string{"-q", "-sS", "--noproxy", "*", "--max-time", "30"}, args...)...)
	cmd.Dir = s.folder
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		s.t.Fatalf("curl %v: %v: %s", args, err, errs.String())
	}
	return out.String()
}

func (s *shell) file(name, text string) {
	s.t.Helper()
	s.must(os.WriteFile(filepath.Join(s.folder, name), []byte(text), 0o600))
}

// TestCurlRoundTrip sends files as people do, and gets them back to the byte.
func TestCurlRoundTrip(t *testing.T) {
	s := newShell(t)
	contents := map[lethe.ID]bool{}
	for name, text := range map[string]string{
		"text": "hello\nworld\n", "windows": "a\r\nb\r\n", "settings": "content=x\nttl=1h\n", "query": "a=b&c=%41\n",
		"json": "{\"content\": \"x\"}\n", "binary": "\x00\x01\xff=&%", "large": strings.Repeat("0123456789abcde\n", 60_000),
	} {
		s.file(name, text)
		for _, args := range [][]string{
			{"--data-binary", "@" + name, s.URL}, {"-F", "content=@" + name, s.URL}, {"-F", "file=@" + name, "-F", "ttl=1h", s.URL},
			{"-H", "Transfer-Encoding: chunked", "--data-binary", "@" + name, s.URL},
		} {
			at := strings.TrimSuffix(s.run(args...), "\n")
			if !strings.HasPrefix(at, s.URL+"/") || strings.ContainsAny(at, " \n") {
				t.Fatalf("%s: curl %v prints %q, want the link", name, args, at)
			}
			if got := s.run(at); got != text {
				t.Fatalf("%s: curl %v: %d bytes came back as %d: %.60q", name, args, len(text), len(got), got)
			}
			o, err := s.store.Head(t.Context(), object.GetRequest{Bucket: "pastes", Key: strings.TrimPrefix(at, s.URL+"/")})
			s.must(err)
			contents[o.ContentID] = true
		}
	}
	if n := len(contents); n != 7 {
		t.Errorf("%d contents for 7 files sent in 4 ways each", n)
	}
}

func TestCurlWithOptions(t *testing.T) {
	s := newShell(t)
	s.file("notes", "hello\n")
	for _, args := range [][]string{
		{"--data-binary", "@notes", s.URL + "?ttl=90s&alias=one"},
		{"--data-binary", "@notes", "-H", "X-TTL: 90s", "-H", "X-Alias: two", s.URL},
		{"-F", "content=<notes", "-F", "ttl=90s", "-F", "alias=three", s.URL},
		{"-d", "content=hello%0A&ttl=90s&alias=four", s.URL},
		{"--data-urlencode", "content@notes", "-d", "ttl=90s", "-d", "alias=five", s.URL},
		{"-H", "Content-Type: application/json", "-d", `{"content":"hello\n","ttl":"90s","alias":"six"}`, s.URL},
	} {
		at := strings.TrimSuffix(s.run(args...), "\n")
		if got := s.run(at); got != "hello\n" || strings.Count(at, "/") != 3 {
			t.Errorf("curl %v: %s holds %q", args, at, got)
		}
	}
	s.clock.Advance(90 * time.Second)
	for _, alias := range []string{"one", "two", "three", "four", "five", "six"} {
		if got := s.run("-o", "/dev/null", "-w", "%{http_code}", s.URL+"/"+alias); got != "404" {
			t.Errorf("%s is still there after its time: %s", alias, got)
		}
	}
}

func TestCurlDeletes(t *testing.T) {
	s := newShell(t)
	s.file("notes", "hello\n")
	answer := s.run("-i", "--data-binary", "@notes", s.URL)
	head, at, _ := strings.Cut(answer, "\r\n\r\n")
	at = strings.TrimSpace(at)
	_, token, _ := strings.Cut(head, "X-Delete-Token: ")
	token, _, _ = strings.Cut(token, "\r\n")
	if got := s.run("-X", "DELETE", "-w", "%{http_code}", "-H", "X-Delete-Token: "+token, at); got != "204" {
		t.Fatalf("deleting answers %q", got)
	}
	if got := s.run("-w", "%{http_code}", at); !strings.HasSuffix(got, "\n404") {
		t.Errorf("after its deletion the paste answers %q", got)
	}
}

func TestCurlIsToldThatAFileIsTooLarge(t *testing.T) {
	s := newShell(t)
	s.file("large", strings.Repeat("x", 3<<20))
	for _, args := range [][]string{{"--data-binary", "@large"}, {"-F", "content=@large"}} {
		got := s.run(append(args, "-w", "%{http_code}", s.URL)...)
		if want := "error: the paste is too large: 1 MiB are allowed\n413"; got != want {
			t.Errorf("curl %v prints %q, want %q", args, got, want)
		}
	}
}
