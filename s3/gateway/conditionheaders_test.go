package gateway_test

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe/ledger"
)

// A condition on a header applies to all headers of that name, and cannot be
// bypassed by a header that is otherwise ignored.
func TestConditionsSeeEveryHeader(t *testing.T) {
	s := newSite(t)
	hers := s.key("headersbob", false, ledger.AccountBuckets)
	bobs := hers.Access
	s.bucket = s.makes(s.Client, s.bucket+"-lists")
	send := func(method, path string, headers ...string) (int, string) {
		r, all := s.raw(method, path, nil), http.Header{}
		for i := 0; i < len(headers); i += 2 {
			all.Add(headers[i], headers[i+1])
		}
		// A repeated header is signed as one.
		for name, values := range all {
			r.Header.Set(name, strings.Join(values, ","))
		}
		r = signed(r, hers, "UNSIGNED-PAYLOAD")
		maps.Copy(r.Header, all)
		status, _, answer := s.send(r)
		return status, answer
	}
	const grant, everybody = "X-Amz-Grant-Full-Control", `uri="http://acs.amazonaws.com/groups/global/AllUsers"`
	full := "id=" + root.Access
	who := fmt.Sprintf(`{"AWS":%q}`, bobs)
	s.must(s.policy(conditional("Allow", who, `["s3:PutObject","s3:PutObjectAcl"]`, fmt.Sprintf(`{"StringEquals":{"s3:x-amz-grant-full-control":%q}}`, full))))
	if status, answer := send(http.MethodPut, "/k", grant, full); status != 200 {
		t.Errorf("what is allowed: %d %s", status, answer)
	}
	if status, answer := send(http.MethodPut, "/k", grant, full, grant, everybody); status != 400 {
		t.Errorf("another grant behind it: %d %s", status, answer)
	}
	if status := s.anonymously(http.MethodGet, "/k", nil); status != 403 {
		t.Errorf("unsigned: %d", status)
	}
	s.must(s.policy(conditional("Allow", who, `["s3:PutObject","s3:PutObjectTagging"]`, `{"Null":{"s3:RequestObjectTag/seal":"true"}}`)))
	for source, want := range map[string]int{"": 403, s.bucket + "/k": 403} {
		headers := []string{"X-Amz-Tagging", "seal=yes"}
		if source != "" {
			headers = append(headers, "X-Amz-Copy-Source", source)
		}
		if status, answer := send(http.MethodPost, "/k?uploads=", headers...); status != want {
			t.Errorf("an upload with tags and the source %q: %d %s", source, status, answer)
		}
	}
}
