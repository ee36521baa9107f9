package object_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/object"
)

// unread is a body that must not be read.
type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.t.Error("the body was read")
	return 0, io.ErrUnexpectedEOF
}

// A part that alone will not fit into its bucket is refused before it is read.
func TestAFullBucketReadsNoPart(t *testing.T) {
	w := newWorld(t, nil)
	w.put("old", string(make([]byte, 3*small)))
	_, err := w.db.ConfigureBucket(w.ctx, bucket, ledger.BucketSettings{QuotaBytes: 4 * small, QuotaObjects: 1}, nil)
	w.must(err)
	for key, size := range map[string]int64{"new": 2 * small, "old": 5 * small} {
		up, err := w.CreateUpload(w.ctx, object.UploadRequest{Bucket: bucket, Key: key, Owner: "bob"})
		w.must(err)
		_, err = w.PutPart(w.ctx, object.PartRequest{Bucket: bucket, Key: key, Upload: up.ID, Number: 1, Body: unread{t}, Size: size})
		if !errors.Is(err, lethe.ErrQuotaExceeded) {
			t.Errorf("%s: %v", key, err)
		}
	}
	up, err := w.CreateUpload(w.ctx, object.UploadRequest{Bucket: bucket, Key: "old", Owner: "bob"})
	w.must(err)
	_, err = w.PutPart(w.ctx, object.PartRequest{
		Bucket: bucket, Key: "old", Upload: up.ID, Number: 1, Body: strings.NewReader(string(make([]byte, 2*small))), Size: 2 * small,
	})
	w.must(err)
}

// A body that will not fit into its bucket is refused before it is read; one
// that takes the place of as much is not.
func TestAFullBucketReadsNoBody(t *testing.T) {
	w := newWorld(t, nil)
	old := string(make([]byte, 3*small))
	w.put("old", old)
	for _, s := range []ledger.BucketSettings{{QuotaBytes: 4 * small}, {QuotaObjects: 1}} {
		_, err := w.db.ConfigureBucket(w.ctx, bucket, s, nil)
		w.must(err)
		_, err = w.Put(w.ctx, object.PutRequest{Bucket: bucket, Key: "new", Body: unread{t}, Size: 2 * small})
		if !errors.Is(err, lethe.ErrQuotaExceeded) {
			t.Errorf("%+v: %v", s, err)
		}
		w.put("old", old[1:])
	}
	if _, err := w.db.ConfigureBucket(w.ctx, bucket, ledger.BucketSettings{QuotaBytes: 4 * small}, nil); err != nil {
		t.Fatal(err)
	}
	_, err := w.Put(w.ctx, object.PutRequest{Bucket: bucket, Key: "old", Body: unread{t}, Size: 5 * small})
	if !errors.Is(err, lethe.ErrQuotaExceeded) {
		t.Errorf("it replaces too little: %v", err)
	}
}
