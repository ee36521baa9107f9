package admin

import (
	"context"
	"time"

	"github.com/lethe-storage/lethe/ledger"
)

// Surroundings say what the store works with and what works beside it. Any of the
// functions may be nil.
type Surroundings struct {
	// Roles are what the process does: serve, reclaim.
	Roles []string
	// Ledger is what the ledger lies in ("sqlite", "postgres").
	Ledger string
	// Latency is how long the ledger took to answer when it was last asked.
	Latency func() time.Duration
	// Redis says whether there is one, and whether it answers.
	Redis func() (configured, up bool)
	// SlowedBy says why this process reclaims more slowly than it could; empty: it
	// does not. Limits are those of all backends together, in words.
	SlowedBy, Limits func() string
	// BackoffLevel is how many levels this process backs off: 0 to 4.
	BackoffLevel func() int
	// Backend tells of one backend.
	Backend func(id string) BackendFacts
}

// BackendFacts are what a process knows of a backend beside its rows.
type BackendFacts struct {
	Kind  string `json:"kind,omitempty"`  // dir, s3
	Place string `json:"place,omitempty"` // folder, or endpoint and bucket
	// S3 is what a probe has found out of the service; nil for other kinds.
	S3      *S3Facts      `json:"s3,omitempty"`
	Breaker *BreakerFacts `json:"breaker,omitempty"`
	// Unwritable is why it gets no writes now.
	Unwritable string `json:"unwritable,omitempty"`
	// SlowedBy is why deleting there is slower than it could be, and Limits what it
	// may ask of the backend, in words.
	SlowedBy string `json:"slowed_by,omitempty"`
	Limits   string `json:"limits,omitempty"`
	// BackoffLevel is how many levels deletes there back off for the backend's load: 0
	// to 4. Limited: its limits hold them back.
	BackoffLevel int  `json:"backoff_level,omitempty"`
	Limited      bool `json:"limited,omitempty"`
}

// S3Facts are what a service and a bucket can do, and how fast is deleted there.
type S3Facts struct {
	Probed            bool   `json:"probed"`
	BatchDelete       bool   `json:"batch_delete"`
	ConditionalWrites bool   `json:"conditional_writes"`
	Multipart         bool   `json:"multipart"`
	Versions          string `json:"versions"`
	ObjectLock        string `json:"object_lock"`
	Lifecycle         string `json:"lifecycle"`
	NoWrites          string `json:"no_writes,omitempty"`  // why they are refused
	NoDeletes         string `json:"no_deletes,omitempty"` // why they are refused
	Batch             int    `json:"batch"`
	Concurrency       int    `json:"concurrency"`
	Error             string `json:"error,omitempty"` // of the latest probe
}

// BreakerFacts say how a backend's breaker stands.
type BreakerFacts struct {
	Open     bool   `json:"open"`
	Outages  int    `json:"outages"` // in a row
	Openings int64  `json:"openings"`
	Error    string `json:"error,omitempty"` // of the last outage
}

// RedisStatus says how Redis does.
type RedisStatus struct {
	Up bool `json:"up"`
}

// Instance is a process that works on the ledger.
type Instance struct {
	ID      string    `json:"id"`
	Host    string    `json:"host"`
	PID     int       `json:"pid"`
	Version string    `json:"version"`
	Roles   []string  `json:"roles"`
	S3      string    `json:"s3,omitempty"`
	Started time.Time `json:"started_at"`
	Seen    time.Time `json:"seen_at"`
	// Silent says that it has shown no sign of life for a while.
	Silent bool `json:"silent,omitempty"`
}

const (
	// instancesShown is how long ago an instance was seen to be shown.
	instancesShown = 15 * time.Minute
	// silentAfter is how long an instance may show no sign of life, of which there
	// are six in a minute.
	silentAfter = time.Minute
)

// surround adds to a status what the store works with.
func (s *Service) surround(ctx context.Context, out *Status) error {
	a := s.o.Around
	out.Roles, out.LedgerKind = a.Roles, a.Ledger
	if a.Latency != nil {
		out.LedgerLatency = a.Latency().Seconds()
	}
	if a.SlowedBy != nil {
		out.SlowedBy, out.Limits = a.SlowedBy(), a.Limits()
	}
	if a.BackoffLevel != nil {
		out.BackoffLevel = a.BackoffLevel()
	}
	if a.Redis != nil {
		if on, up := a.Redis(); on {
			out.Redis = &RedisStatus{Up: up}
		}
	}
	list, err := s.o.Ledger.Instances(ctx, instancesShown)
	for _, i := range list {
		out.Instances = append(out.Instances, s.instance(i))
	}
	return err
}

func (s *Service) instance(i ledger.Instance) Instance {
	return Instance{
		ID: i.ID, Host: i.Info.Host, PID: i.Info.PID, Version: i.Info.Version, Roles: i.Info.Roles, S3: i.Info.S3,
		Started: at(i.StartedAt), Seen: at(i.BeatAt), Silent: s.o.Clock.Now().Sub(i.BeatAt) > silentAfter,
	}
}
