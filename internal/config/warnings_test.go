package config

import (
	"strings"
	"testing"
)

// Only listeners of operators that others can reach without TLS cause a warning.
func TestWarningsOfOpenListeners(t *testing.T) {
	for _, c := range []struct {
		settings []string
		warned   bool
	}{
		{nil, false},
		{[]string{"server.admin.listen=127.0.0.1:9003"}, false},
		{[]string{"server.admin.listen=[::1]:9003"}, false},
		{[]string{"server.admin.listen=localhost:9003"}, false},
		{[]string{"server.admin.listen=:9003"}, true},
		{[]string{"server.admin.listen=0.0.0.0:9003"}, true},
		{[]string{"server.admin.listen=[::]:9003"}, true},
		{[]string{"server.admin.listen=10.1.2.3:9003"}, true},
		{[]string{"server.admin.listen=lethe.example.org:9003"}, true},
		{[]string{"server.admin.listen=:9003", "server.admin.public_url=http://lethe.example.org"}, true},
		{[]string{"server.admin.listen=:9003", "server.admin.public_url=https://lethe.example.org"}, false},
		{[]string{"server.admin.listen=:9003", "server.admin.tls.cert=c.pem", "server.admin.tls.key=k.pem"}, false},
		{[]string{"server.s3.listen=:9000", "server.metrics.listen=:9002"}, false},
		{[]string{"server.console.listen=:9004"}, true},
		{[]string{"server.console.listen=:9004", "console.enabled=false"}, false},
		{[]string{"server.console.listen=:9004", "server.console.public_url=https://lethe.example.org"}, false},
		{[]string{"console.hosts=lethe.example.org"}, true},
		{[]string{"console.hosts=lethe.example.org", "server.console.public_url=http://lethe.example.org"}, true},
		{[]string{"console.hosts=lethe.example.org", "server.console.public_url=https://lethe.example.org"}, false},
		{[]string{"console.hosts=lethe.example.org", "server.trusted_proxies=10.0.0.0/8"}, false},
		{[]string{"console.hosts=lethe.example.org", "server.console.listen=off"}, false},
	} {
		conf, err := Load("", nil, c.settings...)
		if err != nil {
			t.Fatal(err)
		}
		if list := conf.Warnings(); (len(list) > 0) != c.warned || c.warned && !strings.Contains(strings.ToLower(list[0]), "tls") {
			t.Errorf("%v: %q", c.settings, list)
		}
	}
}
