package config

import (
	"fmt"
	"net/url"
	"time"

	"github.com/lethe-storage/lethe/internal/yamlfile"
)

// Events is who is told when objects come and go. Buckets name the targets.
type Events struct {
	Targets    []EventTarget `yaml:"targets"`
	MaxWaiting int64         `yaml:"max_waiting"` // events of one target, dead letters included
	GiveUp     Duration      `yaml:"give_up"`
	BackoffMin Duration      `yaml:"backoff_min"`
	BackoffMax Duration      `yaml:"backoff_max"`
}

// EventTarget is a webhook.
type EventTarget struct {
	Name       string   `yaml:"name"`
	URL        string   `yaml:"url"`
	Secret     Secret   `yaml:"secret"` // signs the requests
	SecretFile string   `yaml:"secret_file"`
	Private    bool     `yaml:"private"` // its address may be private or loopback
	Timeout    Duration `yaml:"timeout"` // of a request
}

// Fill implements yamlfile.Filled.
func (t *EventTarget) Fill() { t.Timeout = Duration(10 * time.Second) }

// The bounds of targets.
const (
	minEventSecret  = 16 // characters
	maxEventTimeout = Duration(time.Minute)
	maxEventTargets = 100
)

func (e Events) validate(p *Problems) {
	p.check(len(e.Targets) <= maxEventTargets, "events.targets", "are %d; use at most %d", len(e.Targets), maxEventTargets)
	p.check(e.MaxWaiting >= 1, "events.max_waiting", "is %d; use at least 1", e.MaxWaiting)
	p.check(e.BackoffMin > 0 && e.BackoffMin <= e.BackoffMax, "events.backoff_min", "is %s; use at least 1us, and at most backoff_max (%s)", e.BackoffMin, e.BackoffMax)
	names := map[string]bool{}
	for i, t := range e.Targets {
		key := fmt.Sprintf("events.targets[%d]", i)
		p.check(nameForm.MatchString(t.Name), key+".name", "%q does not do; use lower-case letters, digits and dashes", yamlfile.Brief(t.Name))
		p.check(!names[t.Name], key+".name", "%q is taken by another target; give each its own", yamlfile.Brief(t.Name))
		names[t.Name] = true
		p.check(isWebhook(t.URL), key+".url", "is no address of a webhook; use a URL such as https://app.example.org/events, without a user and #")
		p.check(t.Secret.IsZero() != (t.SecretFile == ""), key+".secret", "is set %s; set secret or secret_file", map[bool]string{true: "in no way", false: "twice"}[t.Secret.IsZero()])
		p.check(t.Secret.IsZero() || len(t.Secret.Reveal()) >= minEventSecret, key+".secret", "is shorter than %d characters; use a longer one, such as of openssl rand -hex 32", minEventSecret)
		p.check(t.Timeout >= Duration(time.Millisecond) && t.Timeout <= maxEventTimeout, key+".timeout", "is %s; use 1ms to %s, such as 10s", t.Timeout, maxEventTimeout)
	}
}

// isWebhook reports whether s is an http(s) URL without credentials.
func isWebhook(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && u.User == nil && u.Fragment == ""
}
