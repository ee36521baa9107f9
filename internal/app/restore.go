package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/config"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/sqlledger"
)

// Restored is the result of a restore.
type Restored struct {
	Store ledger.Store
	// Kept is the path of the replaced ledger; empty if there was none.
	Kept string
}

// Restore puts a backup of the ledger into the data folder, creating it if needed.
// The backup is checked, and gets a new identity; the deletes on all backends are
// held. The folder changes only once that is done. An existing ledger is refused,
// or with replace kept under another name. Errors: ErrInUse, lethe.ErrCorrupt.
func Restore(ctx context.Context, c *config.Config, file string, replace bool) (out Restored, err error) {
	if c.Database.On() {
		return out, errOwnTools
	}
	if err := sqlledger.CheckFile(ctx, file); err != nil {
		return out, fmt.Errorf("%s is not a valid backup: %w", file, err)
	}
	lock, err := LockDataDir(c.DataDir, true)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	path := LedgerPath(c.DataDir)
	if err := MayRestore(c, replace); err != nil {
		return out, err
	}
	fresh := path + ".restoring"
	defer func() { err = errors.Join(err, removeLedger(fresh)) }()
	if err := errors.Join(removeLedger(fresh), sqlledger.CopyFile(ctx, file, fresh)); err != nil {
		return out, err
	}
	if out.Store, err = sqlledger.Accept(ctx, fresh, ledger.Options{}); err != nil {
		return out, err
	}
	if exists(path) {
		out.Kept = path + ".replaced-" + string(lethe.RandomID(lethe.SystemClock{}.Now()))
		if err := moveLedger(path, out.Kept); err != nil {
			return out, err
		}
	}
	if err := moveLedger(fresh, path); err != nil {
		return out, err
	}
	return out, syncFolder(c.DataDir)
}

// errOwnTools is the error of a restore into PostgreSQL.
var errOwnTools = errors.New("the ledger is in PostgreSQL; restore it with its tools (pg_restore, or a base backup); " +
	"then, before a server uses it, run \"lethe ledger accept\", which stops deletes until \"lethe backend accept\"")

// MayRestore returns an error if the configuration leaves no place for a restored ledger.
func MayRestore(c *config.Config, replace bool) error {
	if c.Database.On() {
		return errOwnTools
	}
	if exists(LedgerPath(c.DataDir)) && !replace {
		return fmt.Errorf("%s has a ledger already: restore into another folder, or add --replace to keep the old one under another name", c.DataDir)
	}
	return nil
}

// AcceptLedger gives the ledger of the configuration a new identity, and holds the
// deletes on all backends until an operator accepts them. It is for a ledger that
// was restored or copied by other means than Restore. Errors: ErrInUse, ErrNoStore,
// and those of opening it.
func AcceptLedger(ctx context.Context, c *config.Config) (out ledger.Store, err error) {
	if c.Database.On() {
		url, o, err := database(c.Database)
		if err != nil {
			return out, err
		}
		return sqlledger.AcceptPostgres(ctx, url, ledger.Options{}, sqlledger.Postgres(o))
	}
	lock, err := LockDataDir(c.DataDir, false)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	path := LedgerPath(c.DataDir)
	if !exists(path) {
		return out, fmt.Errorf("%w in %s", ErrNoStore, c.DataDir)
	}
	return sqlledger.Accept(ctx, path, ledger.Options{})
}

// ledgerFiles are the files beside the ledger of SQLite and of the ledger's
// lock.
var ledgerFiles = []string{"-wal", "-shm", ".lock", ""}

func removeLedger(path string) error {
	var errs []error
	for _, suffix := range ledgerFiles {
		if err := os.Remove(path + suffix); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// moveLedger moves a closed ledger, with its log if a crash left one.
func moveLedger(from, to string) error {
	for _, suffix := range ledgerFiles {
		if err := os.Rename(from+suffix, to+suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
