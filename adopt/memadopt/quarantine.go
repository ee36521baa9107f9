package memadopt

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/lethe-storage/lethe/adopt"
)

// Quarantined is a recorded object.
type Quarantined struct {
	adopt.QuarantinedObject
	Tag   string
	Fence int64
}

// Quarantine is the record of moved objects.
type Quarantine struct{ db *DB }

var _ adopt.QuarantineRows = Quarantine{}

// Quarantine returns the record of moved objects.
func (db *DB) Quarantine() Quarantine { return Quarantine{db} }

// named reports whether a content has the object, and whether that is counted
// or referred to.
func (db *DB) named(object string) (referred, known bool) {
	for _, c := range db.contents {
		if c.Object == object {
			return c.Count != 0 || db.referenced(c.Key), true
		}
	}
	return false, false
}

// Begin implements adopt.QuarantineMoves.
func (r Quarantine) Begin(_ context.Context, found []adopt.FoundObject, late time.Duration) (out adopt.Begun, err error) {
	db := r.db
	db.mu.Lock()
	defer db.mu.Unlock()
	now := db.o.Clock.Now()
	db.fence++
	out.Fence = db.fence
	for _, f := range found {
		q := db.moved[f.Key]
		switch {
		case q != nil && q.Due > now:
		case f.Absent:
			out.Gone = append(out.Gone, f.Key)
		case q != nil && q.State == adopt.Quarantined && q.Tag == f.Tag:
			q.Fence, q.Due = out.Fence, now.Add(late)
			out.Remove = append(out.Remove, f.Key)
		case q != nil && q.Late > now: // a delete may yet take the present object
		default:
			db.moved[f.Key] = &Quarantined{
				QuarantinedObject: adopt.QuarantinedObject{Key: f.Key, Copy: f.Copy, Size: f.Size, State: adopt.Moving, Since: now, Due: now.Add(late)},
				Tag:               f.Tag,
				Fence:             out.Fence,
			}
			out.Copy = append(out.Copy, f.Key)
		}
	}
	return out, nil
}

// Moved implements adopt.QuarantineMoves.
func (r Quarantine) Moved(_ context.Context, fence int64, keys []string, g adopt.Terms) (may []string, err error) {
	db := r.db
	db.mu.Lock()
	defer db.mu.Unlock()
	now := db.o.Clock.Now()
	for _, key := range keys {
		q := db.moved[key]
		if q == nil || q.Fence != fence || q.State != adopt.Moving && q.State != adopt.Quarantined {
			continue
		}
		if referred, _ := db.named(key); referred || db.holds.standing().Object(key) != nil {
			continue
		}
		q.State, q.Due, q.Since, q.Until, q.Late, q.Wanted = adopt.Quarantined, 0, now, now.Add(g.Retention), now.Add(g.Late), false
		may = append(may, key)
	}
	return may, nil
}

// Page implements adopt.QuarantineRecords.
func (r Quarantine) Page(_ context.Context, after string, limit int) (out adopt.QuarantinePage, err error) {
	db := r.db
	db.mu.Lock()
	defer db.mu.Unlock()
	out.Now = db.o.Clock.Now()
	for _, key := range slices.Sorted(maps.Keys(db.moved)) {
		if key > after && len(out.Objects) < limit {
			out.Objects = append(out.Objects, db.look(key))
		}
	}
	return out, nil
}

// look returns the record of an object, and whether something refers to it.
func (db *DB) look(key string) adopt.QuarantinedObject {
	h := db.moved[key].QuarantinedObject
	h.Named, h.Known = db.named(key)
	h.OnHold = db.holds.standing().Object(key) != nil
	return h
}

// Claim implements adopt.QuarantineRecords.
func (r Quarantine) Claim(_ context.Context, c adopt.ClaimRequest) (fence int64, keys []string, err error) {
	db := r.db
	db.mu.Lock()
	defer db.mu.Unlock()
	now := db.o.Clock.Now()
	db.fence++
	for _, key := range c.Keys {
		if db.moved[key] == nil || !c.May(db.look(key), now) {
			continue
		}
		q := db.moved[key]
		q.State, q.Fence, q.Due = c.For, db.fence, now.Add(c.Late)
		keys = append(keys, key)
	}
	return db.fence, keys, nil
}

// End implements adopt.QuarantineRecords.
func (r Quarantine) End(_ context.Context, fence int64, keys []string, how adopt.QuarantineOutcome) (ours []string, err error) {
	db := r.db
	db.mu.Lock()
	defer db.mu.Unlock()
	for _, key := range keys {
		q := db.moved[key]
		if q == nil || q.Fence != fence {
			continue
		}
		ours = append(ours, key)
		switch {
		case how == adopt.Lost:
			db.troubles.missing[key] = true
			delete(db.moved, key)
		case how == adopt.Purged:
			delete(db.moved, key)
		case q.State == adopt.Purging:
			q.Due = 0
		default:
			q.State, q.Due = adopt.Quarantined, 0
		}
	}
	return ours, nil
}

// Want implements adopt.QuarantineRecords.
func (r Quarantine) Want(_ context.Context, key string) (bool, error) {
	db := r.db
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.moved[key] == nil {
		return false, nil
	}
	db.moved[key].Wanted = true
	maps.DeleteFunc(db.marks, func(_ string, m *Mark) bool { return m.Object == key }) // else it would be moved again
	return true, nil
}

// Found implements adopt.QuarantineRecords.
func (r Quarantine) Found(_ context.Context, copies []adopt.FoundObject, g adopt.Terms, anyway bool) (n int, err error) {
	db := r.db
	db.mu.Lock()
	defer db.mu.Unlock()
	now := db.o.Clock.Now()
	for _, c := range copies {
		if referred, _ := db.named(c.Key); db.moved[c.Key] == nil && (referred || anyway) {
			db.moved[c.Key] = &Quarantined{QuarantinedObject: adopt.QuarantinedObject{
				Key: c.Key, Copy: c.Copy, Size: c.Size, State: adopt.Quarantined, Since: now, Until: now.Add(g.Retention), Late: now.Add(g.Late),
			}}
			n++
		}
	}
	return n, nil
}

// InQuarantine implements adopt.QuarantineRecords.
func (r Quarantine) InQuarantine(context.Context) (out adopt.Backlog, err error) {
	db := r.db
	db.mu.Lock()
	defer db.mu.Unlock()
	for _, q := range db.moved {
		if out.Due++; out.Oldest == 0 || q.Since < out.Oldest {
			out.Oldest = q.Since
		}
	}
	return out, nil
}

func byKeyAndFence(a, b adopt.Upload) int {
	return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Fence, b.Fence))
}

// has reports whether a fence has an object.
func (db *DB) has(key string, fence int64) bool {
	q := db.moved[key]
	return q != nil && q.Fence == fence && q.Due > db.o.Clock.Now()
}

// Uploading implements adopt.QuarantineUploads.
func (r Quarantine) Uploading(_ context.Context, u adopt.Upload) (bool, error) {
	db := r.db
	db.mu.Lock()
	defer db.mu.Unlock()
	if !db.has(u.Key, u.Fence) {
		return false, nil
	}
	at, there := slices.BinarySearchFunc(db.uploads, u, byKeyAndFence)
	if there {
		return false, fmt.Errorf("memadopt: %s is copied twice under one fence", u.Key)
	}
	db.uploads = slices.Insert(db.uploads, at, u)
	return true, nil
}

// Unfinished implements adopt.QuarantineUploads.
func (r Quarantine) Unfinished(_ context.Context, after adopt.Upload, limit int) (out []adopt.Upload, err error) {
	db := r.db
	db.mu.Lock()
	defer db.mu.Unlock()
	for _, u := range db.uploads {
		if byKeyAndFence(u, after) > 0 && !db.has(u.Key, u.Fence) && len(out) < limit {
			out = append(out, u)
		}
	}
	return out, nil
}

// Aborted implements adopt.QuarantineUploads.
func (r Quarantine) Aborted(_ context.Context, u adopt.Upload) error {
	db := r.db
	db.mu.Lock()
	defer db.mu.Unlock()
	if at, there := slices.BinarySearchFunc(db.uploads, u, byKeyAndFence); there {
		db.uploads = slices.Delete(db.uploads, at, at+1)
	}
	return nil
}
