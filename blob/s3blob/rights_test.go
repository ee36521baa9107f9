package s3blob

import (
	"context"
	"strings"
	"testing"
)

// A request that is denied names the action to allow, and on what.
func TestDeniedNamesTheAction(t *testing.T) {
	s, n := faulty(t, func(o *Options) { o.Prefix = "content/" })
	if err := put(s, "a", 10); err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	objects := " on arn:aws:s3:::" + s.o.Bucket + "/content/* "
	for op, c := range map[string]struct {
		want string
		do   func() error
	}{
		"head":           {"s3:GetObject" + objects, func() error { _, err := s.Stat(ctx, "a"); return err }},
		"get":            {"s3:GetObject" + objects, func() error { _, err := s.Get(ctx, "a", 0, 10); return err }},
		"put":            {"s3:PutObject" + objects, func() error { return put(s, "b", 10) }},
		"delete-objects": {"s3:DeleteObject" + objects, func() error { return deleted(s, "a") }},
		"delete":         {"s3:DeleteObject" + objects, func() error { s.singly(); return deleted(s, "a") }},
		"list":           {"s3:ListBucket on arn:aws:s3:::" + s.o.Bucket + " ", func() error { return s.Probe(ctx) }},
	} {
		n.set(on(op, s3Error(403, "AccessDenied")))
		if err := c.do(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s denied: %v, want %q", op, err, c.want)
		}
		n.set(nil)
		if err := s.Probe(ctx); err != nil { // which finds requests for many keys again
			t.Fatal(err)
		}
	}
}

func deleted(s *Store, key string) error {
	results, err := s.Delete(context.Background(), []string{key})
	if err != nil {
		return err
	}
	return results[0].Err
}
