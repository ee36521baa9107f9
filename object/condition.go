package object

import (
	"fmt"
	"strings"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// matchesWeakly is ledger.MatchesETag by weak comparison, as If-None-Match requires.
func matchesWeakly(list, etag string) bool {
	for item := range strings.SplitSeq(list, ",") {
		if ledger.MatchesETag(strings.TrimPrefix(strings.TrimSpace(item), "W/"), etag) {
			return true
		}
	}
	return false
}

// check evaluates the condition against an object that exists, in the order of
// RFC 9110 section 13.2.2. Times are compared in whole seconds, as HTTP has them.
func (c ReadCondition) check(o ledger.Object) error {
	modified := seconds(o.ModifiedAt)
	switch {
	case c.IfMatch != "":
		if !ledger.MatchesETag(c.IfMatch, o.ETag) {
			return fmt.Errorf("%w: If-Match", lethe.ErrPreconditionFailed)
		}
	case c.IfUnmodifiedSince != 0 && modified > seconds(c.IfUnmodifiedSince):
		return fmt.Errorf("%w: If-Unmodified-Since", lethe.ErrPreconditionFailed)
	}
	switch {
	case c.IfNoneMatch != "":
		if matchesWeakly(c.IfNoneMatch, o.ETag) {
			return fmt.Errorf("%w: If-None-Match", lethe.ErrNotModified)
		}
	case c.IfModifiedSince != 0 && modified <= seconds(c.IfModifiedSince):
		return fmt.Errorf("%w: If-Modified-Since", lethe.ErrNotModified)
	}
	return nil
}

func seconds(t lethe.Time) int64 { return t.Time().Unix() }
