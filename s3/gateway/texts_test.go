package gateway_test

import (
	"net/http"
	"strings"
	"testing"
)

// Some texts are compared by clients: they are S3's.
func TestTextsThatClientsCompare(t *testing.T) {
	s := newSite(t)
	fields := s.signPolicy(map[string]string{"key": "k", "x-amz-meta-a": "b"})
	fields["x-amz-meta-a"] = "other"
	status, body := s.post(form{fields: fields, body: "x"})
	if status != 403 || !strings.Contains(body, `Policy Condition failed: ["eq", "$x-amz-meta-a", "b"]</Message>`) {
		t.Errorf("%d %s", status, body)
	}
	s.bucket += "-missing"
	for _, method := range []string{http.MethodGet, http.MethodDelete} {
		if status, body := s.sendSigned(method, "", ""); status != 404 || !strings.Contains(body, "<Message>The specified bucket does not exist</Message>") {
			t.Errorf("%s: %d %s", method, status, body)
		}
	}
}
