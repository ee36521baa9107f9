package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/lethe-storage/lethe/internal/app"
)

func (c *cli) ledgerCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "ledger", Short: "Take over a ledger that was restored or copied"}
	cmd.AddCommand(c.ledgerAcceptCommand())
	return cmd
}

func (c *cli) ledgerAcceptCommand() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use: "accept", Short: "Confirm that this ledger was restored or copied",
		Long: `Confirm that the ledger of the configuration (database.url), or of a data folder that
no server uses, was restored without "lethe restore": by pg_restore, a base backup or
a disk snapshot. It gets a new identity, and nothing is deleted until
"lethe backend accept". Do this before you start a server on it.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.acceptLedger(cmd.Context(), yes) },
	}
	yesFlag(cmd, &yes)
	return cmd
}

func (c *cli) acceptLedger(ctx context.Context, yes bool) error {
	conf, err := c.load()
	if err != nil {
		return err
	}
	if err := c.confirmed(yes, func() (string, error) { return ofAcceptance(ctx, conf) }); err != nil {
		return err
	}
	store, err := app.AcceptLedger(ctx, conf)
	if errors.Is(err, app.ErrInUse) {
		return fmt.Errorf("%w: a ledger cannot be accepted under a running server", err)
	}
	if err != nil {
		return err
	}
	printf(c.out, "store %s is accepted\n", store.ID)
	return c.restored(conf)
}
