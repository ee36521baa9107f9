package clients

import (
	"strings"
	"testing"
)

// TestPastes sends pastes with curl, and sees their bytes leave the disk: one is
// deleted by its token, one ends by its time, and one stays.
func TestPastes(t *testing.T) {
	begin(t)
	s := serve(t)
	curl := func(args ...string) string {
		t.Helper()
		args = append([]string{program(t, "curl"), "-q", "-sS", "--noproxy", "*", "--max-time", "60"}, args...)
		out, err := command{folder: s.home, env: environment(s.home), args: args}.run()
		s.must(err)
		return out
	}
	data := map[string][]byte{"deleted": noise(5000, 1), "brief": noise(6000, 2), "lasting": noise(7000, 3)}
	links := map[string]string{}
	for name, d := range data {
		s.file(name, d)
		ttl := map[string]string{"brief": "2s"}[name]
		links[name] = strings.TrimSpace(curl("--data-binary", "@"+name, "-D", name+".head", s.paste+"?ttl="+ttl))
	}
	again := strings.TrimSpace(curl("-F", "content=@lasting", s.paste))
	curl("-o", "got", again)
	s.equal(s.path("got"), data["lasting"])
	if code := curl("-X", "DELETE", "-H", "X-Delete-Token: wrong", "-o", "refusal", "-w", "%{http_code}", links["deleted"]); code != "403" {
		t.Errorf("deleting with another token answers %s", code)
	}
	if code := curl("-X", "DELETE", "-H", "X-Delete-Token: "+s.sent("deleted.head", "X-Delete-Token"), "-w", "%{http_code}", links["deleted"]); code != "204" {
		t.Errorf("deleting with the token answers %s", code)
	}
	s.file("secret", []byte("burns"))
	once := strings.TrimSpace(curl("--data-binary", "@secret", s.paste+"?reads=1"))
	for range 2 {
		if code := curl("-o", "refusal", "-w", "%{http_code}", once); code != "405" {
			t.Errorf("a link alone is answered with %s", code)
		}
	}
	curl("-X", "POST", "-o", "got", once)
	s.equal(s.path("got"), []byte("burns"))
	if code := curl("-X", "POST", "-o", "refusal", "-w", "%{http_code}", once); code != "404" {
		t.Errorf("a second read is answered with %s", code)
	}
	s.eventually("the paste is still there", func() bool { return curl("-o", "refusal", "-w", "%{http_code}", links["brief"]) == "404" })
	s.reclaim()
	for name, d := range data {
		if on := s.onDisk(d); on != (name == "lasting") {
			t.Errorf("after reclaiming, the paste that was %s is on the disk: %v", name, on)
		}
	}
	if n := len(s.files()); n != 1 {
		t.Errorf("%d files for one paste that was made twice", n)
	}
	s.sound()
}
