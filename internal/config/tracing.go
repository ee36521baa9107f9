package config

import (
	"net/url"
	"slices"
)

// Tracing is the destination of traces (OpenTelemetry, OTLP over HTTP).
type Tracing struct {
	Enabled bool `yaml:"enabled"`
	// Endpoint is the URL of a collector; empty for OTEL_EXPORTER_OTLP_ENDPOINT
	// and the like, else http://localhost:4318.
	Endpoint     string  `yaml:"endpoint"`
	SampleRatio  float64 `yaml:"sample_ratio"`  // of traces that begin here
	AcceptParent bool    `yaml:"accept_parent"` // go on with traces of clients
	Names        bool    `yaml:"names"`         // show buckets, keys and texts of errors
}

// Validate reports what is wrong, of type Problems.
func (t Tracing) Validate() error {
	var p Problems
	t.validate(&p)
	return p.err()
}

func (t Tracing) validate(p *Problems) {
	u, err := url.Parse(t.Endpoint)
	whole := err == nil && slices.Contains([]string{"http", "https"}, u.Scheme) && u.Hostname() != "" && u.User == nil
	p.check(t.Endpoint == "" || whole, "tracing.endpoint",
		"is no address of a collector; use one such as http://127.0.0.1:4318, and OTEL_EXPORTER_OTLP_HEADERS for what it asks of you")
	p.check(t.SampleRatio >= 0 && t.SampleRatio <= 1, "tracing.sample_ratio", "is %g; use a share between 0 and 1, such as 0.1", t.SampleRatio)
}
