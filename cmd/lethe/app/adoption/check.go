package adoption

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/blob"
)

// samples is how many contents are compared with the bucket.
const samples = 20

// clockSkew is how far this machine's clock may differ from the database's, which
// decides: more is worth a word.
const clockSkew = time.Minute

// Check tries what each collection relies on: its statements, its guard, its bucket
// and the keys in it, the cache, the clocks; and it says what a run would do with
// folders. It writes nothing but an object below each prefix, by which it finds out what
// the service can do, and removes that.
func (a *Adoption) Check(ctx context.Context) (map[string][]adopt.Finding, error) {
	out, err := a.check(ctx)
	if err != nil {
		return nil, err
	}
	for name := range a.folders {
		if adopt.Problems(out[name]) {
			continue
		}
		found, err := a.reportFolders(ctx, name)
		if err != nil {
			return nil, err
		}
		out[name] = append(out[name], found...)
	}
	return out, nil
}

// check is Check without a listing of all folders.
func (a *Adoption) check(ctx context.Context) (map[string][]adopt.Finding, error) {
	clock, err := a.checkClock(ctx)
	if err != nil {
		return nil, err
	}
	out := map[string][]adopt.Finding{}
	for name, rows := range a.collections {
		c := a.Description.Collections[name]
		found, err := rows.Check(ctx)
		if err != nil {
			return nil, err
		}
		found = append(found, clock...)
		if c.HasObjects() {
			more, err := a.checkBucket(ctx, name, c)
			if err != nil {
				return nil, err
			}
			found = append(found, more...)
		}
		if len(c.Cache) > 0 {
			if err := a.copies().Drop(ctx, []string{"lethe:check"}); err != nil {
				found = append(found, adopt.Finding{Problem: true, What: "the cache does not answer: " + err.Error(), Do: "correct redis, or start it"})
			}
		}
		out[name] = found
	}
	for name := range a.keys {
		found, err := a.checkKeys(ctx, name)
		if err != nil {
			return nil, err
		}
		out[name] = append(found, clock...)
	}
	for name := range a.folders {
		found, err := a.checkFolders(ctx, name)
		if err != nil {
			return nil, err
		}
		out[name] = append(found, clock...)
	}
	return out, nil
}

func (a *Adoption) checkClock(ctx context.Context) ([]adopt.Finding, error) {
	now, err := a.DB.Now(ctx)
	if err != nil {
		return nil, err
	}
	skew := a.o.Clock.Now().Sub(now)
	if skew.Abs() <= clockSkew {
		return nil, nil
	}
	return []adopt.Finding{{What: fmt.Sprintf("this machine's clock differs from the database's by %s; the database's decides what has expired", skew.Round(time.Second)),
		Do: "set both by NTP"}}, nil
}

func (a *Adoption) checkBucket(ctx context.Context, name string, c adopt.Collection) ([]adopt.Finding, error) {
	store, err := a.bucket(ctx, c)
	if err != nil {
		return nil, err
	}
	if err := store.Probe(ctx); err != nil {
		return []adopt.Finding{{Problem: true, What: err.Error(), Do: "correct the bucket's address and keys"}}, ctx.Err()
	}
	var out []adopt.Finding
	if why := store.Capabilities().NoDelete; why != "" {
		out = append(out, adopt.Finding{Problem: true, What: "bucket " + c.Bucket + ": " + why, Do: "nothing would be freed"})
	}
	keys, err := a.collections[name].Sample(ctx, samples)
	if err != nil {
		return nil, err
	}
	s, err := compare(ctx, store, c.Prefix, keys)
	return append(out, s.Findings(c.Prefix)...), err
}

func compare(ctx context.Context, store adopt.Stater, prefix string, keys []string) (s adopt.Sampled, err error) {
	for _, key := range keys {
		s.Named++
		rest, ok := strings.CutPrefix(key, prefix)
		if !ok {
			s.Outside = append(s.Outside, key)
			continue
		}
		switch _, err := store.Stat(ctx, rest); {
		case err == nil:
			s.Found++
		case errors.Is(err, blob.ErrNotExist), errors.Is(err, blob.ErrInvalidKey):
			s.Missing = key
		default:
			return s, err
		}
	}
	return s, nil
}
