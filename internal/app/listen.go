package app

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"golang.org/x/net/netutil"

	"github.com/lethe-storage/lethe/internal/config"
	"github.com/lethe-storage/lethe/internal/netlimit"
	"github.com/lethe-storage/lethe/s3/gateway"
)

// Bounds of the HTTP servers for operators and pastes.
const (
	headerTimeout = 10 * time.Second
	idleTimeout   = 2 * time.Minute
	writeTimeout  = 2 * time.Minute // for one write
	maxHeader     = 64 << 10
)

// bodyWindow is the time over which the minimum rate of bodies is averaged.
const bodyWindow = 30 * time.Second

// bodyPace is the minimum rate of bodies.
func (a *App) bodyPace() netlimit.Pace {
	return netlimit.Pace{PerSecond: int64(a.Config.Server.MinBodyRate), Window: bodyWindow}
}

// web is an HTTP server with its listener.
type web struct {
	name  string
	ln    net.Listener
	srv   *http.Server
	log   *slog.Logger
	cut   context.CancelFunc // ends all requests
	calls sync.WaitGroup     // requests in progress
}

// listen opens a listener of the configuration.
func (a *App) listen(ctx context.Context, name string, l config.Listener) (net.Listener, error) {
	if path, ok := l.Unix(); ok {
		return listenUnix(ctx, a.Config.InDataDir(path))
	}
	ln, err := bind(ctx, name, l)
	if err != nil {
		return nil, err
	}
	c := a.Config.Server
	// Within the limit of all, so that connections beyond the limit of one address
	// do not wait.
	ln = netlimit.Listen(netutil.LimitListener(ln, c.MaxConnections),
		netlimit.Options{PerAddress: c.MaxPerAddress, Exempt: prefixes(c.TrustedProxies), WriteTimeout: writeTimeout})
	if !l.TLS.On() {
		return ln, nil
	}
	certificates, err := gateway.LoadCertificates(l.TLS.Cert, l.TLS.Key, a.watch.front())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("server.%s.tls: %w", name, err), ln.Close())
	}
	return tls.NewListener(ln, &tls.Config{
		GetCertificate: certificates.GetCertificate, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
	}), nil
}

// bind listens on the TCP address of a listener.
func bind(ctx context.Context, name string, l config.Listener) (net.Listener, error) {
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", l.Listen)
	if err != nil {
		off := ""
		if name == "console" || name == "paste" || name == "metrics" {
			off = ", or off"
		}
		return nil, fmt.Errorf("server.%s.listen: %w; choose another address with --set server.%s.listen=host:port%s", name, err, name, off)
	}
	return ln, nil
}

// canListen tries the addresses of a first start, so that one that fails leaves no data folder.
// With a folder, what is wrong there is said first: another process may have both.
func canListen(ctx context.Context, c *config.Config) error {
	if _, err := os.Lstat(c.DataDir); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	all := map[string]config.Listener{"metrics": c.Server.Metrics, "admin": c.Server.Admin}
	if c.Has(config.RoleServe) {
		all["s3"] = c.Server.S3
		if c.Paste.Enabled {
			all["paste"] = c.Server.Paste
		}
		if c.Console.Enabled {
			all["console"] = c.Server.Console
		}
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if _, unix := all[name].Unix(); unix || all[name].Off() {
			continue
		}
		ln, err := bind(ctx, name, all[name])
		if err != nil {
			return err
		}
		discard(ln)
	}
	return nil
}

// listenUnix opens a socket that only its owner can connect to. It replaces a
// socket that a dead process left, but not one that answers, nor a file.
func listenUnix(ctx context.Context, path string) (net.Listener, error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, fmt.Errorf("admin socket: %w", err)
	case info.Mode().Type() != fs.ModeSocket:
		return nil, fmt.Errorf("admin socket: %s exists and is not a socket; move it, or set server.admin.listen", path)
	default:
		if c, err := new(net.Dialer).DialContext(ctx, "unix", path); err == nil {
			discard(c)
			return nil, fmt.Errorf("admin socket: another process answers on %s; stop it, or set server.admin.listen", path)
		}
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("admin socket: %w", err)
		}
	}
	var ln net.Listener
	err = privately(func() (err error) {
		ln, err = new(net.ListenConfig).Listen(ctx, "unix", path)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("admin socket: %w", err)
	}
	return ln, nil
}

// serve starts an HTTP server for a handler.
func (a *App) serve(ctx context.Context, name string, l config.Listener, h http.Handler) error {
	ln, err := a.listen(ctx, name, l)
	if err != nil {
		return err
	}
	base, cut := context.WithCancel(context.Background())
	w := &web{name: name, ln: ln, cut: cut, log: a.opt.Log}
	w.srv = &http.Server{
		Handler: w.counted(endingAfterChunks(a.bodyPace().Bodies(h))), ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		BaseContext: func(net.Listener) context.Context { return base },
		ErrorLog:    slog.NewLogLogger(a.opt.Log.With("server", name).Handler(), slog.LevelDebug),
	}
	a.webs = append(a.webs, w)
	a.closing(func() error {
		cut()
		// Serve has closed it, unless it never began.
		discard(ln)
		return nil
	})
	return nil
}

// endingAfterChunks closes a connection after a request whose body came in chunks.
// The server ignores a Content-Length beside them, and a proxy may not: what it
// takes for the rest of the body must never be read as a request.
func endingAfterChunks(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor == 1 && len(r.TransferEncoding) > 0 {
			w.Header().Set("Connection", "close")
		}
		h.ServeHTTP(w, r)
	})
}

func (w *web) run() error {
	if err := w.srv.Serve(w.ln); err != nil && !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("server.%s: %w", w.name, err)
	}
	return nil
}

// counted counts requests in flight, and logs one that ends in a panic: the
// client's connection ends with it.
func (w *web) counted(h http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.calls.Add(1)
		defer w.calls.Done()
		defer func() {
			if p := recover(); p != nil {
				if p != http.ErrAbortHandler {
					w.log.Error("a request ended in a panic", "server", w.name, "method", r.Method, "path", r.URL.Path,
						"panic", fmt.Sprint(p), "stack", string(debug.Stack()))
				}
				panic(http.ErrAbortHandler)
			}
		}()
		h.ServeHTTP(rw, r)
	})
}

// stop lets open requests finish until ctx ends, cuts off the rest, and waits until
// nothing uses the store any more.
func (w *web) stop(ctx context.Context) {
	if err := w.srv.Shutdown(ctx); err != nil {
		w.cut()
		discard(w.srv)
		w.calls.Wait()
	}
}
