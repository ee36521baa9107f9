package adoption

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/internal/words"
	"github.com/lethe-storage/lethe/reclaim"
)

// Folders returns the routine of a collection of folders in any mode: its
// Report changes nothing.
func (a *Adoption) Folders(ctx context.Context, name string) (*adopt.Folders, error) {
	rows, ok := a.folders[name]
	if !ok {
		return nil, fmt.Errorf("there is no collection of folders %q", name)
	}
	c := a.Description.Collections[name]
	bucket, err := a.guarded(ctx, name, c.Prefix)
	if err != nil {
		return nil, err
	}
	return &adopt.Folders{
		Collection: name, Prefix: c.Prefix, Rules: c.Folders.Rules(), Rows: rows, Store: bucket,
		Boot: a.o.Boot, Events: a.adoptEvents(),
	}, nil
}

// folderRoutines returns the one routine of a collection of folders: at most
// one instance runs it at a time, and only after its interval since the last
// success.
func (a *Adoption) folderRoutines(ctx context.Context, name string) ([]reclaim.Scheduled, error) {
	f, err := a.Folders(ctx, name)
	if err != nil {
		return nil, err
	}
	return []reclaim.Scheduled{{
		Routine: borrow(name, f), Timetable: every(looksEvery(f.Rules.Interval)), Workers: 1, Solo: true, Rest: f.Rules.Interval,
	}}, nil
}

// looksEvery returns the interval of checks whether a run is due.
func looksEvery(interval time.Duration) time.Duration {
	return max(min(interval/10, time.Minute), 100*time.Millisecond)
}

// sampledFolders compares the names of rows with the folders.
func (a *Adoption) sampledFolders(name string) compare {
	return func(ctx context.Context, _ bucket) ([]adopt.Finding, error) {
		f, err := a.Folders(ctx, name)
		if err != nil {
			return nil, err
		}
		switch found, sampled, err := f.Sample(ctx, samples); {
		case errors.Is(err, adopt.ErrFewRows), errors.Is(err, adopt.ErrBadNames):
			return []adopt.Finding{{Problem: true, What: err.Error()}}, nil
		case err != nil:
			return nil, err
		case found == 0:
			return []adopt.Finding{{Problem: true, What: fmt.Sprintf("of %s none has a folder below %s", words.Plural(int64(sampled), "sampled row", "sampled rows"), f.Prefix),
				Do: "folders.live has to return names below the prefix, as they are in the bucket"}}, nil
		}
		return nil, nil
	}
}

// reportFolders returns what a run would do.
func (a *Adoption) reportFolders(ctx context.Context, name string) ([]adopt.Finding, error) {
	f, err := a.Folders(ctx, name)
	if err != nil {
		return nil, err
	}
	p, err := f.Report(ctx)
	switch {
	case errors.Is(err, adopt.ErrFewRows), errors.Is(err, adopt.ErrBadNames):
		return []adopt.Finding{{Problem: true, What: err.Error()}}, nil
	case err != nil:
		return nil, err
	}
	out := []adopt.Finding{{What: p.String()}}
	for _, s := range p.Kept {
		out = append(out, adopt.Finding{What: fmt.Sprintf("%s%s stays: %s", f.Prefix, s.Folder.Name, s.Why)})
	}
	return out, nil
}
