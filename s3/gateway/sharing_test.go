package gateway_test

import (
	"net/http"
	"testing"

	"github.com/lethe-storage/lethe/s3/authz"
	"github.com/lethe-storage/lethe/s3/gateway"
)

// Who may write to some buckets of an owner only, signed or not, does not learn from the time
// of a put what the owner's other buckets have: the bytes are always sent.
func TestSecurityPutsDoNotTellWhatOtherBucketsHave(t *testing.T) {
	s := newSite(t)
	body := "what only the private bucket of " + s.bucket + " has"
	s.put("private", body, nil)
	open := newSite(t)
	open.must(open.policy(`{"Effect":"Allow","Principal":"*","Action":"s3:PutObject","Resource":"arn:aws:s3:::BUCKET/*"}`))
	confined := open.key("confined", false, open.bucket)
	everywhere := open.key("everywhere", false, authz.AllBuckets)
	for _, c := range []struct {
		name  string
		as    *gateway.Credentials
		sends bool
	}{
		{"nobody", nil, true},
		{"a key for the bucket", &confined, true},
		{"a key for all buckets", &everywhere, false},
		{"the root", &root, false},
	} {
		r := open.raw(http.MethodPut, "/guess", []byte(body))
		if c.as != nil {
			r = signed(r, *c.as, "UNSIGNED-PAYLOAD")
		}
		before := w.disk.Len()
		if status, _, answer := open.send(r); status != http.StatusOK {
			t.Fatalf("%s: %d %s", c.name, status, answer)
		}
		if sent := w.disk.Len() > before; sent != c.sends {
			t.Errorf("%s: the bytes are sent: %t", c.name, sent)
		}
	}
}
