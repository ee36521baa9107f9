package memadopt

import (
	"context"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
)

// Folders are rows that name folders, and the record of those without one. They are
// safe for concurrent use.
type Folders struct {
	names
	known   map[string]*adopt.KnownFolder
	allowed map[string]lethe.Time // when each may last have lost objects
}

var _ adopt.FolderRows = (*Folders)(nil)

// NewFolders returns a collection without rows.
func NewFolders(clock lethe.Clock) *Folders {
	return &Folders{names: newNames(clock), known: map[string]*adopt.KnownFolder{}, allowed: map[string]lethe.Time{}}
}

// Look implements adopt.FolderMarks.
func (f *Folders) Look(context.Context) (adopt.FolderView, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	v := adopt.FolderView{Now: f.clock.Now(), Live: map[string]bool{}, Rows: f.rows(), Last: f.last, Known: values(f.known), Holds: f.holds.standing()}
	for name := range f.named {
		v.Live[name] = true
	}
	return v, nil
}

// Note implements adopt.FolderMarks.
func (f *Folders) Note(_ context.Context, v adopt.FolderView, names []string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.note(v.Rows, v.Now)
	for _, name := range names {
		if f.known[name] == nil {
			f.known[name] = &adopt.KnownFolder{Name: name, State: adopt.FolderSeen}
		}
	}
	return nil
}

// Condemn implements adopt.FolderMarks.
func (f *Folders) Condemn(_ context.Context, names []string, floor int64) (out []string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.enough(floor); err != nil {
		return nil, err
	}
	for _, name := range names {
		if f.holds.standing().Folder(name+"/") != nil {
			continue
		}
		if k := f.known[name]; k != nil && k.State <= adopt.FolderMarking && f.named[name] == 0 {
			k.State = adopt.FolderMarking
			out = append(out, name)
		}
	}
	return out, nil
}

// Marked implements adopt.FolderMarks.
func (f *Folders) Marked(_ context.Context, folders []adopt.KnownFolder) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range folders {
		if k := f.known[m.Name]; k != nil && k.State == adopt.FolderMarking {
			k.State, k.MarkedAt, k.MarkerAt = adopt.FolderMarked, f.clock.Now(), m.MarkerAt
		}
	}
	return nil
}

// Forget implements adopt.FolderMarks.
func (f *Folders) Forget(_ context.Context, k adopt.KnownFolder) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.is(k) && f.known[k.Name].State == k.State {
		delete(f.known, k.Name)
	}
	return nil
}

// is reports whether a recorded folder's marker is the one that the caller
// knows.
func (f *Folders) is(k adopt.KnownFolder) bool {
	have := f.known[k.Name]
	return have != nil && have.MarkedAt == k.MarkedAt && have.MarkerAt == k.MarkerAt
}

// Proceed implements adopt.FolderPurges.
func (f *Folders) Proceed(_ context.Context, k adopt.KnownFolder, floor int64) (adopt.Verdict, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.is(k) || f.known[k.Name].State < adopt.FolderMarked {
		return adopt.Changed, nil
	}
	if err := f.enough(floor); err != nil {
		return 0, err
	}
	if f.named[k.Name] > 0 {
		return adopt.HasRow, nil
	}
	if f.holds.standing().Folder(k.Name+"/") != nil {
		return adopt.OnHold, nil
	}
	f.known[k.Name].State, f.allowed[k.Name] = adopt.FolderPurging, f.clock.Now()
	return adopt.Orphan, nil
}

// Purged implements adopt.FolderPurges.
func (f *Folders) Purged(_ context.Context, k adopt.KnownFolder, keys []string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.is(k) && len(keys) > 0 && f.known[k.Name].State == adopt.FolderPurging {
		f.known[k.Name].Purged = k.Purged
	}
	return nil
}

// Gone implements adopt.FolderPurges.
func (f *Folders) Gone(_ context.Context, k adopt.KnownFolder) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.is(k) && f.known[k.Name].State == adopt.FolderPurging {
		delete(f.known, k.Name)
	}
	return nil
}

// Pending implements adopt.FolderPurges.
func (f *Folders) Pending(_ context.Context, retention time.Duration) (out adopt.Backlog, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	before := f.clock.Now().Add(-retention)
	marked := func(k *adopt.KnownFolder) bool { return k.State >= adopt.FolderMarked && k.MarkedAt <= before }
	due := dueFirst(f.known, marked, func(k *adopt.KnownFolder) lethe.Time { return k.MarkedAt })
	if len(due) > 0 {
		out = adopt.Backlog{Due: int64(len(due)), Oldest: due[0].MarkedAt}
	}
	return out, nil
}
