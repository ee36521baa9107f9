package adopt

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/lethe-storage/lethe/blob"
)

// defaultPage is the number of objects in one delete request of S3.
const defaultPage = 1000

// errPage ends a listing whose page is full.
var errPage = errors.New("a page is full")

// page is objects of a folder that are deleted together.
type page struct {
	keys  []string
	last  string // the last one listed
	newer string // one written after the marker was put; empty if there is none
}

// purge deletes a page of the first folder to purge, or finishes it.
func (p *folderPass) purge(ctx context.Context, add func(string, int64)) error {
	s := p.plan.Purge[0]
	// Taken before the check: the time of the response counts.
	began := p.Boot.Now()
	found, err := p.nextPage(ctx, s.Folder)
	if err != nil {
		return fmt.Errorf("list %s%s: %w", p.Prefix, s.Folder.Name, err)
	}
	if err := p.stands(ctx, &s, found); err != nil || s.Why != "" {
		return errors.Join(err, p.stop(ctx, s, add))
	}
	switch verdict, err := p.Rows.Proceed(ctx, s.Known, p.floor); {
	case err != nil:
		return err
	case verdict == HasRow:
		s.Unmark, s.Why = true, hasRow(s.Known)
		return p.stop(ctx, s, add)
	case verdict == Changed || verdict == OnHold:
		p.next()
		return nil
	}
	p.plan.Purge[0].Known.State = FolderPurging
	ctx = inTime(ctx, p.Boot, began, lookedWithin)
	if len(found.keys) == 0 {
		return p.finish(ctx, add)
	}
	return p.remove(ctx, found, add)
}

// nextPage lists objects of a folder, except those whose delete failed.
func (p *folderPass) nextPage(ctx context.Context, f Folder) (out page, err error) {
	prefix, seen := f.Name+"/", 0
	err = p.Store.List(ctx, prefix, p.after, func(i blob.Info) error {
		if seen++; i.Key != markerOf(f.Name) {
			if second(i.ModTime) >= f.Marker {
				out.newer = i.Key
				return errPage
			}
			out.keys = append(out.keys, i.Key)
		}
		if out.last = i.Key; seen >= cmp.Or(p.Page, defaultPage) {
			return errPage
		}
		return nil
	})
	if errors.Is(err, errPage) {
		err = nil
	}
	return out, err
}

// stands records why a folder is not to be purged after all: its marker was
// replaced, or something was written since.
func (p *folderPass) stands(ctx context.Context, s *Step, found page) error {
	info, err := p.Store.Stat(ctx, markerOf(s.Folder.Name))
	switch {
	case errors.Is(err, blob.ErrNotExist):
		s.Why = "its marker was removed"
	case err != nil:
		return fmt.Errorf("look at the marker of %s%s: %w", p.Prefix, s.Folder.Name, err)
	case second(info.ModTime) != s.Known.MarkerAt:
		s.Why = "its marker is not the one that was put"
	case found.newer != "":
		s.Why, s.Unmark = fmt.Sprintf("%s was written after it was marked", found.newer), true
	}
	return nil
}

// stop cancels the first folder to purge.
func (p *folderPass) stop(ctx context.Context, s Step, add func(string, int64)) error {
	if s.Why == "" {
		return nil
	}
	p.next()
	return p.stays(ctx, p.cancel(ctx, s, add), add)
}

// next advances to the next folder.
func (p *folderPass) next() {
	p.plan.Purge, p.after, p.broken = p.plan.Purge[1:], "", false
}

// remove deletes a page.
func (p *folderPass) remove(ctx context.Context, found page, add func(string, int64)) error {
	s := &p.plan.Purge[0]
	results, err := p.Store.Delete(ctx, found.keys)
	var gone []string
	var failed []error
	for i, keyErr := range blob.Outcomes(found.keys, results, err) {
		if blob.Gone(keyErr) {
			gone = append(gone, p.Prefix+found.keys[i])
		} else {
			failed = append(failed, keyErr)
		}
	}
	s.Known.Purged += int64(len(gone))
	recorded := p.Rows.Purged(context.WithoutCancel(ctx), s.Known, gone)
	add("items", int64(len(gone)))
	add("objects", int64(len(gone)))
	if len(failed) > 0 {
		add("failed", int64(len(failed)))
		p.broken, p.after = true, found.last
	}
	if err != nil || recorded != nil {
		return errors.Join(err, recorded)
	}
	return p.report(ctx, failed)
}

// finish deletes the marker of a folder that is otherwise empty. If objects
// could not be deleted the marker stays, and the next run tries again.
func (p *folderPass) finish(ctx context.Context, add func(string, int64)) error {
	s := p.plan.Purge[0]
	broken := p.broken
	p.next()
	if broken {
		return nil
	}
	if err := p.unmark(ctx, s.Folder.Name); err != nil {
		return p.stays(ctx, err, add)
	}
	if err := p.Rows.Gone(context.WithoutCancel(ctx), s.Known); err != nil {
		return err
	}
	add("items", 1)
	add("folders", 1)
	return nil
}
