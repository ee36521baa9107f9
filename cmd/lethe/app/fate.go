package app

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin"
	"github.com/lethe-storage/lethe/internal/fate"
	"github.com/lethe-storage/lethe/internal/spool"
	"github.com/lethe-storage/lethe/meta"
)

// spoolEvery is how often the spool is looked up; what is open in it waits for the
// reaper, or for a claim to go stale, which takes minutes.
const spoolEvery = time.Minute

// fates watches the transactions that carry the fate of bytes. What the ledger may
// not know is counted, audited and, if it can be looked up, noted in the spool.
func (s *Store) fates() *fate.Watch {
	if s.fate != nil {
		return s.fate
	}
	s.fate = &fate.Watch{Failed: s.unrecorded}
	if s.shared() && !s.opt.Create {
		return s.fate // a command beside a server, whose folder this is
	}
	s.spool = spool.Open(spool.Options{Dir: filepath.Join(s.Config.DataDir, spoolName), Trouble: func(err error) {
		s.watch.metrics.SpoolLost("dropped", 1)
		if more, tell := s.watch.slow.tell(); tell {
			s.opt.Log.Warn("the spool of unrecorded results cannot be written; reconcile finds what is lost with it", "more_untold", more, "error", err)
		}
	}})
	s.closing(s.spool.Close)
	return s.fate
}

// counted are the stages whose end the events of objects, of placement and of clean
// tell, once they have given up; each try is noted all the same, and looked up.
var counted = []string{"commit", "part", "copy", "abandon", "settle"}

// unrecorded is told of a transaction that failed after bytes were sent or deleted.
func (s *Store) unrecorded(f fate.Failure) {
	if !slices.Contains(counted, f.Stage) {
		s.watch.enqueueFailed(lost{f.Backend, f.Stage, f.Err, f.Blobs}, slog.Int64("bytes", f.Size),
			slog.String("op", string(f.Op)), slog.String("upload", string(f.Upload)))
	}
	if s.spool == nil {
		return
	}
	e := spool.Entry{
		At: s.opt.Clock.Now(), Stage: f.Stage, Reason: f.Reason, Backend: f.Backend, Size: f.Size,
		Op: f.Op, Upload: f.Upload, Fence: f.Fence, Error: f.Err.Error(),
	}
	if len(f.Blobs) == 0 && (f.Op != "" || f.Upload != "") {
		s.spool.Add(e)
	}
	for _, b := range f.Blobs {
		e.Blob, e.Size, e.Key = b.Blob, b.Size, lethe.BlobKey(s.Identity.ID, b.Blob)
		s.spool.Add(e)
	}
}

// resolve asks the ledger what became of an entry; nothing: that is open yet. It
// never guesses: a row decides, or the record of the operation.
func (s *Store) resolve(ctx context.Context, e spool.Entry) (string, error) {
	switch {
	case e.Stage == "late":
		// Done twice it does no harm: the name is used for nothing else.
		return "condemned", s.Ledger.CondemnLate(ctx, meta.LateBytes{Blob: e.Blob, Backend: e.Backend, Size: e.Size})
	case e.Blob != "":
		return s.resolveBlob(ctx, e)
	case e.Op != "":
		_, found, err := s.Ledger.Outcome(ctx, e.Op)
		if found {
			return "recorded", err
		}
		return "not done", err
	}
	_, err := s.Ledger.UploadByID(ctx, e.Upload)
	if errors.Is(err, lethe.ErrNoSuchUpload) {
		return "aborted", nil
	}
	return "not done", err
}

func (s *Store) resolveBlob(ctx context.Context, e spool.Entry) (string, error) {
	rows, err := s.Ledger.BlobsByID(ctx, []lethe.ID{e.Blob})
	if err != nil {
		return "", err
	}
	if len(rows) == 0 {
		return "gone", nil
	}
	switch b := rows[0]; {
	case b.State == lethe.Pending:
		return "", nil // its writer, or the reaper, is not done with it
	case b.State == lethe.Condemned && e.Fence != 0 && b.Claim.Fence == e.Fence:
		return "", nil // the claim goes stale and is taken over
	default:
		return b.State.String(), nil
	}
}

// replaySpool looks the spool up, now and every minute, until ctx ends.
func (a *App) replaySpool(ctx context.Context) {
	if a.spool == nil {
		return
	}
	tick := time.NewTicker(spoolEvery)
	defer tick.Stop()
	for {
		if _, err := a.replay(ctx); err != nil && ctx.Err() == nil {
			a.opt.Log.Log(ctx, a.watch.level(err, slog.LevelWarn), "the spool of unrecorded results could not be looked up; it is tried again", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (s *Store) replay(ctx context.Context) (spool.Report, error) {
	r, err := s.spool.Replay(ctx, s.resolve)
	s.watch.metrics.SpoolReplayed(r.Resolved, r.Open)
	s.watch.metrics.SpoolLost("corrupt", r.Corrupt)
	s.watch.metrics.SpoolLost("torn", r.Torn)
	if len(r.Resolved) > 0 || r.Corrupt > 0 {
		s.opt.Log.Info("unrecorded results were looked up", "resolved", r.Resolved, "open", r.Open, "corrupt", r.Corrupt, "torn", r.Torn)
	}
	return r, err
}

// spooled offers the spool to operators.
type spooled struct{ s *Store }

func (s *Store) spoolOf() admin.Spool {
	if s.spool == nil {
		return nil
	}
	return spooled{s}
}

// List answers what is noted and not resolved yet.
func (p spooled) List(context.Context) ([]admin.SpoolEntry, error) {
	list, err := p.s.spool.List()
	out := []admin.SpoolEntry{}
	for _, e := range list {
		out = append(out, admin.SpoolEntry{
			At: e.At.Time(), Stage: e.Stage, Reason: e.Reason, Backend: e.Backend, Key: e.Key, Size: e.Size,
			Op: string(e.Op), Upload: string(e.Upload), Tries: e.Tries, Error: e.Error,
		})
	}
	return out, err
}

// Replay looks everything up now.
func (p spooled) Replay(ctx context.Context) (admin.SpoolReport, error) {
	r, err := p.s.replay(ctx)
	return admin.SpoolReport(r), err
}
