package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
)

// rss is what a process holds of memory, in MiB.
func rss(t *testing.T, pid int) int {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`VmRSS:\s+(\d+) kB`).FindSubmatch(data)
	n, err := strconv.Atoi(string(m[1]))
	if err != nil {
		t.Fatal(err)
	}
	return n >> 10
}

// unfinished opens connections that send so much of a request, and holds them.
func unfinished(t *testing.T, addr string, n int, head, body string) {
	t.Helper()
	for range n {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		if err := c.SetDeadline((lethe.SystemClock{}).Now().Add(time.Minute).Time()); err != nil {
			t.Fatal(err)
		}
		// Who is refused may not take the rest.
		_, _ = io.Copy(c, io.MultiReader(strings.NewReader(head), strings.NewReader(body)))
	}
}

// Hundreds of connections that hold unfinished bodies, and thousands that hold nothing,
// take no more memory than docs/operations.md says, and silence nobody else.
func TestSecurityUnfinishedRequestsTakeBoundedMemory(t *testing.T) {
	w := newWorld(t)
	cmd, _, errs, _ := w.process(w.args("serve")...)
	text, ok := errs.await(`"msg":"serving"`)
	if !ok {
		t.Fatalf("not started: %s", text)
	}
	addr := map[string]string{}
	for _, m := range regexp.MustCompile(`"(s3|paste|metrics)":"http://([0-9.:]+)"`).FindAllStringSubmatch(text, -1) {
		addr[m[1]] = m[2]
	}
	const form, mib = "POST /b?restore HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=BB\r\n", 1 << 20
	unfinished(t, addr["s3"], 100, fmt.Sprintf("%sContent-Length: %d\r\n\r\n--BB\r\nContent-Disposition: form-data; name=\"key\"\r\n\r\n", form, 8*mib),
		strings.Repeat("k", 8*mib-1000))
	if got := rss(t, cmd.Process.Pid); got > 250 {
		t.Errorf("100 forms of 8 MiB: %d MiB", got)
	}
	unfinished(t, addr["paste"], 300, fmt.Sprintf("POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n{\"content\":\"", mib),
		strings.Repeat("a", mib-1000))
	if got := rss(t, cmd.Process.Pid); got > 350 {
		t.Errorf("300 pastes of 1 MiB: %d MiB", got)
	}
	for _, name := range []string{"paste", "metrics"} {
		unfinished(t, addr[name], 5000, "", "")
		from := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
		c := http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DialContext: from.DialContext}}
		resp, err := c.Get("http://" + addr[name] + "/")
		if err != nil {
			t.Fatalf("%s is silenced: %v", name, err)
		}
		if err := resp.Body.Close(); err != nil {
			t.Error(err)
		}
	}
	if got := rss(t, cmd.Process.Pid); got > 400 {
		t.Errorf("with 5,000 idle connections to each: %d MiB", got)
	}
}
