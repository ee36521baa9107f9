package ledger

import "errors"

// Check returns an error if a time or a quota is negative.
func (s BucketSettings) Check() error {
	if min(s.DefaultTTL, s.MaxTTL, s.Undo) < 0 || min(s.QuotaBytes, s.QuotaObjects) < 0 {
		return errors.New("a bucket's times and quotas must not be negative")
	}
	return nil
}
