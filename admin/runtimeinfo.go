package admin

import (
	"context"
	"time"

	"github.com/lethe-storage/lethe/ledger"
)

// RuntimeInfo describe the process, its backends and its peers. Any of the
// functions may be nil.
type RuntimeInfo struct {
	// Roles are the roles of the process: serve, reclaim.
	Roles []string
	// Ledger is the ledger's kind ("sqlite", "postgres").
	Ledger string
	// Latency returns how long the ledger took to respond.
	Latency func() time.Duration
	// Redis reports whether it is configured, and whether it responds.
	Redis func() (configured, up bool)
	// SlowedBy returns why this process reclaims more slowly than it could,
	// empty if it does not. Limits describes those of all backends together.
	SlowedBy, Limits func() string
	// BackoffLevel returns this process's backoff level: 0 to 4.
	BackoffLevel func() int
	// Backend describes one backend.
	Backend func(id string) BackendFacts
}

// BackendFacts are what a process knows of a backend besides its rows.
type BackendFacts struct {
	Kind  string `json:"kind,omitempty"`  // dir, s3
	Place string `json:"place,omitempty"` // folder, or endpoint and bucket
	// S3 is the result of probing the service; nil for other kinds.
	S3      *S3Facts      `json:"s3,omitempty"`
	Breaker *BreakerFacts `json:"breaker,omitempty"`
	// Unwritable is why it gets no writes now.
	Unwritable string `json:"unwritable,omitempty"`
	// SlowedBy is why deleting there is slower than it could be, and Limits
	// describes its rates.
	SlowedBy string `json:"slowed_by,omitempty"`
	Limits   string `json:"limits,omitempty"`
	// BackoffLevel is the level of deletes there for the backend's load: 0 to
	// 4. Limited reports that its limits delay them.
	BackoffLevel int  `json:"backoff_level,omitempty"`
	Limited      bool `json:"limited,omitempty"`
}

// S3Facts are the abilities of a service and a bucket, and the rate of deletes
// there.
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

// BreakerFacts are the state of a backend's breaker.
type BreakerFacts struct {
	Open     bool   `json:"open"`
	Outages  int    `json:"outages"` // in a row
	Openings int64  `json:"openings"`
	Error    string `json:"error,omitempty"` // of the last outage
}

// RedisStatus is the state of Redis.
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
	// Silent reports that its heartbeats are missing.
	Silent bool `json:"silent,omitempty"`
}

const (
	// instancesShown is how long after its last heartbeat an instance is shown.
	instancesShown = 15 * time.Minute
	// silentAfter is how long heartbeats may be missing, of which there are six
	// a minute.
	silentAfter = time.Minute
)

// surround adds the surroundings to a status.
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
		Started: toTime(i.StartedAt), Seen: toTime(i.BeatAt), Silent: s.o.Clock.Now().Sub(i.BeatAt) > silentAfter,
	}
}
