package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/lethe-storage/lethe/internal/app"
	"github.com/lethe-storage/lethe/internal/config"
)

func (c *cli) restoreCommand() *cobra.Command {
	var replace, yes bool
	cmd := &cobra.Command{
		Use: "restore file", Short: "Restore a backup of the ledger into a data folder that no server uses",
		Long: `Restore a backup of the ledger into the data folder. The backends are newer than the
backup: they have bytes written since and lack bytes deleted since. So the restored
store serves, but deletes nothing until "lethe backend accept".`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return c.restore(cmd.Context(), args[0], replace, yes) },
	}
	yesFlag(cmd, &yes)
	cmd.Flags().BoolVar(&replace, "replace", false, "keep the existing ledger under another name instead of refusing")
	return cmd
}

func (c *cli) restore(ctx context.Context, file string, replace, yes bool) error {
	conf, err := c.load()
	if err != nil {
		return err
	}
	if err := c.confirmed(yes, func() (string, error) { return ofRestore(ctx, conf, file, replace) }); err != nil {
		return err
	}
	done, err := app.Restore(ctx, conf, file, replace)
	if errors.Is(err, app.ErrInUse) {
		return fmt.Errorf("%w: a backup cannot be restored under a running server", err)
	}
	if err != nil {
		return err
	}
	if done.Kept != "" {
		printf(c.out, "the previous ledger is kept as %s\n", done.Kept)
	}
	printf(c.out, "restored store %s from %s\n", done.Store.ID, file)
	if lacks := lacking(conf); len(lacks) > 0 {
		printf(c.out, "\nNot in the backup, and needed: put them back first:\n")
		if err := columns(c.out, lacks); err != nil {
			return err
		}
	}
	return c.restored(conf)
}

// lacking lists what a restored store needs beside its ledger and does not have, with the reason.
func lacking(conf *config.Config) (rows [][]string) {
	gone := func(path string) bool {
		_, err := os.Stat(path)
		return errors.Is(err, fs.ErrNotExist)
	}
	if path := app.CredentialsPath(conf.DataDir); conf.Root.AccessKey == "" && gone(path) {
		rows = append(rows, []string{"  " + shown(path), "or the next start makes another root key, and clients with the old one are refused"})
	}
	for _, b := range conf.Backends {
		if path := conf.InDataDir(b.Path); b.Kind == "dir" && gone(path) {
			rows = append(rows, []string{"  " + shown(path), "the bytes of backend " + b.Name})
		}
	}
	return rows
}

// restored shows the next steps after a ledger was restored.
func (c *cli) restored(conf *config.Config) error {
	printf(c.out, "\nDeletes are stopped on all backends, because they are newer than the ledger. Next:\n")
	steps := [][]string{
		{"  " + c.command("serve"), "serves; nothing is deleted"},
		{"  " + c.command("check"), "shows what was written or deleted since the backup"},
	}
	for _, b := range conf.Backends {
		steps = append(steps, []string{"  " + c.command("backend", "accept", b.Name), "resumes deletes there"})
	}
	return columns(c.out, steps)
}
