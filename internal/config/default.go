package config

import (
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/reclaim/schedule"
)

const (
	mib = 1 << 20
	day = Duration(24 * time.Hour)
)

// Default returns the configuration without a file, environment or flags.
func Default() *Config {
	return &Config{
		DataDir:  "./lethe-data",
		Roles:    []string{RoleServe, RoleReclaim},
		Database: Database{Schema: "lethe", Connections: 16, EngineConnections: 8, Wait: Duration(time.Minute)},
		Redis:    Redis{Kind: "single", Timeout: Duration(100 * time.Millisecond), Cache: true, MaxValue: 256 << 10, Wake: true},
		Server: Server{
			S3:             Listener{Listen: "127.0.0.1:9000"},
			Paste:          Listener{Listen: "127.0.0.1:9001"},
			Admin:          Listener{Listen: "unix:admin.sock"},
			Metrics:        Listener{Listen: "127.0.0.1:9002"},
			Console:        Listener{Listen: "127.0.0.1:9004"},
			Region:         "us-east-1",
			Ownership:      ownerships[0],
			AccountBuckets: 1000,
			TrustedProxies: []Network{},
			RateLimit:      RateLimit{Burst: 200},
			MaxConnections: 4096,
			MaxPerAddress:  512,
			MinBodyRate:    500,
			DrainTimeout:   Duration(30 * time.Second),
		},
		Store: Store{Inline: InlineAuto, MinPartSize: 5 * mib, MemoryBody: 1 * mib, TrustWindow: day, Flush: true},
		Cache: Cache{Size: 64 * mib, MaxValue: 1 * mib, TTL: Duration(time.Hour)},
		Paste: Paste{
			Enabled: true, Bucket: "pastes", MaxSize: 1 * mib, DefaultTTL: 30 * day, MaxTTL: 365 * day, MissesPerMinute: 60,
		},
		Console:   Console{Enabled: true, Hosts: []string{}, Idle: Duration(30 * time.Minute), Lifetime: Duration(12 * time.Hour)},
		Backends:  []Backend{{Name: "main", Kind: "dir", Path: "blobs", S3: defaultS3()}},
		Placement: Placement{Strategy: "pack", Replicas: 1, Threshold: 0.1, MaxMove: 10 << 30},
		Lifecycle: LifecycleRules{},
		Reclaim:   defaultReclaim(),
		Receipts:  Receipts{Keep: 30 * day},
		Events:    Events{Targets: []EventTarget{}, MaxWaiting: 100_000, GiveUp: 3 * day, MaxAge: 7 * day, BackoffMin: Duration(time.Second), BackoffMax: Duration(5 * time.Minute)},
		Log:       Log{Level: "info", Format: "auto"},
		Tracing:   Tracing{SampleRatio: 0.1, AcceptParent: true},
	}
}

func defaultReclaim() Reclaim {
	return Reclaim{
		Expire:    every(5*time.Second, 1000, 2),
		Evict:     every(10*time.Second, 1000, 1),
		Clean:     every(time.Minute, 1000, 2),
		Reap:      every(time.Minute, 200, 1),
		Multipart: every(time.Hour, 100, 1),
		Lifecycle: every(time.Minute, 1000, 1),
		Purge:     every(time.Minute, 1000, 1),
		Deliver:   every(2*time.Second, 200, 1),
		Watch:     every(time.Minute, 1000, 1),
		Receipts:  every(time.Minute, 1000, 1),
		Verify:    nightly("0 3 * * *", 500),
		Checksums: nightly("0 3 * * 0", 100),
		Replicate: every(10*time.Second, 16, 2),
		Drain:     every(time.Minute, 500, 1),
		Rebalance: off(every(time.Hour, 500, 1)),
		Survey:    nightly("0 2 * * 0", 500),
		Inline:    off(nightly("0 2 * * 0", 500)),
		Reconcile: reconciling(),
		Recount:   every(time.Hour, 1000, 1),
		Usage:     every(6*time.Hour, 1000, 1),
		Orphans:   Orphans{Most: 10_000, MostShare: 0.1},
		Yield:     1.2,
		Load:      3,
		Limits:    defaultDeletionLimits(),
		Grace: Grace{
			MinAge:         Duration(5 * time.Minute),
			LateWindow:     Duration(time.Hour),
			ReadGrace:      Duration(lethe.DefaultReadGrace),
			MovedGrace:     Duration(lethe.DefaultMovedGrace),
			ClaimGrace:     Duration(5 * time.Minute),
			MultipartStale: day,
			BackoffMin:     Duration(time.Minute),
			BackoffMax:     day,
			Attempts:       10,
			OrphanGrace:    2 * day,
			OpsKept:        day,
			PlanAge:        day,
			Heartbeat:      Duration(time.Minute),
			ClockJump:      Duration(5 * time.Minute),
		},
	}
}

// nightly begins by a cron expression and pauses from six in the morning.
func nightly(cron string, batch int) Routine {
	return Routine{
		Enabled: true, Batch: batch, Workers: 1,
		Schedule: mustSchedule(schedule.Spec{Cron: cron, Zone: "Local", Until: "06:00"}),
	}
}

func every(d time.Duration, batch, workers int) Routine {
	return Routine{Enabled: true, Schedule: mustSchedule(schedule.Spec{Every: d}), Batch: batch, Workers: workers}
}

// off returns a routine that runs only on request.
func off(r Routine) Routine {
	r.Enabled = false
	return r
}

// mustSchedule is for the defaults, which are valid.
func mustSchedule(spec schedule.Spec) Schedule {
	s, err := schedule.New(spec)
	if err != nil {
		panic(err)
	}
	return Schedule{s}
}
