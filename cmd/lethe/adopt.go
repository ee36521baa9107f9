package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/lethe-storage/lethe/cmd/lethe/app"
)

func (c *cli) adoptCommand() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use: "adopt", Short: "Say that the ledger that lies here was restored or copied",
		Long: `Say that the ledger of the configuration (database.url), or of a data folder that
no server uses, was put there by other means than "lethe restore": by pg_restore, a
base backup, a snapshot of a disk. It gets a new identity, and nothing is deleted
until "lethe backend accept". Do so before it is served for the first time.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.adopt(cmd.Context(), yes) },
	}
	yesFlag(cmd, &yes)
	return cmd
}

func (c *cli) adopt(ctx context.Context, yes bool) error {
	conf, err := c.load()
	if err != nil {
		return err
	}
	if err := c.confirmed(yes, func() (string, error) { return ofAdoption(ctx, conf) }); err != nil {
		return err
	}
	store, err := app.Adopt(ctx, conf)
	if errors.Is(err, app.ErrInUse) {
		return fmt.Errorf("%w: a ledger cannot be adopted under a running server", err)
	}
	if err != nil {
		return err
	}
	printf(c.out, "store %s is adopted\n", store.ID)
	return c.restored(conf)
}
