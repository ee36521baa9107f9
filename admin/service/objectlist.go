package service

import (
	"context"
	"fmt"
	"unicode/utf8"

	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/ledger"
)

// checkPrefix fails with ErrBadRequest if there is no bucket, or the prefix is of no key.
func checkPrefix(bucket, prefix string) error {
	switch {
	case bucket == "":
		return fmt.Errorf("%w: name a bucket, such as s3://bucket/prefix", api.ErrBadRequest)
	case !utf8.ValidString(prefix):
		return fmt.Errorf("%w: the prefix is not UTF-8, as keys are", api.ErrBadRequest)
	}
	return nil
}

// ListObjects returns a page of the visible objects of a bucket, and what ends each by the
// rules in force.
func (s *Service) ListObjects(ctx context.Context, r api.ObjectListRequest) (api.ObjectList, error) {
	out := api.ObjectList{Objects: []api.ListedObject{}}
	if err := checkPrefix(r.Bucket, r.Prefix); err != nil {
		return out, err
	}
	if r.Limit <= 0 || r.Limit > page {
		r.Limit = page
	}
	q := ledger.ListQuery{Bucket: r.Bucket, Prefix: r.Prefix, Delimiter: "/", After: r.After, Limit: r.Limit}
	if r.Recursive {
		q.Delimiter = ""
	}
	found, err := s.o.Ledger.List(ctx, q)
	if err != nil {
		return out, err
	}
	rules, err := s.o.Ledger.Rules(ctx, r.Bucket)
	if err != nil {
		return out, err
	}
	keys := make([]string, len(found.Objects))
	for i, o := range found.Objects {
		keys[i] = o.Key
	}
	held, err := s.o.Ledger.HeldKeys(ctx, r.Bucket, keys)
	for _, o := range found.Objects {
		end := o.Ends(rules.Rules)
		out.Objects = append(out.Objects, api.ListedObject{
			Key: o.Key, Size: o.Size, ModifiedAt: toTime(o.ModifiedAt), EndsAt: toTime(end.At), EndedBy: string(end.By), Rule: end.Rule, Held: held[o.Key], ReadsLeft: o.ReadsLeft,
		})
	}
	out.Prefixes, out.More, out.Next = found.Prefixes, found.More, found.Next
	return out, err
}
