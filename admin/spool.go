package admin

import (
	"context"
	"time"
)

// Spool keeps results that the ledger may not have recorded.
type Spool interface {
	// List answers what is noted and not resolved yet.
	List(ctx context.Context) ([]SpoolEntry, error)
	// Replay looks everything up now.
	Replay(ctx context.Context) (SpoolReport, error)
}

// SpoolEntry is a result that the ledger may not have recorded.
type SpoolEntry struct {
	At      time.Time `json:"at"`
	Stage   string    `json:"stage"`  // the transaction that failed
	Reason  string    `json:"reason"` // unknown, cut off, unavailable, corrupt, other
	Backend string    `json:"backend,omitempty"`
	Key     string    `json:"key,omitempty"` // the blob's name on its backend
	Size    int64     `json:"size,omitempty"`
	Op      string    `json:"op,omitempty"`
	Upload  string    `json:"upload,omitempty"`
	Tries   int       `json:"tries"`
	Error   string    `json:"error,omitempty"`
}

// SpoolReport says what looking everything up has found.
type SpoolReport struct {
	Resolved map[string]int64 `json:"resolved"` // by what had become of the entry
	Open     int64            `json:"open"`     // not known yet
	Corrupt  int64            `json:"corrupt"`  // lines that could not be read
	Torn     int64            `json:"torn"`     // lines that were cut off
}

func spoolRoutes() []Route {
	return []Route{
		asks("spool/list", Read, "Results that the ledger may not have recorded", (*Service).ListSpool),
		changes("spool/replay", Operate, "Look up what became of them now", (*Service).ReplaySpool, nil),
	}
}

// ListSpool answers what is noted and not resolved yet.
func (s *Service) ListSpool(ctx context.Context, _ None) ([]SpoolEntry, error) {
	if s.o.Spool == nil {
		return []SpoolEntry{}, nil
	}
	return s.o.Spool.List(ctx)
}

// ReplaySpool looks everything up now.
func (s *Service) ReplaySpool(ctx context.Context, _ None) (SpoolReport, error) {
	if s.o.Spool == nil {
		return SpoolReport{Resolved: map[string]int64{}}, nil
	}
	return s.o.Spool.Replay(ctx)
}
