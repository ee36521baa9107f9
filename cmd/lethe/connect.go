package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"strings"
	"time"

	"github.com/lethe-storage/lethe/admin"
	"github.com/lethe-storage/lethe/cmd/lethe/app"
	"github.com/lethe-storage/lethe/internal/config"
)

// dialTime is how long a server has to take a connection.
const dialTime = 5 * time.Second

// withAdmin calls fn with a client of the store's admin API: the server's, if one
// works on the data folder, else one within this process that has the folder for
// itself. A running server is never worked around.
func (c *cli) withAdmin(ctx context.Context, fn func(*admin.Client) error) error {
	conf, err := c.load()
	if err != nil {
		return err
	}
	client, err := running(ctx, conf)
	if err != nil {
		return err
	}
	if client != nil {
		return fn(client)
	}
	return c.offline(ctx, conf, fn)
}

// running answers a client of the server on the data folder, nil if none
// answers.
func running(ctx context.Context, conf *config.Config) (*admin.Client, error) {
	l := conf.Server.Admin
	path, unix := l.Unix()
	network, address := "tcp", strings.TrimPrefix(strings.TrimPrefix(l.URL(), "https://"), "http://")
	client := &admin.Client{Base: l.URL(), HTTP: admin.TCP()}
	if unix {
		path = conf.InDataDir(path)
		network, address = "unix", path
		client = &admin.Client{Base: "http://lethe", HTTP: admin.Unix(path)}
	}
	conn, err := (&net.Dialer{Timeout: dialTime}).DialContext(ctx, network, address)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("the admin socket is its owner's only: %w; run this command as the user that runs the server", err)
	case err != nil:
		return nil, ctx.Err()
	}
	if err := conn.Close(); err != nil || unix {
		return client, err
	}
	token, err := os.ReadFile(app.TokenPath(conf.DataDir))
	if err != nil {
		return nil, fmt.Errorf("something answers on %s, but its token cannot be read: %w", address, err)
	}
	client.Token = strings.TrimSpace(string(token))
	return client, nil
}

// offline opens the data folder in this process.
func (c *cli) offline(ctx context.Context, conf *config.Config, fn func(*admin.Client) error) (err error) {
	s, err := app.OpenStore(ctx, conf, app.Options{Log: c.log(conf), Version: versionText()})
	if errors.Is(err, app.ErrInUse) {
		return fmt.Errorf("%w (its admin API does not answer on %s)", err, conf.Server.Admin.Listen)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	local := &admin.Local{Handler: s.AdminHandler(false, admin.Access{Open: "owner of the data folder"})}
	defer local.Wait()
	return fn(&admin.Client{Base: "http://lethe", HTTP: local})
}

// log is the log of commands that work on a store by themselves. On a terminal
// it leaves out audit lines, as the command itself says what it does.
func (c *cli) log(conf *config.Config) *slog.Logger {
	settings := conf.Log
	if isTerminal(c.err) && settings.Level == "info" {
		settings.Level = "warn"
	}
	return app.NewLogger(settings, c.err, new(slog.LevelVar))
}
