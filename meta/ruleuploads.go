package meta

import (
	"context"
	"fmt"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/lifecycle"
)

// RuledUpload is an open upload that a rule gives up, and since when.
type RuledUpload struct {
	Upload Upload
	Rule   string // lifecycle.Rule.ID
	At     lethe.Time
}

// RuledUploads lists up to limit open uploads that a bucket's rules give up now.
// It reads the uploads that are open under the rules' prefixes, and no objects.
func (db *DB) RuledUploads(ctx context.Context, limit int) (list []RuledUpload, err error) {
	err = db.read(ctx, "uploads that rules give up", func(t *tx) error {
		list = nil
		buckets, err := all(t, t.scanRules, listRules)
		if err != nil {
			return err
		}
		for _, b := range buckets {
			for _, prefix := range b.Rules.AbortPrefixes() {
				if err := t.ruledUploads(b, prefix, bounded(limit), &list); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return list, err
}

// ruledUploads adds those under a prefix, until limit are listed.
func (t *tx) ruledUploads(b BucketRules, prefix string, limit int64, list *[]RuledUpload) error {
	bucket, err := t.bucket(b.Bucket)
	if err != nil {
		return err
	}
	after, upload := "", lethe.ID("")
	for int64(len(*list)) < limit {
		page, err := all(t, scanUpload, pageUploads, bucket.ID, prefix, after, upload, following(prefix), maxPage)
		if err != nil {
			return err
		}
		for _, u := range page {
			if r, at := givenUp(b.Rules, u, t.now); r != nil && int64(len(*list)) < limit {
				*list = append(*list, RuledUpload{u, r.ID, at})
			}
			after, upload = u.Key, u.ID
		}
		if len(page) < maxPage {
			return nil
		}
	}
	return nil
}

// givenUp answers the rule that gives an upload up at the instant now.
func givenUp(rs lifecycle.Rules, u Upload, now lethe.Time) (*lifecycle.Rule, lethe.Time) {
	r, at := rs.Aborts(u.Key, u.CreatedAt)
	if r == nil || at > now {
		return nil, 0
	}
	return r, at
}

// AbortRuled aborts an upload if a rule that is in force gives it up now, and
// answers that rule's ID: ErrNoSuchUpload otherwise.
func (db *DB) AbortRuled(ctx context.Context, upload lethe.ID) (rule string, err error) {
	err = db.batch(ctx, "abort upload "+string(upload)+" by a rule", func(t *tx) error {
		if err := t.holdUpload(upload); err != nil {
			return err
		}
		u, err := t.uploadByID(upload)
		if err != nil {
			return err
		}
		byID, err := t.rulesByID([]lethe.ID{u.BucketID})
		if err != nil {
			return err
		}
		r, _ := givenUp(byID[u.BucketID].rules, u, t.now)
		if r == nil {
			return fmt.Errorf("no rule gives it up now: %w", lethe.ErrNoSuchUpload)
		}
		rule = r.ID
		return t.endUpload(upload, nil)
	})
	return rule, err
}
