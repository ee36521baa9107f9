package sqlledger

import (
	"context"
	"fmt"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/lifecycle"
)

// RuledUploads lists up to a limit of open uploads that their bucket's rules abort now and
// that no hold keeps. It reads the open uploads under the rules' prefixes, and no objects.
func (db *DB) RuledUploads(ctx context.Context, q ledger.OverdueQuery) (list []ledger.OverdueUpload, err error) {
	err = db.read(ctx, "uploads that rules give up", func(t *tx) error {
		list = nil
		buckets, err := all(t, t.scanRules, listRules)
		if err != nil {
			return err
		}
		for _, b := range buckets {
			for _, prefix := range b.Rules.AbortPrefixes() {
				if err := t.ruledUploads(b, prefix, q, &list); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return list, err
}

// ruledUploads adds the uploads under a prefix, up to the limit.
func (t *tx) ruledUploads(b ledger.BucketRules, prefix string, q ledger.OverdueQuery, list *[]ledger.OverdueUpload) error {
	bucket, err := t.bucket(b.Bucket)
	if err != nil {
		return err
	}
	after, upload := "", lethe.ID("")
	for int64(len(*list)) < bounded(q.Limit) {
		page, err := all(t, scanUpload, pageUploads, bucket.ID, prefix, after, upload, following(prefix), maxPage)
		if err != nil {
			return err
		}
		found, err := t.ruledOf(b.Rules, page)
		if err != nil {
			return err
		}
		for _, u := range found {
			if (q.Held || !u.Held) && int64(len(*list)) < bounded(q.Limit) {
				*list = append(*list, u)
			}
		}
		if len(page) < maxPage {
			return nil
		}
		after, upload = page[maxPage-1].Key, page[maxPage-1].ID
	}
	return nil
}

// ruledOf returns those of the uploads that rules abort now.
func (t *tx) ruledOf(rs lifecycle.Rules, page []ledger.Upload) ([]ledger.OverdueUpload, error) {
	var over []ledger.Upload
	for _, u := range page {
		if r, _ := givenUp(rs, u, t.Now); r != nil {
			over = append(over, u)
		}
	}
	list, err := t.weighUploads(over)
	for i := range list {
		r, at := givenUp(rs, list[i].Upload, t.Now)
		list[i].Rule, list[i].At = r.ID, at
	}
	return list, err
}

// givenUp returns the rule that aborts an upload at the instant now.
func givenUp(rs lifecycle.Rules, u ledger.Upload, now lethe.Time) (*lifecycle.Rule, lethe.Time) {
	r, at := rs.Aborts(u.Key, u.CreatedAt)
	if r == nil || at > now {
		return nil, 0
	}
	return r, at
}

// AbortRuled aborts an upload if a rule in force aborts it now, and returns the rule's ID:
// ErrNoSuchUpload otherwise, ErrHeld while a hold keeps it.
func (db *DB) AbortRuled(ctx context.Context, upload lethe.ID) (rule string, err error) {
	err = db.batch(ctx, "abort upload "+string(upload)+" by a rule", func(t *tx) error {
		u, b, err := t.lockOpen(upload)
		if err != nil {
			return err
		}
		r, _ := givenUp(b.rules, u, t.Now)
		if r == nil {
			return fmt.Errorf("no rule aborts it now: %w", lethe.ErrNoSuchUpload)
		}
		rule = r.ID
		return t.abortOpen(u)
	})
	return rule, err
}
