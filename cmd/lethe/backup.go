package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/internal/words"
	"github.com/lethe-storage/lethe/ledger/sqlledger"
)

func (c *cli) backupCommand() *cobra.Command {
	return &cobra.Command{
		Use: "backup file", Short: "Write a consistent copy of the ledger, also while the server runs",
		Long: `Write a consistent copy of the ledger: every object, key and setting as of one
instant. It includes the bytes of objects that lie in the ledger (store.inline), and
not those on backends. The file has the secrets of access keys, so only its owner can read it.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withAdmin(cmd.Context(), func(client *api.Client) error {
				n, err := backupTo(cmd.Context(), client, args[0])
				if err != nil {
					return err
				}
				s, err := client.Status(cmd.Context())
				if err != nil {
					return err
				}
				with := ""
				if s.Inline.Contents > 0 {
					with = fmt.Sprintf(", with %s of objects that lie in the ledger", words.Size(s.Inline.Bytes))
				}
				_, err = printf(c.out, "backup of %s in %s, checked%s\n", words.Size(n), args[0], with)
				return err
			})
		},
	}
}

// backupTo writes the copy under another name, checks it, and then names it.
func backupTo(ctx context.Context, client *api.Client, path string) (n int64, err error) {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("%s exists or cannot be read: choose another name, or remove it", path)
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*") // mode 0600
	if err != nil {
		return 0, fmt.Errorf("%s cannot be written: %w", path, errors.Unwrap(err)) // that of the system: the name is another
	}
	n, err = client.Backup(ctx, f)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = sqlledger.CheckFile(ctx, f.Name())
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return 0, errors.Join(err, os.Remove(f.Name()))
	}
	return n, nil
}
