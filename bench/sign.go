package bench

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	unsigned   = "UNSIGNED-PAYLOAD"
	signedTime = "20060102T150405Z"
	region     = "us-east-1"
)

// signingKey keeps the key of a day, as SDKs do.
type signingKey struct {
	mu  sync.Mutex
	day string
	key []byte
}

// of returns the key of a secret on a day.
func (k *signingKey) of(secret, day string) []byte {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.day != day {
		key := []byte("AWS4" + secret)
		for _, part := range []string{day, region, "s3", "aws4_request"} {
			h := hmac.New(sha256.New, key)
			h.Write([]byte(part))
			key = h.Sum(nil)
		}
		k.day, k.key = day, key
	}
	return k.key
}

// scratch is what a connection signs with, over and over.
type scratch struct {
	day  string
	mac  hash.Hash // of the day's key
	text []byte
}

// sign appends the value of the Authorization header (Signature Version 4). The path has
// nothing to be escaped, and its query is in order.
func (s *scratch) sign(b []byte, t *Target, host string, q request, at time.Time) []byte {
	stamp := at.Format(signedTime)
	if day := stamp[:8]; s.day != day {
		s.day, s.mac = day, hmac.New(sha256.New, t.key.of(t.Secret, day))
	}
	path, query, _ := strings.Cut(q.path, "?")
	headers := append(make([][2]string, 0, 8), [2]string{"host", host}, [2]string{"x-amz-content-sha256", unsigned}, [2]string{"x-amz-date", stamp})
	if n := q.length(); n > 0 {
		headers = append(headers, [2]string{"content-length", strconv.FormatInt(n, 10)})
	}
	for _, h := range q.headers {
		headers = append(headers, [2]string{strings.ToLower(h[0]), h[1]})
	}
	slices.SortFunc(headers, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
	text := append(append(append(append(append(append(s.text[:0], q.method...), '\n'), path...), '\n'), query...), '\n')
	for _, h := range headers {
		text = append(append(append(append(text, h[0]...), ':'), h[1]...), '\n')
	}
	text = append(text, '\n')
	names := len(text)
	for i, h := range headers {
		if i > 0 {
			text = append(text, ';')
		}
		text = append(text, h[0]...)
	}
	scope := s.day + "/" + region + "/s3/aws4_request"
	b = append(append(append(append(append(b, "AWS4-HMAC-SHA256 Credential="...), t.Access...), '/'), scope...), ", SignedHeaders="...)
	b = append(append(b, text[names:]...), ", Signature="...)
	sum := sha256.Sum256(append(append(text, '\n'), unsigned...))
	text = append(append(append(append(append(text[:0], "AWS4-HMAC-SHA256\n"...), stamp...), '\n'), scope...), '\n')
	text = hex.AppendEncode(text, sum[:])
	s.mac.Reset()
	s.mac.Write(text)
	b = hex.AppendEncode(b, s.mac.Sum(sum[:0]))
	s.text = text
	return b
}
