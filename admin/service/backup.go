package service

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
)

// backup sends a consistent copy of the ledger. It is made and checked first,
// so that the response is complete, or an error.
func (s *Service) backup(w http.ResponseWriter, r *http.Request) {
	c := s.begin(r.Context(), "backup", api.None{})
	f, err := s.makeBackup(r.Context())
	c.end(err)
	if err != nil {
		e, status := httpError(err)
		reply(w, status, api.Failure{Error: e})
		return
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil {
		w.Header().Set("X-Lethe-Size", strconv.FormatInt(info.Size(), 10))
	}
	w.Header().Set("Content-Type", "application/vnd.sqlite3")
	// The client compares the size, and checks the copy.
	_, _ = io.Copy(w, f)
}

// makeBackup makes a copy without a name, which is deleted when it is closed.
func (s *Service) makeBackup(ctx context.Context) (*os.File, error) {
	path := filepath.Join(s.o.Scratch, ".backup-"+string(lethe.RandomID(s.o.Clock.Now())))
	if err := s.o.Ledger.Backup(ctx, path); err != nil {
		return nil, err
	}
	for id := range s.o.Backends {
		// The running ledger has to differ from its copy. If this fails, the
		// next heartbeat advances it, and reports the error.
		_ = s.o.Pairing.Advance(ctx, id)
	}
	f, err := os.Open(path)
	return f, errors.Join(err, os.Remove(path))
}
