package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
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

// allocated returns the bytes allocated while f ran, by the whole process.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// Hole 11: a deletion of more keys than S3 takes deletes nothing, and is read
// no further than the largest document.
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
		// The connection may close before the client has sent everything.
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

// The largest document costs a few times its size, whatever its contents: it is
// read only up to the first excess.
func TestADeletionAsLargeAsADocument(t *testing.T) {
	s := newSite(t)
	s.put("k", "x", nil)
	const largest = 8 << 20
	filled := func(before, fill, after string) string {
		return before + strings.Repeat(fill, (largest-len(before)-len(after))/len(fill)) + after
	}
	const entry, end = "<Object><Key>k</Key></Object>", "</Delete>"
	for name, body := range map[string]string{
		"entries":       filled("<Delete>", entry, end),
		"spaced":        filled("<Delete>", " \n"+entry, end),
		"comments":      filled("<Delete>"+entry, "<!---->", end),
		"instructions":  filled("<Delete>"+entry, "<?a?>", end),
		"attributes":    filled("<Delete>"+entry+"<Object", ` a=""`, "><Key>k</Key></Object>"+end),
		"spread":        filled("<Delete>", "<Object"+strings.Repeat(` a=">"`, 1000)+"><Key>k</Key></Object>", end),
		"quiet":         filled("<Delete>"+entry, "<Quiet/>", end),
		"nested":        filled("<Delete>"+entry, "<Object>", end),
		"a key":         filled("<Delete><Object><Key>k", "k", "</Key></Object><Object>"+end),
		"references":    filled("<Delete><Object><Key>k", "&lt;", "</Key></Object><Object>"+end),
		"not a closing": filled("<Delete>"+entry, "<", end),
	} {
		var status int
		var answer string
		asked := allocated(func() { status, answer = s.sendSigned(http.MethodPost, "?delete", body) })
		t.Logf("%s: %.1f times", name, float64(asked)/largest)
		if asked > 12*largest {
			t.Errorf("%s: %d bytes of memory for a body of %d", name, asked, len(body))
		}
		if status != 400 || !strings.Contains(answer, "<Code>MalformedXML</Code>") {
			t.Errorf("%s: %d %s", name, status, answer)
		}
	}
	if keys := s.keys(); !slices.Equal(keys, []string{"k"}) {
		t.Errorf("keys are %q", keys)
	}
}

// Other documents with long markup cost as little.
func TestDocumentsOfOneTag(t *testing.T) {
	s := newSite(t)
	s.put("k", "x", nil)
	up := s.create("up", nil)
	const largest = 8 << 20
	attributes := strings.Repeat(` a=""`, largest/5-100)
	for target, root := range map[string]string{
		"?tagging": "Tagging", "/k?tagging": "Tagging", "?acl": "AccessControlPolicy", "/k?acl": "AccessControlPolicy", "?cors": "CORSConfiguration",
		"?lifecycle": "LifecycleConfiguration", "?publicAccessBlock": "PublicAccessBlockConfiguration", "?ownershipControls": "OwnershipControls",
		"/k?legal-hold": "LegalHold", "?policy&tagging": "Tagging", "/k?policy&tagging": "Tagging", "/up?uploadId=" + up.id: "CompleteMultipartUpload",
	} {
		method := http.MethodPut
		if strings.HasPrefix(target, "/up") {
			method = http.MethodPost
		}
		body := "<" + root + attributes + "></" + root + ">"
		var status int
		var answer string
		asked := allocated(func() { status, answer = s.sendSigned(method, target, body) })
		// Most kinds of documents have lower size limits.
		refused := strings.Contains(answer, "<Code>MalformedXML</Code>") || method == http.MethodPut && strings.Contains(answer, "MaxMessageLengthExceeded")
		if asked > 12*largest || status != 400 || !refused {
			t.Errorf("%s: %.1f times, %d %.200s", target, float64(asked)/largest, status, answer)
		}
	}
}

// Keys that a policy denies count towards the limit of a deletion, too.
func TestDeletionsOfTooManyKeysThatStay(t *testing.T) {
	s := newSite(t)
	c, name := s.account("sweeper")
	s.makes(c, name)
	for _, key := range []string{"kept", "k"} {
		s.must(putAs(s, c, name, key))
	}
	s.must(putPolicyAs(s, c, name, fmt.Sprintf(`{"Statement": [{"Effect": "Deny", "Principal": "*", "Action": "s3:DeleteObject", "Resource": "arn:aws:s3:::%s/kept*"}]}`, name)))
	entries := make([]types.ObjectIdentifier, 1001)
	for i := range entries {
		entries[i].Key = aws.String("k")
		if i > 0 {
			entries[i].Key = aws.String(fmt.Sprint("kept", i))
		}
	}
	_, err := c.DeleteObjects(s.ctx, &awss3.DeleteObjectsInput{Bucket: &name, Delete: &types.Delete{Objects: entries}})
	s.fails(err, 400, "MalformedXML")
	s.must(getAs(s, c, name, "k"))
	out, err := c.DeleteObjects(s.ctx, &awss3.DeleteObjectsInput{Bucket: &name, Delete: &types.Delete{Objects: entries[:1000]}})
	s.must(err)
	if len(out.Deleted) != 1 || len(out.Errors) != 999 {
		t.Errorf("%d are deleted, %d refused", len(out.Deleted), len(out.Errors))
	}
}

func putPolicyAs(s *site, c *awss3.Client, bucket, policy string) error {
	_, err := c.PutBucketPolicy(s.ctx, &awss3.PutBucketPolicyInput{Bucket: &bucket, Policy: &policy})
	return err
}
