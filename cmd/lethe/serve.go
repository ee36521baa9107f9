package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lethe-storage/lethe/internal/app"
	"github.com/lethe-storage/lethe/internal/config"
)

func (c *cli) serveCommand() *cobra.Command {
	var roles []string
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the store",
		Long: `Run the store until SIGTERM or SIGINT: the S3 endpoint, pastes, the admin
socket, metrics, and the engine that reclaims. Without a configuration the data
is in ./lethe-data, and the root key is generated there at the first start.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if len(roles) > 0 {
				c.settings = append(c.settings, "roles="+strings.Join(roles, ","))
			}
			return c.serve(cmd.Context())
		},
	}
	cmd.Flags().StringSliceVar(&roles, "roles", nil, "what this process does: `serve,reclaim` (default: that of the configuration, both)")
	return cmd
}

func (c *cli) serve(ctx context.Context) (err error) {
	conf, from, err := c.loadWithSources()
	if err != nil {
		return err
	}
	command := c.elsewhere(conf).command
	level := new(slog.LevelVar)
	log := app.NewLogger(conf.Log, c.err, level)
	for _, text := range conf.Warnings() {
		log.Warn(text)
	}
	for _, name := range config.UnknownEnviron(os.Environ()) {
		log.Warn("an environment variable sets nothing", "variable", name)
	}
	a, err := app.New(ctx, conf, hooked(app.Options{Log: log, Level: level, Version: versionText(), Reload: c.load, Sources: from, Command: command}))
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		log.Info("stopped before it served")
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	go func() {
		select {
		case <-a.Ready():
			a.Greet(c.out)
		case <-ctx.Done():
		}
	}()
	return a.Run(ctx)
}
