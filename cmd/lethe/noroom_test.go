package main

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// A put for which no backend has room is refused with S3's error, which names
// each backend and the reason, and no more.
func TestFullDiskErrorNamesPlaceAndCause(t *testing.T) {
	w := newWorld(t, "backends=[{name: tiny, kind: dir, path: tiny, quota: 50B}, {name: tinier, kind: dir, path: tinier, quota: 5B}]").start()
	w.bucket("first")
	w.put("first", "fits", strings.Repeat("x", 40), "")
	for key, size := range map[string]int{"small": 20, "large": 1 << 20} {
		status, code, text := w.refusedPut("first", key, size)
		if status != http.StatusInsufficientStorage || code != "InsufficientStorage" {
			t.Errorf("%s: %d %s %s", key, status, code, text)
		}
		for _, want := range []string{"No backend has room", "tiny has 10 bytes free of 50", "tinier has 5 bytes free of 5"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q in %q", key, want, text)
			}
		}
		for _, never := range []string{w.dir, w.app.Root.Secret.Reveal(), w.app.Root.Access} {
			if strings.Contains(text, never) {
				t.Errorf("%s: %q in %q", key, never, text)
			}
		}
		if _, err := w.get("first", key); err == nil {
			t.Errorf("%s is there all the same", key)
		}
	}
	if got, err := w.get("first", "fits"); err != nil || len(got) != 40 {
		t.Errorf("what was there reads %q, %v", got, err)
	}
	w.ok("check", "--checksums")
}

// refusedPut puts an object and returns the status, code and text of its
// refusal.
func (w *world) refusedPut(bucket, key string, size int) (status int, code, text string) {
	w.t.Helper()
	in := &awss3.PutObjectInput{Bucket: &bucket, Key: &key, Body: bytes.NewReader(bytes.Repeat([]byte(key[:1]), size))}
	_, err := w.s3("", "").PutObject(context.Background(), in)
	var resp *smithyhttp.ResponseError
	var told smithy.APIError
	if !errors.As(err, &resp) || !errors.As(err, &told) {
		w.t.Fatalf("put %s: %v", key, err)
	}
	return resp.HTTPStatusCode(), told.ErrorCode(), told.ErrorMessage()
}
