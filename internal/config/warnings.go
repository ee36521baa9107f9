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
	return out
}

// open reports whether the listener is reachable from other machines, with no TLS
// of its own and no https public_url.
func (l Listener) open() bool {
	if _, unix := l.Unix(); unix || l.Off() || l.TLS.On() || strings.HasPrefix(strings.ToLower(l.PublicURL), "https://") {
		return false
	}
	host, _, err := net.SplitHostPort(l.Listen)
	if err != nil || strings.EqualFold(host, "localhost") {
		return false
	}
	ip := net.ParseIP(host)
	return ip == nil || !ip.IsLoopback()
}
