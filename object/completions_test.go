package object_test

import (
	"context"
	"testing"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/object"
)

// crossed lets something come between the steps of a completion.
type crossed struct {
	object.UploadLedger
	before func(step string)
}

func (c *crossed) Upload(ctx context.Context, bucket, key string, id lethe.ID) (ledger.Upload, error) {
	c.before("upload")
	return c.UploadLedger.Upload(ctx, bucket, key, id)
}

func (c *crossed) Parts(ctx context.Context, upload lethe.ID, after, limit int) ([]ledger.Part, error) {
	c.before("parts")
	return c.UploadLedger.Parts(ctx, upload, after, limit)
}

func (c *crossed) Complete(ctx context.Context, r ledger.Completion) (ledger.Committed, error) {
	c.before("complete")
	return c.UploadLedger.Complete(ctx, r)
}

// A completion that is sent twice at once is answered alike, wherever the second
// comes between.
func TestCompletionsAtOnce(t *testing.T) {
	for _, moment := range []string{"upload", "parts", "complete"} {
		between := &crossed{before: func(string) {}}
		w := newWorld(t, func(o *object.Options) { between.UploadLedger, o.Ledger.Uploads = o.Ledger.Uploads, between })
		up := w.create("k")
		r := complete(up, w.part(up, 1, noise(10, 1)), w.part(up, 2, noise(3*small, 2)))
		var other ledger.Object
		came := false
		between.before = func(step string) {
			if step == moment && !came {
				came = true
				res, err := w.Complete(w.ctx, r)
				w.must(err)
				other = res.Object
			}
		}
		res, err := w.Complete(w.ctx, r)
		if err != nil || !came || res.Object.ID != other.ID || res.Object.ETag != other.ETag {
			t.Errorf("another before %s (came: %t): %s, %v, the other is %s", moment, came, res.Object.ID, err, other.ID)
		}
	}
}
