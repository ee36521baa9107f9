package config

import (
	"errors"
	"strings"
	"testing"
)

func TestValidateServer(t *testing.T) {
	saysWhatToDo(t, map[string]string{
		"data_dir=":                                             "data_dir: is empty; name a folder",
		"root.access_key=admin":                                 "root.secret: is missing or shorter than 8",
		"root.secret=longenough":                                `root.access_key: "" does not do; use 3 to 128`,
		"server.s3.listen=9000":                                 `server.s3.listen: "9000" is no address; use host:port`,
		"server.s3.listen=127.0.0.1:99999":                      "is no address",
		"server.s3.listen=127.0.0.1:http":                       "is no address",
		"server.s3.listen=unix:s3.sock":                         "is no address here",
		"server.s3.listen=off":                                  "server.s3.listen: cannot be off",
		"server.admin.listen=off":                               "server.admin.listen: cannot be off",
		"server.admin.listen=unix:":                             "is no address here",
		"server.admin.listen=unix:/" + strings.Repeat("x", 200): "the path of the socket has more than",
		"server.paste.listen=127.0.0.1:9000":                    "server.paste.listen: 127.0.0.1:9000 is the address of server.s3 already",
		"server.s3.public_url=s3.example.org":                   "is no address of a site; use a URL",
		"server.s3.public_url=https://u:p@x.org":                "is no address of a site",
		"server.s3.public_url=https://x.org/?a":                 "is no address of a site",
		"server.s3.tls.cert=cert.pem":                           "server.s3.tls: only one of cert and key is set",
		"server.region=":                                        "server.region",
		"server.domain=S3.example.org:9000":                     "server.domain: \"S3.example.org:9000\" is no domain",
		"server.rate_limit.requests_per_second=-1":              "is negative; use 0 for no limit",
		"server.rate_limit.burst=0":                             "burst: is 0; use at least 1",
		"server.max_connections=0":                              "use at least 1",
		"server.drain_timeout=none":                             "is none; use for example 30s",
		"server.account_buckets=-1":                             "use 0 for any number",
		"server.object_ownership=Mine":                          "use one of [BucketOwnerEnforced",
		"server.cors.default_origin=example.org":                "is no origin",
		"server.console.listen=127.0.0.1:9002":                  "server.console.listen: 127.0.0.1:9002 is the address of server.metrics already",
		"console.hosts=lethe.example.org:9004":                  "is no host; use a name such as",
		"console.idle=none":                                     "is none; use for example 30m",
		"console.lifetime=1m":                                   "is 1m, shorter than console.idle",
	})
}

func TestValidateTheRest(t *testing.T) {
	saysWhatToDo(t, map[string]string{
		"tracing.endpoint=collector:4318":    "tracing.endpoint: is no address of a collector; use one such as",
		"tracing.endpoint=http://u:p@x:4318": "tracing.endpoint: is no address",
		"tracing.sample_ratio=7":             "tracing.sample_ratio: is 7; use a share between 0 and 1",
		"store.min_part_size=6GiB":           "use 1B to 5GiB",
		"store.memory_body=1GiB":             "use at most 64MiB",
		"reclaim.yield=0.5":                  "use 0, or 1 to 1000",
		"store.new_buckets.max_objects=-1":   "is negative",
		"cache.size=1KiB":                    "cache.size: is 1KiB; use at least 1MiB, or none",
		"cache.max_value=65MiB":              "cache.max_value",
		"cache.ttl=none":                     "cache.ttl: is none",
		"paste.bucket=My_Bucket":             "is no name of a bucket",
		"paste.max_size=none":                "use 1B to 64MiB",
		"paste.default_ttl=366d":             "366d is longer than max_ttl, 365d",
		"events.max_age=1d":                  "events.max_age: is 1d; use at least give_up (3d)",
		"events.targets=[{name: a, url: 'https://u:p@x/', secret: sixteen-characters}]":                   "events.targets[0].url: is no address of a webhook",
		"events.targets=[{name: a, url: 'https://x/', secret: short}]":                                    "events.targets[0].secret: is shorter than 16 characters",
		"events.targets=[{name: a, url: 'https://x/', secret: sixteen-characters, buckets: ['*-a']}]":     `events.targets[0].buckets: "*-a" is neither the name of a bucket nor`,
		"events.targets=[{name: a, kind: kafka, url: 'https://x/'}]":                                      `events.targets[0].kind: "kafka" is not known; use webhook or nats`,
		"events.targets=[{name: a, kind: nats, url: 'https://x/', subject: a}]":                           "events.targets[0].url: is no address of NATS",
		"events.targets=[{name: a, kind: nats, url: 'nats://u:p,w@x:4222', subject: a}]":                  "events.targets[0].url: has a comma",
		"events.targets=[{name: a, kind: nats, url: 'nats://x', subject: 'a.*'}]":                         `events.targets[0].subject: "a.*" is no subject`,
		"events.targets=[{name: a, kind: nats, url: 'nats://x', subject: a, secret: sixteen-characters}]": "events.targets[0].secret: is of a webhook",
		"events.targets=[{name: a, url: 'https://x/', secret: sixteen-characters, subject: a}]":           "events.targets[0].subject: and credentials_file are of a target of kind nats",
		"backends=[]": "backends: there is none",
		"backends=[{name: A, kind: dir, path: a}]":                                    `backends[0].name: "A" does not do`,
		"backends=[{name: a, kind: s4, path: a}]":                                     `backends[0].kind: "s4" is not known; use dir or s3`,
		"backends=[{name: a, kind: dir, path: .}]":                                    "or the data directory itself",
		"backends=[{name: a, kind: dir}]":                                             "backends[0].path: is empty",
		"backends=[{name: a, kind: dir, path: a},{name: a, kind: dir, path: b}]":      `backends[1].name: "a" is taken`,
		"backends=[{name: a, kind: dir, path: a},{name: b, kind: dir, path: a/b}]":    "backends[1].path",
		"backends=[{name: a, kind: dir, path: a/b},{name: b, kind: dir, path: ./a/}]": "keep them apart",
		"reclaim.expire.batch=1001":                                                   "reclaim.expire.batch: is 1001; use 1 to 1000",
		"reclaim.expire.workers=0":                                                    "use 1 to 64",
		"reclaim.clean.rate_per_second=-5":                                            "is negative",
		"reclaim.grace.late_window=none":                                              "reclaim.grace.late_window: is none",
		"reclaim.grace.attempts=0":                                                    "use at least 1",
		"reclaim.grace.backoff_min=2d":                                                "2d is longer than backoff_max, 1d",
		"log.level=loud":                                                              "use debug, info, warn or error",
		"log.format=xml":                                                              "use auto, text or json",
	})
}

// saysWhatToDo checks that each setting over the defaults is one problem, with
// its text.
func saysWhatToDo(t *testing.T, cases map[string]string) {
	t.Helper()
	for setting, says := range cases {
		c := Default()
		key, value, _ := strings.Cut(setting, "=")
		if err := c.Set(key, value); err != nil {
			t.Errorf("%.80s: %v", setting, err)
			continue
		}
		err := c.Validate()
		var problems Problems
		if !errors.As(err, &problems) || len(problems) != 1 || !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), says) {
			t.Errorf("%.80s: %v; want one problem that says %q", setting, err, says)
		}
	}
}

func TestValidateAccepts(t *testing.T) {
	const shared = "backends=[{name: a, kind: dir, path: /shared}]"
	for _, settings := range [][]string{
		{"server.s3.listen=:9000"}, {"server.s3.listen=[::1]:9000"}, {"server.s3.listen=0.0.0.0:0", "server.paste.listen=0.0.0.0:0"},
		{"server.paste.listen=off", "server.metrics.listen=off"}, {"server.admin.listen=127.0.0.1:9003"},
		{"server.s3.tls.cert=c", "server.s3.tls.key=k"}, {"server.domain=localhost"}, {"server.domain=s3.example.org"},
		{"root.access_key=admin", "root.secret=longenough"}, {"cache.size=none", "cache.ttl=none"},
		{"server.cors.default_origin=*"}, {"server.cors.default_origin=https://x.org:8443"},
		{"paste.default_ttl=none"}, {"paste.max_ttl=none"}, {"store.new_buckets.default_ttl=30d"}, {"store.undo=7d"},
		{"roles=reclaim", "database.url=postgres://u:p@h:5432/d?sslmode=disable", shared}, {"database.url=postgresql:///d?host=/run/pg", shared}, {"database.wait=none"},
		{"redis.url=rediss://:p@h"}, {"redis.url=redis://h:6379/1", "redis.password_file=p"},
		{"placement.replicas=2", "backends=[{name: a, kind: dir, path: a},{name: b, kind: s3, s3: {bucket: bbb, prefix: a/b/}}]"},
		{"backends=[{name: a, kind: s3, s3: {endpoint: 'http://127.0.0.1:7070', bucket: bbb, access_key: a, secret_key_file: f}},{name: b, kind: s3, s3: {bucket: bbb}}]"},
		{"reclaim.grace.heartbeat=1ms"}, {"reclaim.grace.heartbeat=100ms", "database.url=postgres://u:p@h:5432/d", shared},
		{"reclaim.verify.schedule=every 1ms"}, {"store.min_part_size=1B"}, {"backends=[{name: a, kind: dir, path: a},{name: b, kind: dir, path: ab}]"},
	} {
		if _, err := Load("", nil, settings...); err != nil {
			t.Errorf("%v: %v", settings, err)
		}
	}
}

// A beat gives PostgreSQL half of its time to answer; a question that is cut off costs a connection.
func TestAHeartbeatOfPostgreSQLIsNotTooShort(t *testing.T) {
	_, err := Load("", nil, "reclaim.grace.heartbeat=99ms", "database.url=postgres://u:p@h:5432/d", "backends=[{name: a, kind: dir, path: /shared}]")
	if err == nil || !strings.Contains(err.Error(), "reclaim.grace.heartbeat: is 99ms; use at least 100ms with PostgreSQL, which has half of it to answer") {
		t.Error(err)
	}
}

func TestValidateServices(t *testing.T) {
	s3 := func(keys string) string { return "backends=[{name: a, kind: s3, s3: {bucket: bytes, " + keys + "}}]" }
	saysWhatToDo(t, map[string]string{
		"roles=":                                               "roles: there is none; use serve, reclaim or both",
		"roles=serve,clean":                                    `roles[1]: "clean" is not known`,
		"roles=serve,serve":                                    `roles[1]: "serve" stands there twice`,
		"database.schema=my-schema":                            "database.schema: \"my-schema\" does not do",
		"database.connections=1":                               "database.connections: is 1; use 2 to 1000",
		"database.engine_connections=0":                        "database.engine_connections: is 0",
		"database.url_file=/run/url":                           "backends[0].path: \"blobs\" lies in the data directory of this instance alone; with database.url use kind s3",
		"redis.kind=many":                                      "redis.kind: \"many\" is not known",
		"redis.timeout=none":                                   "redis.timeout: is none; use 1ms to 10s",
		"redis.max_value=1GiB":                                 "redis.max_value: is 1GiB; use 1B to 512MiB",
		"redis.url=localhost:6379":                             "redis.url: is no address of a Redis; use one such as redis://",
		"redis.password_file=/run/p":                           "redis.password_file: is set without redis.url",
		"placement.strategy=random":                            `placement.strategy: "random" is not known; use pack`,
		"placement.threshold=2":                                "placement.threshold: is 2; use a share",
		"placement.max_move=none":                              "placement.max_move: is none",
		"placement.replicas=0":                                 "placement.replicas: is 0; use 1 to 16",
		"placement.replicas=2":                                 "placement.replicas: is 2, but there are only 1 backends",
		"backends=[{name: a, kind: s3}]":                       `backends[0].s3.bucket: "" is no name of a bucket`,
		s3("endpoint: s3.example.org"):                         "backends[0].s3.endpoint: is no address of an S3 service; use a URL",
		s3("endpoint: 'https://u:hunter2@x'"):                  "without user, ? and #",
		s3("region: US"):                                       "backends[0].s3.region",
		s3("prefix: lethe"):                                    "with a slash at its end",
		s3("prefix: /lethe/"):                                  "with a slash at its end",
		s3("access_key: a"):                                    "only one of access_key and secret_key is set",
		s3("secret_key: hunter2"):                              "only one of access_key and secret_key is set",
		s3("access_key: a, secret_key: b, secret_key_file: c"): "is set as well as secret_key",
		s3("part_size: 1MiB"):                                  "use 5MiB to 512MiB",
		s3("timeout: 10ms"):                                    "use at least 1s",
		s3("max_batch: 1001"):                                  "use 1 to 1000",
		s3("concurrency: 0"):                                   "use 1 to 1000",
		"backends=[{name: a, kind: s3, path: x, s3: {bucket: bytes}}]":                                         "backends[0].path: is of a backend of kind dir",
		"backends=[{name: a, kind: dir, path: x, s3: {bucket: bytes}}]":                                        "backends[0].s3: is of a backend of kind s3",
		"backends=[{name: a, kind: s3, s3: {bucket: bbb}},{name: b, kind: s3, s3: {bucket: bbb, prefix: x/}}]": "backends[1].s3.prefix: \"bbb/x/\" is the place of another backend",
	})
}

func TestDatabaseURL(t *testing.T) {
	for _, url := range []string{"lethe.db", "postgres://", "mysql://u:hunter2@h/d"} {
		_, err := Load("", nil, "database.url="+url, "backends=[{name: a, kind: dir, path: /shared}]")
		var problems Problems
		if !errors.As(err, &problems) || len(problems) != 1 || strings.Contains(err.Error(), "hunter2") ||
			!strings.Contains(err.Error(), "database.url: is no address of a PostgreSQL database; use one such as postgres://") {
			t.Errorf("%s: %v", url, err)
		}
	}
}

func TestOnePlaceForASecret(t *testing.T) {
	_, err := Load("", nil, "database.url=postgres://u:hunter2@h/d", "database.url_file=/run/url")
	if err == nil || !strings.Contains(err.Error(), "database.url_file: is set as well as database.url") || strings.Contains(err.Error(), "hunter2") {
		t.Error(err)
	}
}

// By default small contents lie in the ledger only where their files would lie beside it.
func TestInlineUpTo(t *testing.T) {
	for settings, want := range map[string]int64{
		"": 4096, "store.inline=auto": 4096, "store.inline=none": 0, "store.inline=1KiB placement.replicas=2": 1024,
		"placement.replicas=2": 0, "database.url=postgres://u@h/d": 0, "database.url_file=/run/url": 0,
		"backends=[{name: a, kind: dir, path: here}]": 4096, "backends=[{name: a, kind: dir, path: /mnt/a}]": 0, "backends=[{name: a, kind: dir, path: ../a}]": 0,
		"backends=[{name: a, kind: s3, s3: {bucket: b}}]": 0,
	} {
		c, split := Default(), strings.Fields(settings)
		if strings.HasPrefix(settings, "backends") {
			split = []string{settings}
		}
		for _, setting := range split {
			key, value, _ := strings.Cut(setting, "=")
			if err := c.Set(key, value); err != nil {
				t.Fatal(err)
			}
		}
		if got := c.InlineUpTo(); got != want {
			t.Errorf("%s: %d, want %d", settings, got, want)
		}
	}
}
