package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

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
	fresh := path + restoring
	defer func() { err = errors.Join(err, removeLedger(fresh)) }()
	if err := errors.Join(removeLedger(fresh), sqlledger.CopyFile(ctx, file, fresh)); err != nil {
		return out, err
	}
	if out.Store, err = sqlledger.Accept(ctx, fresh, ledger.Options{}); err != nil {
		return out, err
	}
	if exists(path) {
		out.Kept = path + replaced + string(lethe.RandomID(lethe.SystemClock{}.Now()))
	}
	for _, step := range replaceSteps(path, out.Kept, fresh) {
		if err := errors.Join(step(), syncFolder(c.DataDir)); err != nil {
			return out, err
		}
	}
	return out, nil
}

// What is appended to the name of the ledger: while a backup becomes it, and once one has replaced it.
const (
	restoring = ".restoring"
	replaced  = ".replaced-"
)

// checkRestored refuses a data folder without a ledger in which a restore did not come to its end:
// a new ledger would take the place of the one that was kept.
func checkRestored(dir string) error {
	files, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("look for an interrupted restore: %w", err)
	}
	for _, f := range files {
		if name := f.Name(); strings.HasPrefix(name, ledgerName+restoring) || strings.HasPrefix(name, ledgerName+replaced) {
			return fmt.Errorf("%w in %s, but %s, which a restore left: run \"lethe restore\" again, or, for an empty store, move that file elsewhere",
				ErrNoStore, dir, name)
		}
	}
	return nil
}

// replaceSteps put a closed ledger in the place of another, which is kept if a name is given. A
// crash between two of them leaves the other whole under one of its names, with the log that an
// earlier crash may have left, and neither ledger beside the log of the other: SQLite would play
// it back. Then the restore can be repeated.
func replaceSteps(path, kept, fresh string) (steps []func() error) {
	if kept != "" {
		steps = append(steps,
			func() error { return unlessAbsent(os.Link(path+"-wal", kept+"-wal")) },
			func() error { return os.Rename(path, kept) },
		)
	}
	return append(steps,
		func() error { return removeLedger(path) }, // what is left beside it
		func() error { return unlessAbsent(os.Rename(fresh+"-wal", path+"-wal")) },
		func() error { return os.Rename(fresh, path) },
	)
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

// besideLedger are the files of SQLite and of the ledger's lock beside the ledger.
var besideLedger = []string{"-wal", "-shm", ".lock"}

// removeLedger removes a ledger, if there is one, and then what lies beside it.
func removeLedger(path string) error {
	errs := []error{unlessAbsent(os.Remove(path))}
	for _, suffix := range besideLedger {
		errs = append(errs, unlessAbsent(os.Remove(path+suffix)))
	}
	return errors.Join(errs...)
}

func unlessAbsent(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
