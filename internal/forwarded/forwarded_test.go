package forwarded_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe/internal/forwarded"
)

var trusted = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}

func TestClient(t *testing.T) {
	for _, c := range []struct {
		peer  string
		lines []string
		want  string
	}{
		{"192.0.2.1", nil, "192.0.2.1"}, {"192.0.2.1", []string{"9.9.9.9"}, "192.0.2.1"}, {"::ffff:192.0.2.1", []string{"9.9.9.9"}, "192.0.2.1"},
		{"10.1.1.1", nil, "10.1.1.1"}, {"10.1.1.1", []string{""}, "10.1.1.1"}, {"10.1.1.1", []string{"192.0.2.1"}, "192.0.2.1"},
		{"10.1.1.1", []string{"9.9.9.9, 192.0.2.1"}, "192.0.2.1"}, {"10.1.1.1", []string{"192.0.2.1, 10.2.2.2"}, "192.0.2.1"},
		{"::ffff:10.1.1.1", []string{"::ffff:192.0.2.1,fd00::1"}, "192.0.2.1"},
		{"10.1.1.1", []string{"9.9.9.9", "192.0.2.1"}, "192.0.2.1"}, // a separate line, as some proxies add
		{"10.1.1.1", []string{"9.9.9.9", "192.0.2.1, 10.2.2.2", "10.3.3.3"}, "192.0.2.1"},
		{"10.1.1.1", []string{"9.9.9.9, nonsense, 10.2.2.2"}, "10.2.2.2"}, {"10.1.1.1", []string{"10.2.2.2, 10.3.3.3"}, "10.2.2.2"},
		{"10.1.1.1", []string{"192.0.2.1:4711"}, "10.1.1.1"},
	} {
		if got := forwarded.Client(netip.MustParseAddr(c.peer), c.lines, trusted); got != netip.MustParseAddr(c.want) {
			t.Errorf("%s, %q: %s, want %s", c.peer, c.lines, got, c.want)
		}
	}
}

// FuzzClient checks that a peer that is not a proxy is the client, whatever it
// sends; that its header never replaces the address that a proxy saw; and that
// several lines are one list.
func FuzzClient(f *testing.F) {
	for _, seed := range []string{"", ",", "192.0.2.1", "192.0.2.1, 10.0.0.1", "9.9.9.9\n192.0.2.1", "::1%x", "::ffff:10.0.0.1,\n", "10.0.0.1,x", "[::1]:80", "fd00::1, 1.2.3.4"} {
		f.Add(seed, "192.0.2.7")
		f.Add(seed, "9.9.9.9, 10.0.0.2")
	}
	proxy, stranger := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("192.0.2.99")
	f.Fuzz(func(t *testing.T, text, made string) {
		lines := strings.Split(text, "\n")
		if got := forwarded.Client(stranger, lines, trusted); got != stranger {
			t.Fatalf("%q makes a stranger %s", lines, got)
		}
		got := forwarded.Client(proxy, lines, trusted)
		if !got.IsValid() || got.Is4In6() {
			t.Fatalf("%q is from %s", lines, got)
		}
		if joined := forwarded.Client(proxy, []string{strings.Join(lines, ",")}, trusted); joined != got {
			t.Fatalf("%q is from %s, in one line from %s", lines, got, joined)
		}
		if seen := forwarded.Client(proxy, append(lines, stranger.String()), trusted); seen != stranger {
			t.Fatalf("%q before the address that a proxy saw makes it %s", lines, seen)
		}
		if forwarded.Trusts(trusted, got) {
			return // as far as proxies report it
		}
		for _, more := range [][]string{append([]string{made}, lines...), {made + "," + strings.Join(lines, ",")}} {
			if other := forwarded.Client(proxy, more, trusted); other != got {
				t.Fatalf("%q is from %s, with %q before it from %s", lines, got, made, other)
			}
		}
	})
}
