package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/lethe-storage/lethe"
)

// rss returns the resident memory of a process, in MiB.
func rss(t *testing.T, pid int) int {
	t.Helper()
	return memory(t, pid, "VmRSS")
}

// memory returns one figure of a process's memory, in MiB.
func memory(t *testing.T, pid int, figure string) int {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(figure + `:\s+(\d+) kB`).FindSubmatch(data)
	n, err := strconv.Atoi(string(m[1]))
	if err != nil {
		t.Fatal(err)
	}
	return n >> 10
}

// unfinished opens connections that send part of a request, and keeps them
// open.
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
		// A refused client may not read the rest.
		_, _ = io.Copy(c, io.MultiReader(strings.NewReader(head), strings.NewReader(body)))
	}
}

// started starts a server, and returns its listeners by name and its process.
func started(t *testing.T) (addr map[string]string, pid int) {
	t.Helper()
	w := newWorld(t, "server.admin.listen=127.0.0.1:0", "root.access_key="+rootKey.AccessKeyID, "root.secret="+rootKey.SecretAccessKey)
	cmd, _, errs, _ := w.process(w.args("serve")...)
	text, ok := errs.await(`"msg":"serving"`)
	if !ok {
		t.Fatalf("not started: %s", text)
	}
	addr = map[string]string{}
	for _, m := range regexp.MustCompile(`"(s3|paste|admin|metrics)":"http://([0-9.:]+)`).FindAllStringSubmatch(text, -1) {
		addr[m[1]] = m[2]
	}
	token, err := os.ReadFile(filepath.Join(w.dir, "admin.token"))
	if err != nil {
		t.Fatal(err)
	}
	addr["token"] = strings.TrimSpace(string(token))
	return addr, cmd.Process.Pid
}

var rootKey = aws.Credentials{AccessKeyID: "rootkey", SecretAccessKey: "rootsecret-rootsecret"}

// signedHead returns the header of a request by the root with a body of size
// bytes that is not signed.
func signedHead(t *testing.T, method, url string, size int) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	const payload = "UNSIGNED-PAYLOAD"
	r.Header.Set("X-Amz-Content-Sha256", payload)
	if err := v4.NewSigner().SignHTTP(t.Context(), rootKey, r, payload, "s3", "us-east-1", lethe.SystemClock{}.Now().Time()); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	fmt.Fprintf(&out, "%s %s HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n", method, r.URL.RequestURI(), r.URL.Host, size)
	if err := r.Header.Write(&out); err != nil {
		t.Fatal(err)
	}
	return out.String() + "\r\n"
}

// makeBucket makes a bucket by a signed request.
func makeBucket(t *testing.T, s3 string) {
	t.Helper()
	c, err := net.Dial("tcp", s3)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, signedHead(t, http.MethodPut, "http://"+s3+"/bucket", 0)); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("no bucket: %d, %v", resp.StatusCode, err)
	}
}

// Hundreds of connections with unfinished bodies, and thousands of idle ones,
// need no more memory than the bound of each.
func TestSecurityUnfinishedRequestsTakeBoundedMemory(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		name, listener string
		n, size        int
		head           func(addr map[string]string) string
		body           string // the repeated text
		most           int    // MiB
	}{
		{"forms", "s3", 100, 8 * mib, func(map[string]string) string {
			return fmt.Sprintf("POST /b?restore HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=BB\r\nContent-Length: %d\r\n\r\n", 8*mib) +
				"--BB\r\nContent-Disposition: form-data; name=\"key\"\r\n\r\n"
		}, "k", 100},
		{"objects", "s3", 100, 8 * mib, func(addr map[string]string) string {
			return signedHead(t, http.MethodPut, "http://"+addr["s3"]+"/bucket/k", 8*mib)
		}, "o", 150},
		{"small objects", "s3", 400, mib, func(addr map[string]string) string {
			return signedHead(t, http.MethodPut, "http://"+addr["s3"]+"/bucket/k", mib)
		}, "o", 420},
		{"documents", "s3", 100, 8 * mib, func(addr map[string]string) string {
			return signedHead(t, http.MethodPost, "http://"+addr["s3"]+"/bucket?delete=", 8*mib)
		}, " ", 220},
		{"pastes", "paste", 300, mib, func(map[string]string) string {
			return fmt.Sprintf("POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n{\"content\":\"", mib)
		}, "a", 160},
		{"calls", "admin", 100, 4 * mib, func(addr map[string]string) string {
			return fmt.Sprintf("POST /admin/api/explain HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n{\"key\":\"", addr["token"], 4*mib)
		}, "a", 160},
		{"bodies of metrics", "metrics", 100, 4 * mib, func(map[string]string) string {
			return fmt.Sprintf("POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", 4*mib)
		}, "a", 100},
	} {
		t.Run(c.name, func(t *testing.T) {
			addr, pid := started(t)
			makeBucket(t, addr["s3"])
			head := c.head(addr)
			unfinished(t, addr[c.listener], c.n, head, strings.Repeat(c.body, c.size-1000))
			got := rss(t, pid)
			t.Logf("%d MiB", got)
			if got > c.most {
				t.Errorf("%d unfinished %s of %d MiB: %d MiB, want at most %d", c.n, c.name, c.size/mib, got, c.most)
			}
		})
	}
}

// Documents of millions of nested elements are refused, and their memory stays
// within the bound of documents.
func TestSecurityNestedDocumentsTakeBoundedMemory(t *testing.T) {
	addr, pid := started(t)
	makeBucket(t, addr["s3"])
	body := strings.Repeat("<a>", 8<<20/len("<a>"))
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			c, err := net.Dial("tcp", addr["s3"])
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			_, err = io.WriteString(c, signedHead(t, http.MethodPost, "http://"+addr["s3"]+"/bucket/k?uploadId=x", len(body))+body)
			if err != nil {
				return // refused before it was read
			}
			resp, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil {
				t.Error(err)
				return
			}
			_ = resp.Body.Close()
			if resp.StatusCode != http.StatusBadRequest && resp.StatusCode != http.StatusServiceUnavailable {
				t.Errorf("answered %d", resp.StatusCode)
			}
		})
	}
	all.Wait()
	got := memory(t, pid, "VmHWM")
	t.Logf("%d MiB", got)
	if got > 220 {
		t.Errorf("20 nested documents of 8 MiB at once: %d MiB", got)
	}
}

// Thousands of idle connections need little memory, and do not block clients of
// another address.
func TestSecurityIdleConnectionsDoNotBlockOthers(t *testing.T) {
	addr, pid := started(t)
	for _, name := range []string{"s3", "paste", "admin", "metrics"} {
		unfinished(t, addr[name], 3000, "", "")
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
	got := rss(t, pid)
	t.Logf("%d MiB", got)
	if got > 120 {
		t.Errorf("with 3,000 idle connections to each listener: %d MiB", got)
	}
}
