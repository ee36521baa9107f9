package config

import (
	"fmt"
	"net"
	"strings"
)

// Warnings returns what is valid and likely a mistake, each with what to do.
func (c *Config) Warnings() []string {
	var out []string
	if l := c.Server.Admin; l.open() {
		out = append(out, fmt.Sprintf("server.admin.listen is %s without TLS: tokens that let their holders delete everything cross the network in the clear; "+
			"set server.admin.tls, listen on unix: or 127.0.0.1, or name the https:// address of the proxy before it as server.admin.public_url", l.Listen))
	}
	if l := c.Server.Console; c.Console.Enabled && l.open() {
		out = append(out, fmt.Sprintf("server.console.listen is %s without TLS: the root key and tokens cross the network in the clear; "+
			"set server.console.tls, listen on 127.0.0.1, or name the https:// address of the proxy before it as server.console.public_url", l.Listen))
	}
	if l := c.Server.Console; c.Console.Enabled && !l.Off() && len(c.Console.Hosts) > 0 && !l.TLS.On() && !l.open() && !l.secure() && len(c.Server.TrustedProxies) == 0 {
		out = append(out, fmt.Sprintf("console.hosts has %s, and nothing says that browsers reach it by TLS: its cookies may cross the network in the clear; "+
			"name its https:// address as server.console.public_url, or the proxy as server.trusted_proxies", strings.Join(c.Console.Hosts, ", ")))
	}
	return out
}

// secure reports whether clients reach the listener by TLS that somebody else ends.
func (l Listener) secure() bool { return strings.HasPrefix(strings.ToLower(l.PublicURL), "https://") }

// open reports whether the listener is reachable from other machines, with no TLS
// of its own and no https public_url.
func (l Listener) open() bool {
	if _, unix := l.Unix(); unix || l.Off() || l.TLS.On() || l.secure() {
		return false
	}
	host, _, err := net.SplitHostPort(l.Listen)
	if err != nil || strings.EqualFold(host, "localhost") {
		return false
	}
	ip := net.ParseIP(host)
	return ip == nil || !ip.IsLoopback()
}
