package adoption

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/adopt/sqladopt"
)

// samples is how many contents are compared with the bucket.
const samples = 20

// clockSkew is how far this machine's clock may differ from the database's,
// which decides, without a finding. A database that is ahead by more than
// clockJump is a problem: rows would go before their time.
const clockSkew = time.Minute

// Check tests what each collection relies on: its statements, its guard, its
// bucket and the keys in it, the cache, the clocks; and it reports what a run
// would do with folders and keys. It writes only an object below each prefix, by which
// it probes the service, and removes that.
func (a *Adoption) Check(ctx context.Context) (map[string][]adopt.Finding, error) {
	out, err := a.check(ctx, all)
	if err != nil {
		return nil, err
	}
	for _, name := range a.Description.Names() {
		report := a.reportFolders
		switch {
		case adopt.Problems(out[name]) || a.collections[name] != nil:
			continue
		case a.keys[name] != nil:
			report = a.reportKeys
		}
		found, err := report(ctx, name)
		found, err = a.isolated(ctx, name, found, err)
		if err != nil {
			return nil, err
		}
		out[name] = append(out[name], found...)
	}
	return out, nil
}

func all(string) bool { return true }

// check is Check of some collections, without a listing of all folders and objects.
func (a *Adoption) check(ctx context.Context, wanted func(name string) bool) (map[string][]adopt.Finding, error) {
	database, err := a.checkDatabase(ctx)
	if err != nil {
		return nil, err
	}
	holds, err := a.DB.Holds(ctx)
	if err != nil {
		return nil, err
	}
	out := map[string][]adopt.Finding{}
	for name, err := range a.Unusable {
		out[name] = []adopt.Finding{misfit(err)}
	}
	for _, h := range holds {
		out[h.Collection] = append(out[h.Collection], adopt.Finding{What: h.Why()})
	}
	for name, rows := range a.collections {
		if !wanted(name) {
			continue
		}
		found, err := a.checkRecords(ctx, name, rows, database)
		if found, err = a.isolated(ctx, name, found, err); err != nil {
			return nil, err
		}
		out[name] = append(out[name], found...)
	}
	for name, keys := range a.keys {
		if !wanted(name) {
			continue
		}
		found, err := a.checkNames(ctx, name, keys.Rights, sampled(a.Description.Collections[name], keys.Sample))
		if found, err = a.isolated(ctx, name, found, err); err != nil {
			return nil, err
		}
		out[name] = slices.Concat(out[name], found, database, checkHook(a.Description.Collections[name]))
	}
	for name, folders := range a.folders {
		if !wanted(name) {
			continue
		}
		found, err := a.checkNames(ctx, name, folders.Rights, a.sampledFolders(name))
		if found, err = a.isolated(ctx, name, found, err); err != nil {
			return nil, err
		}
		out[name] = slices.Concat(out[name], found, database)
	}
	return out, nil
}

// checkRecords checks a collection of records; findings of the database come
// after those of its tables.
func (a *Adoption) checkRecords(ctx context.Context, name string, rows *sqladopt.Collection, database []adopt.Finding) ([]adopt.Finding, error) {
	c := a.Description.Collections[name]
	found, err := rows.Check(ctx)
	if err != nil {
		return found, err
	}
	removals, err := a.checkRemovals(ctx, name)
	if found = slices.Concat(found, removals, database); err != nil {
		return found, err
	}
	others, err := a.checkOthers(ctx, name)
	if found = append(found, others...); err != nil {
		return found, err
	}
	if c.HasObjects() {
		more, err := a.checkBucket(ctx, name, sampled(c, rows.Sample))
		if found = append(found, more...); err != nil {
			return found, err
		}
	}
	if len(c.Cache) > 0 {
		more, err := a.checkCache(ctx, c.Cache)
		if found = append(found, more...); err != nil {
			return found, err
		}
	}
	return found, nil
}

// checkRemovals finds collections whose rows another one takes away, or takes along: those are
// neither counted down in the contents, nor kept by the holds, of the one that they are of.
func (a *Adoption) checkRemovals(ctx context.Context, name string) (out []adopt.Finding, err error) {
	c, rows := a.Description.Collections[name], a.collections[name]
	for _, other := range a.Description.Names() {
		o, theirs := a.Description.Collections[other], a.collections[other]
		switch {
		case other == name || theirs == nil:
		case rows.Place() == theirs.Place() && (o.Mode == adopt.Reclaim || c.Mode != adopt.Reclaim):
			out = append(out, adopt.Finding{Problem: true,
				What: fmt.Sprintf("collection %s takes rows of %s as well, which are not counted down here, stay in this cache, and are not kept by holds of this collection", other, c.Rows.Table),
				Do:   "let one collection take them, and describe the other objects of its rows as a collection of keys"})
		case o.Contents != nil && o.Contents.Count != "":
			below, err := rows.TakesBelow(ctx, theirs)
			if err != nil {
				return nil, err
			}
			if below {
				out = append(out, adopt.Finding{Problem: true,
					What: fmt.Sprintf("rows of collection %s go with these by a foreign key with ON DELETE CASCADE, and are not counted down in %s: their objects would stay", other, o.Contents.Table),
					Do:   "leave out contents.count of " + other + ", so that references are looked up, or make the foreign key RESTRICT"})
			}
		}
	}
	return out, nil
}

// checkCache drops copies that no row has, two of each template in one call: rights may be to
// some keys only, and a node of a cluster takes alone keys that lie together.
func (a *Adoption) checkCache(ctx context.Context, templates []string) ([]adopt.Finding, error) {
	var keys []string
	for _, text := range templates {
		t, err := adopt.ParseTemplate(text)
		if err != nil {
			return nil, err
		}
		for _, value := range []string{"lethe:check", "lethe:check again"} {
			keys = append(keys, t.Fill(slices.Repeat([]string{value}, len(t.Columns()))))
		}
	}
	if err := a.copies().Drop(ctx, keys); err != nil {
		return []adopt.Finding{{Problem: true, What: "the cache does not drop copies: " + err.Error(),
			Do: "correct redis, or start it, or let its user UNLINK these keys; of a cluster, name another node as well (redis://host:6379?addr=other:6379)"}}, ctx.Err()
	}
	return nil, nil
}

// checkNames checks a collection of keys or folders.
func (a *Adoption) checkNames(ctx context.Context, name string, rights func(context.Context) ([]adopt.Finding, error), compare compare) ([]adopt.Finding, error) {
	out, err := rights(ctx)
	if err != nil {
		return nil, err
	}
	others, err := a.checkOthers(ctx, name)
	if out = append(out, others...); err != nil {
		return out, err
	}
	found, err := a.checkBucket(ctx, name, compare)
	return append(out, found...), err
}

// misfit returns the finding for a collection that does not fit the database.
func misfit(err error) adopt.Finding {
	var denied *sqladopt.Denied
	if errors.As(err, &denied) {
		return adopt.Finding{Problem: true, What: sqladopt.Reason(denied.Unwrap()).Error(), Do: adopt.ToGrant(denied.Grants)}
	}
	return adopt.Finding{Problem: true, What: err.Error(), Do: "correct the description, or the table"}
}

func (a *Adoption) checkDatabase(ctx context.Context) ([]adopt.Finding, error) {
	now, err := a.DB.Now(ctx)
	if err != nil {
		return nil, err
	}
	out, err := a.DB.Remarks(ctx)
	if skew := a.o.Clock.Now().Sub(now); skew.Abs() > clockSkew {
		out = append(out, adopt.Finding{Problem: -skew > clockJump, What: fmt.Sprintf("this machine's clock differs from the database's by %s; the database's decides what has expired", skew.Round(time.Second)),
			Do: "set both by NTP"})
	}
	return out, err
}
