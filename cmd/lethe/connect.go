package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/admin/service"
	"github.com/lethe-storage/lethe/internal/app"
	"github.com/lethe-storage/lethe/internal/config"
)

// dialTime is the timeout for connecting to a server.
const dialTime = 5 * time.Second

// Variables of the environment for the server's address and the token.
const (
	serverEnv = "LETHE_ADMIN_SERVER"
	tokenEnv  = "LETHE_ADMIN_TOKEN"
)

// withAdmin calls fn with a client of the store's admin API: of the server on
// the data folder, if there is one, else of one within this process that has
// exclusive use of the folder. A running server is never bypassed.
func (c *cli) withAdmin(ctx context.Context, fn func(*api.Client) error) error {
	if c.server != "" {
		client, err := c.remote()
		if err != nil {
			return err
		}
		return fn(client)
	}
	conf, err := c.load()
	if err != nil {
		return err
	}
	client, err := c.running(ctx, conf)
	if err != nil {
		return err
	}
	if client != nil {
		return fn(client)
	}
	return c.offline(ctx, conf, fn)
}

// remote returns a client of the server that was named.
func (c *cli) remote() (*api.Client, error) {
	if path, ok := strings.CutPrefix(c.server, "unix:"); ok {
		return &api.Client{Base: "http://lethe", HTTP: api.Unix(path), Token: c.givenToken()}, nil
	}
	u, err := url.Parse(c.server)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("--server %q is not a URL such as https://lethe.example.org:9003, nor unix: and a path", c.server)
	}
	if c.givenToken() == "" {
		return nil, fmt.Errorf("the admin API of %s needs a token: make one on that machine with \"lethe token\", and set %s to it", u.Host, tokenEnv)
	}
	return &api.Client{Base: strings.TrimRight(c.server, "/"), HTTP: api.TCP(), Token: c.givenToken()}, nil
}

// givenToken is the token given to the command, if any.
func (c *cli) givenToken() string {
	return strings.TrimSpace(cmp.Or(c.token, os.Getenv(tokenEnv)))
}

// running returns a client of the server on the data folder, nil if none
// responds.
func (c *cli) running(ctx context.Context, conf *config.Config) (*api.Client, error) {
	l := conf.Server.Admin
	path, unix := l.Unix()
	network, address := "tcp", strings.TrimPrefix(strings.TrimPrefix(l.URL(), "https://"), "http://")
	client := &api.Client{Base: l.URL(), HTTP: api.TCP()}
	if unix {
		path = conf.InDataDir(path)
		network, address = "unix", path
		client = &api.Client{Base: "http://lethe", HTTP: api.Unix(path)}
	}
	conn, err := (&net.Dialer{Timeout: dialTime}).DialContext(ctx, network, address)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("only its owner may use the admin socket: %w; run this command as the user of the server", err)
	case err != nil:
		return nil, ctx.Err()
	}
	client.Token = c.givenToken()
	if err := conn.Close(); err != nil || unix || client.Token != "" {
		return client, err
	}
	if err := app.CheckDataDir(conf.DataDir); err != nil {
		return nil, err
	}
	token, err := os.ReadFile(app.TokenPath(conf.DataDir))
	if err != nil {
		return nil, fmt.Errorf("a server answers on %s, but its token cannot be read: %w", address, err)
	}
	client.Token = strings.TrimSpace(string(token))
	return client, nil
}

// offline opens the data folder in this process.
func (c *cli) offline(ctx context.Context, conf *config.Config, fn func(*api.Client) error) (err error) {
	s, err := app.OpenStore(ctx, conf, hooked(app.Options{Log: c.log(conf), Version: versionText()}))
	if errors.Is(err, app.ErrInUse) {
		return fmt.Errorf("%w (its admin API does not answer on %s)", err, conf.Server.Admin.Listen)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	local := &service.Local{Handler: s.AdminHandler(false, service.Access{Open: "owner of the data folder"})}
	defer local.Wait()
	return fn(&api.Client{Base: "http://lethe", HTTP: local})
}

// log returns the log of commands that work on a store by themselves. On a
// terminal it omits audit lines, since the command shows what it does.
func (c *cli) log(conf *config.Config) *slog.Logger {
	settings := conf.Log
	if isTerminal(c.err) && settings.Level == "info" {
		settings.Level = "warn"
	}
	return app.NewLogger(settings, c.err, new(slog.LevelVar))
}
