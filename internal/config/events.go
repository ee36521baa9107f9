package config

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/lethe-storage/lethe/internal/yamlfile"
)

// Events has the targets that are notified when objects come and go. Buckets name the targets.
type Events struct {
	Targets    []EventTarget `yaml:"targets"`
	MaxWaiting int64         `yaml:"max_waiting"` // events of one target, dead letters included
	GiveUp     Duration      `yaml:"give_up"`
	MaxAge     Duration      `yaml:"max_age"`
	BackoffMin Duration      `yaml:"backoff_min"`
	BackoffMax Duration      `yaml:"backoff_max"`
}

// EventTarget is a webhook, or a subject of NATS that a stream keeps.
type EventTarget struct {
	Name            string   `yaml:"name"`
	Kind            string   `yaml:"kind"`    // webhook or nats
	URL             Secret   `yaml:"url"`     // tokens may be a part of it
	Buckets         []string `yaml:"buckets"` // that may use it: names, or beginnings with * after them; empty: all
	Secret          Secret   `yaml:"secret"`  // signs the requests
	SecretFile      string   `yaml:"secret_file"`
	Subject         string   `yaml:"subject"`          // of NATS
	CredentialsFile string   `yaml:"credentials_file"` // of NATS; empty: none
	Private         bool     `yaml:"private"`          // its address may be private or loopback
	Timeout         Duration `yaml:"timeout"`          // of a request
}

// Fill implements yamlfile.Filled.
func (t *EventTarget) Fill() { t.Kind, t.Timeout = "webhook", Duration(10*time.Second) }

// The bounds of targets.
const (
	minEventSecret  = 16 // characters
	maxEventTimeout = Duration(time.Minute)
	maxEventTargets = 100
)

var (
	shortSecret   = fmt.Sprintf("is shorter than %d characters; use a longer one, such as of openssl rand -hex 32", minEventSecret)
	subjectForm   = regexp.MustCompile(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$`)
	bucketPattern = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{0,62}\*?$`)
)

// Key returns the secret that signs, of the file if that is set. Errors name the file.
func (t EventTarget) Key() (Secret, error) {
	key, err := t.Secret.OrFile(t.SecretFile)
	if err == nil && len(key.Reveal()) < minEventSecret {
		err = fmt.Errorf("the secret in %s %s", t.SecretFile, shortSecret)
	}
	return key, err
}

func (e Events) validate(p *Problems) {
	p.check(len(e.Targets) <= maxEventTargets, "events.targets", "are %d; use at most %d", len(e.Targets), maxEventTargets)
	p.check(e.MaxWaiting >= 1, "events.max_waiting", "is %d; use at least 1", e.MaxWaiting)
	p.check(e.BackoffMin > 0 && e.BackoffMin <= e.BackoffMax, "events.backoff_min", "is %s; use at least 1us, and at most backoff_max (%s)", e.BackoffMin, e.BackoffMax)
	p.check(e.MaxAge >= e.GiveUp, "events.max_age", "is %s; use at least give_up (%s)", e.MaxAge, e.GiveUp)
	names := map[string]bool{}
	for i, t := range e.Targets {
		key := fmt.Sprintf("events.targets[%d]", i)
		p.check(nameForm.MatchString(t.Name), key+".name", "%q does not do; use lower-case letters, digits and dashes", yamlfile.Brief(t.Name))
		p.check(!names[t.Name], key+".name", "%q is taken by another target; give each its own", yamlfile.Brief(t.Name))
		names[t.Name] = true
		switch t.Kind {
		case "webhook":
			t.webhook(p, key)
		case "nats":
			t.nats(p, key)
		default:
			p.add(key+".kind", "%q is not known; use webhook or nats", yamlfile.Brief(t.Kind))
		}
		for _, b := range t.Buckets {
			p.check(bucketPattern.MatchString(b), key+".buckets", "%q is neither the name of a bucket nor a beginning of names with * after it, such as team-*", yamlfile.Brief(b))
		}
		p.check(t.Timeout >= Duration(time.Millisecond) && t.Timeout <= maxEventTimeout, key+".timeout", "is %s; use 1ms to %s, such as 10s", t.Timeout, maxEventTimeout)
	}
}

func (t EventTarget) webhook(p *Problems, key string) {
	p.check(isWebhook(t.URL.Reveal()), key+".url", "is no address of a webhook; use a URL such as https://app.example.org/events, without a user and #")
	p.check(t.Secret.IsZero() != (t.SecretFile == ""), key+".secret", "is set %s; set secret or secret_file", map[bool]string{true: "in no way", false: "twice"}[t.Secret.IsZero()])
	p.check(t.Secret.IsZero() || len(t.Secret.Reveal()) >= minEventSecret, key+".secret", "%s", shortSecret)
	p.check(t.Subject == "" && t.CredentialsFile == "", key+".subject", "and credentials_file are of a target of kind nats; this one is a webhook")
}

func (t EventTarget) nats(p *Problems, key string) {
	p.check(isServiceURL(t.URL.Reveal(), "nats", "tls"), key+".url", "is no address of NATS; use a URL such as nats://nats.example.org:4222, or tls://")
	p.check(!strings.Contains(t.URL.Reveal(), ","), key+".url", "has a comma, which NATS takes for the end of an address; write %%2C in a user or password")
	p.check(subjectForm.MatchString(t.Subject), key+".subject", "%q is no subject; use words with dots between them, such as lethe.events", yamlfile.Brief(t.Subject))
	p.check(t.Secret.IsZero() && t.SecretFile == "", key+".secret", "is of a webhook; use credentials_file for NATS")
}

// isWebhook reports whether s is an http(s) URL without credentials.
func isWebhook(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && u.User == nil && u.Fragment == ""
}
