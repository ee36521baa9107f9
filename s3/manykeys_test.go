package s3_test

import (
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// manyKeys is a deletion of k and of keys that are not there, n in all.
func manyKeys(n int) string {
	var b strings.Builder
	b.WriteString("<Delete><Object><Key>k</Key></Object>")
	for i := 1; i < n; i++ {
		fmt.Fprintf(&b, "<Object><Key>%d</Key></Object>", i)
	}
	b.WriteString("</Delete>")
	return b.String()
}

// allocated is how many bytes were asked of memory while f ran, in all of the
// process: server, client, and whatever else.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// Hole 11: a deletion of more keys than S3 takes deletes nothing, not even its
// first thousand, and is not read beyond the largest document.
func TestDeletionsOfTooManyKeys(t *testing.T) {
	s := newSite(t)
	s.put("k", "x", nil)
	for _, n := range []int{1001, 1002, 20_000} {
		if status, body := s.sendSigned(http.MethodPost, "?delete", manyKeys(n)); status != 400 || !strings.Contains(body, "<Code>MalformedXML</Code>") {
			t.Errorf("%d keys: %d %s", n, status, body)
		}
	}
	million := manyKeys(1_000_000)
	for name, sign := range map[string]func(*http.Request) *http.Request{
		"unsigned":       func(r *http.Request) *http.Request { return r },
		"signed":         func(r *http.Request) *http.Request { return signed(r, root, sum([]byte(million))) },
		"signed without": func(r *http.Request) *http.Request { return signed(r, root, "UNSIGNED-PAYLOAD") },
	} {
		r := s.raw(http.MethodPost, "?delete", nil)
		r.Header.Set("X-Amz-Checksum-Sha256", sha256Base64(million))
		sign(r)
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(million)), int64(len(million))
		var status int
		var err error
		asked := allocated(func() {
			var resp *http.Response
			if resp, err = http.DefaultClient.Do(r); err == nil {
				status, err = resp.StatusCode, resp.Body.Close()
			}
		})
		// The connection may be closed before the client has sent it all.
		if err == nil && (status < 400 || status >= 500) || asked > uint64(len(million))/4 {
			t.Errorf("%s: %d, %v; %d bytes of memory for a body of %d", name, status, err, asked, len(million))
		}
	}
	if keys := s.keys(); !slices.Equal(keys, []string{"k"}) {
		t.Errorf("keys are %q", keys)
	}
	if status, body := s.sendSigned(http.MethodPost, "?delete", manyKeys(1000)); status != 200 {
		t.Errorf("1,000 keys: %d %s", status, body)
	}
	s.missing("k")
}

// What the largest document can hold of keys costs a bounded multiple of it.
func TestADeletionAsLargeAsADocument(t *testing.T) {
	s := newSite(t)
	s.put("k", "x", nil)
	const largest = 8 << 20
	body := "<Delete>" + strings.Repeat("<Object><Key>k</Key></Object>", (largest-20)/29) + "</Delete>"
	var status int
	var answer string
	asked := allocated(func() { status, answer = s.sendSigned(http.MethodPost, "?delete", body) })
	if asked > 128*largest { // 60 times, measured, most of it garbage at once
		t.Errorf("%d bytes of memory for a body of %d", asked, len(body))
	}
	if status != 400 || !strings.Contains(answer, "<Code>MalformedXML</Code>") {
		t.Errorf("%d %s", status, answer)
	}
	if keys := s.keys(); !slices.Equal(keys, []string{"k"}) {
		t.Errorf("keys are %q", keys)
	}
}
