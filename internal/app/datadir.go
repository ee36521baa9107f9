package app

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Names in the data folder.
const (
	lockName        = "lock"
	ledgerName      = "ledger.db"
	credentialsName = "credentials"
	tokenName       = "admin.token"
)

// ErrInUse is wrapped when another process has locked the data folder.
var ErrInUse = errors.New("data folder is in use")

// ErrNoStore is wrapped when a data folder has no store and none is to be made.
var ErrNoStore = errors.New("no store")

// ErrUnsafe is wrapped when another user may change a data folder, or may have
// placed something in it.
var ErrUnsafe = errors.New("data folder is not safe")

// LedgerPath returns the path of a data folder's ledger.
func LedgerPath(dir string) string { return filepath.Join(dir, ledgerName) }

// CredentialsPath is where the root key of a data folder lies, if it was generated.
func CredentialsPath(dir string) string { return filepath.Join(dir, credentialsName) }

// TokenPath returns the path of the token of a data folder's admin API.
func TokenPath(dir string) string { return filepath.Join(dir, tokenName) }

// LockDataDir locks the data folder for this process until the file is closed. With
// create it makes the folder, mode 0700. Errors: ErrInUse, ErrNoStore, ErrUnsafe,
// and those of the system, with a remedy.
func LockDataDir(dir string, create bool) (*os.File, error) {
	if create {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("make the data folder: %w; choose another with --data-dir", err)
		}
	}
	if err := CheckDataDir(dir); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, lockName)
	flags := os.O_RDWR | noFollow
	if create || exists(LedgerPath(dir)) {
		flags |= os.O_CREATE
	}
	f, err := os.OpenFile(path, flags, 0o600)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w in %s: run \"lethe serve\" to make one, or choose another with --data-dir", ErrNoStore, dir)
	case err != nil:
		return nil, fmt.Errorf("the data folder must be writable: %w; check its owner, mode and mount", err)
	}
	held, err := tryLock(f)
	if err == nil && held {
		err = fmt.Errorf("%w: another lethe%s uses %s; stop it, or choose another with --data-dir", ErrInUse, holder(f), dir)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if err := writeHolder(f); err != nil {
		return nil, errors.Join(fmt.Errorf("the data folder must be writable: %w", err), f.Close())
	}
	return f, nil
}

// CheckDataDir refuses a data folder that other users may change. It refuses files
// of Lethe in it that they may change or have placed: symbolic links, and files of
// other users. The folder itself may be a link. A missing folder is no error.
// Errors: ErrUnsafe.
func CheckDataDir(dir string) error {
	folder, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("check the data folder: %w", err)
	}
	if err := checkOwner(dir, folder, folder); err != nil {
		return err
	}
	names := []string{lockName, credentialsName, tokenName, ledgerName, ledgerName + "-journal", ledgerName + ".ballast"}
	for _, suffix := range besideLedger {
		names = append(names, ledgerName+suffix)
	}
	for _, name := range names {
		path := filepath.Join(dir, name)
		info, err := os.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = checkLink(path, info, "replace it with the file itself")
		}
		if err == nil {
			err = checkOwner(path, info, folder)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// checkWay refuses symbolic links between the data folder and a path in it. A path
// elsewhere is the operator's choice.
func checkWay(dir, path string) error {
	rel, err := filepath.Rel(dir, path)
	if err != nil || !filepath.IsLocal(rel) {
		return nil
	}
	for part := range strings.SplitSeq(rel, string(filepath.Separator)) {
		dir = filepath.Join(dir, part)
		info, err := os.Lstat(dir)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil {
			err = checkLink(dir, info, "remove it, and set the path in the configuration to its target")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func checkLink(path string, info fs.FileInfo, remedy string) error {
	if info.Mode()&fs.ModeSymlink != 0 {
		return fmt.Errorf("%w: %s is a symbolic link, which is not followed; %s", ErrUnsafe, path, remedy)
	}
	return nil
}

// sweepBackups removes remains of interrupted backups: only the holder of the lock
// makes backups.
func sweepBackups(dir string) error {
	left, err := filepath.Glob(filepath.Join(dir, ".backup-*"))
	for _, path := range left {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// holder returns the process named in the lock file.
func holder(f *os.File) string {
	var text [32]byte
	n, _ := f.ReadAt(text[:], 0)
	first, _, _ := strings.Cut(string(text[:n]), "\n")
	if pid := strings.TrimSpace(first); pid != "" {
		return " (process " + pid + ")"
	}
	return ""
}

// writeHolder replaces an earlier process by this one. At no time is there none,
// for processes that are refused and read it.
func writeHolder(f *os.File) error {
	text := fmt.Appendln(nil, os.Getpid())
	if _, err := f.WriteAt(text, 0); err != nil {
		return err
	}
	return f.Truncate(int64(len(text)))
}

// writeSecret writes a file that only its owner can read, whole or not at all.
func writeSecret(path, text string) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	err = errors.Join(err, f.Chmod(0o600), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return syncFolder(filepath.Dir(path))
}
