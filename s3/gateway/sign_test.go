package gateway_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/s3/gateway"
)

// stamp returns now in SigV4's form.
func stamp() string { return lethe.SystemClock{}.Now().Time().Format("20060102T150405Z") }

func scope(date string) string { return date[:8] + "/" + region + "/s3/aws4_request" }

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

func sum(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

// signingKey derives the key of a day.
func signingKey(secret, date string) []byte {
	key := mac([]byte("AWS4"+secret), date[:8])
	for _, part := range []string{region, "s3", "aws4_request"} {
		key = mac(key, part)
	}
	return key
}

// signed signs a request by hand, so that a test can send what no SDK sends:
// with the given hash of the payload and exactly the headers that are set.
func signed(r *http.Request, c gateway.Credentials, payload string) *http.Request {
	date := stamp()
	r.Header.Set("X-Amz-Date", date)
	r.Header.Set("X-Amz-Content-Sha256", payload)
	headers := map[string]string{"host": r.URL.Host}
	for name := range r.Header {
		headers[strings.ToLower(name)] = r.Header.Get(name)
	}
	names := slices.Sorted(maps.Keys(headers))
	var canonical strings.Builder
	fmt.Fprintf(&canonical, "%s\n%s\n%s\n", r.Method, r.URL.EscapedPath(), strings.ReplaceAll(r.URL.Query().Encode(), "+", "%20"))
	for _, n := range names {
		fmt.Fprintf(&canonical, "%s:%s\n", n, headers[n])
	}
	fmt.Fprintf(&canonical, "\n%s\n%s", strings.Join(names, ";"), payload)
	text := "AWS4-HMAC-SHA256\n" + date + "\n" + scope(date) + "\n" + sum([]byte(canonical.String()))
	r.Header.Set("Authorization", fmt.Sprintf("AWS4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=%s, Signature=%x",
		c.Access, scope(date), strings.Join(names, ";"), mac(signingKey(c.Secret, date), text)))
	return r
}

// seed returns the signature before the first chunk of a signed body.
func seed(r *http.Request) string {
	_, signature, _ := strings.Cut(r.Header.Get("Authorization"), "Signature=")
	return signature
}

// chunk frames and signs one chunk of a body; previous is the signature before.
func chunk(r *http.Request, secret, previous string, data []byte) (frame []byte, signature string) {
	date := r.Header.Get("X-Amz-Date")
	text := "AWS4-HMAC-SHA256-PAYLOAD\n" + date + "\n" + scope(date) + "\n" + previous + "\n" + sum(nil) + "\n" + sum(data)
	signature = hex.EncodeToString(mac(signingKey(secret, date), text))
	frame = fmt.Appendf(nil, "%x;chunk-signature=%s\r\n", len(data), signature)
	return append(append(frame, data...), "\r\n"...), signature
}

// signPolicy adds a policy that allows the form's fields, and its signature.
func (s *site) signPolicy(fields map[string]string) map[string]string {
	s.t.Helper()
	return s.signPolicyBy(root, fields)
}

func (s *site) signPolicyBy(by gateway.Credentials, fields map[string]string) map[string]string {
	s.t.Helper()
	date := stamp()
	out := maps.Clone(fields)
	out["x-amz-algorithm"] = "AWS4-HMAC-SHA256"
	out["x-amz-credential"] = by.Access + "/" + scope(date)
	out["x-amz-date"] = date
	conditions := []any{map[string]string{"bucket": s.bucket}}
	for name, value := range out {
		conditions = append(conditions, map[string]string{name: value})
	}
	doc, err := json.Marshal(map[string]any{
		"expiration": lethe.SystemClock{}.Now().Add(time.Hour).Time().Format("2006-01-02T15:04:05.000Z"),
		"conditions": conditions,
	})
	s.must(err)
	out["policy"] = base64.StdEncoding.EncodeToString(doc)
	out["x-amz-signature"] = hex.EncodeToString(mac(signingKey(by.Secret, date), out["policy"]))
	return out
}

func sha256Base64(body string) string {
	h := sha256.Sum256([]byte(body))
	return base64.StdEncoding.EncodeToString(h[:])
}

func itoa(i int) string { return fmt.Sprint(i) }
