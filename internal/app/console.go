package app

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"

	"github.com/lethe-storage/lethe/admin/service"
	"github.com/lethe-storage/lethe/console"
	"github.com/lethe-storage/lethe/internal/config"
)

// openConsole serves the operator's pages, where requests of clients are served too.
func (a *App) openConsole(ctx context.Context) error {
	c, l := a.Config.Console, a.Config.Server.Console
	if !c.Enabled || l.Off() || !a.Config.Has(config.RoleServe) {
		return nil
	}
	access := service.Access{RootKey: a.Root.Access, RootSecret: a.Root.Secret.Reveal(), TrustedProxies: prefixes(a.Config.Server.TrustedProxies)}
	if _, unix := a.Config.Server.Admin.Unix(); !unix {
		secret, err := adminToken(a.Config.DataDir)
		if err != nil {
			return err
		}
		access.Token = secret.Reveal()
	}
	hosts, secure, anyAddress := consoleHosts(c, l)
	settings, err := a.Config.Values(a.opt.Sources)
	if err != nil {
		return err
	}
	h, err := console.New(console.Options{
		Operators: service.NewOperators(a.admin, access), Objects: tracedObjects{a.Objects, a.watch.trace}, Buckets: a.front.server.Operator(),
		Links: console.Links{
			Endpoint: a.endpoint, Region: a.Config.Server.Region, Access: a.Root.Access, Secret: a.Root.Secret.Reveal(),
		},
		Hosts: hosts, Secure: secure, AnyAddress: anyAddress, Idle: c.Idle.Std(), Lifetime: c.Lifetime.Std(),
		Settings: settingsShown(settings),
		Command:  a.opt.Command, Clock: a.opt.Clock, Stopwatch: a.opt.Stopwatch,
		Failed: func(path string, err error) {
			a.opt.Log.Warn("a page of the console failed", "path", path, "error", err)
		},
	})
	if err != nil {
		return err
	}
	a.closing(func() error {
		h.Wait()
		return nil
	})
	return a.serve(ctx, "console", l, a.watch.tracedWeb("console", consoleCall, h))
}

// instanceName names this process for people where others may share its ledger; empty: none do.
func (s *Store) instanceName() string {
	if !s.shared() {
		return ""
	}
	host, _ := os.Hostname() // empty if there is none
	return strings.TrimSpace(host + " " + s.worker)
}

func settingsShown(values []config.Value) []console.Setting {
	out := make([]console.Setting, len(values))
	for i, v := range values {
		out[i] = console.Setting{Key: v.Path, Value: v.Text, From: v.From}
	}
	return out
}

// endpoint returns the URL of the S3 server, empty until it is ready.
func (a *App) endpoint() string {
	select {
	case <-a.ready:
		return a.urls.S3
	default:
		return ""
	}
}

// consoleHosts are the names by which browsers reach the console, and those of them for which
// they use TLS. A listener on all addresses is reached by any of them.
func consoleHosts(c config.Console, l config.Listener) (names, secure []string, anyAddress bool) {
	names = append(names, c.Hosts...)
	if u, err := url.Parse(l.PublicURL); err == nil && u.Hostname() != "" {
		names = append(names, u.Hostname())
		if strings.EqualFold(u.Scheme, "https") {
			secure = append(secure, u.Hostname())
		}
	}
	host, _, err := net.SplitHostPort(l.Listen)
	if err != nil {
		return names, secure, false
	}
	ip, err := netip.ParseAddr(host)
	if host == "" || err == nil && ip.IsUnspecified() {
		return names, secure, true
	}
	return append(names, host), secure, false
}

// consoleCall names the span of a request: by its method, as paths are many.
func consoleCall(r *http.Request) string { return method(r.Method) }
