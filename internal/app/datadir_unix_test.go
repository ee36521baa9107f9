//go:build unix

package app_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe/internal/app"
	"github.com/lethe-storage/lethe/internal/config"
)

func TestDataFolderWritableByOthersIsRefused(t *testing.T) {
	other := 12345
	tests := []struct {
		name   string
		change func(dir string) error
		remedy string // empty if it is accepted
	}{
		{"as lethe makes it", func(string) error { return nil }, ""},
		{"readable", func(dir string) error { return os.Chmod(dir, 0o755) }, ""},
		{"group-writable", func(dir string) error { return os.Chmod(dir, 0o770) }, "chmod go-w "},
		{"world-writable", func(dir string) error { return os.Chmod(dir, 0o1777) }, "chmod go-w "},
		{"of another user, for root", func(dir string) error { return os.Chown(dir, other, -1) }, ""},
		{"a token of another user", func(dir string) error {
			path := filepath.Join(dir, "admin.token")
			return errors.Join(os.WriteFile(path, []byte("known\n"), 0o600), os.Chown(path, other, -1))
		}, "chown "},
		{"a token that others may write", func(dir string) error {
			path := filepath.Join(dir, "admin.token")
			return errors.Join(os.WriteFile(path, []byte("known\n"), 0o600), os.Chmod(path, 0o660))
		}, "chmod go-w "},
	}
	for _, name := range []string{"lock", "ledger.db", "ledger.db-wal", "ledger.db.ballast", "credentials", "admin.token"} {
		tests = append(tests, struct {
			name   string
			change func(dir string) error
			remedy string
		}{"planted " + name, func(dir string) error {
			return os.Symlink(filepath.Join(filepath.Dir(dir), "target"), filepath.Join(dir, name))
		}, "symbolic link"})
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "d")
			if err := errors.Join(os.Mkdir(dir, 0o700), tt.change(dir)); err != nil {
				if errors.Is(err, os.ErrPermission) {
					t.Skip(err)
				}
				t.Fatal(err)
			}
			f, err := app.LockDataDir(dir, true)
			if tt.remedy == "" {
				if err != nil {
					t.Fatal(err)
				}
				if err := f.Close(); err != nil {
					t.Fatal(err)
				}
				return
			}
			if !errors.Is(err, app.ErrUnsafe) || !strings.Contains(err.Error(), tt.remedy) {
				t.Errorf("it is %v", err)
			}
			if _, err := os.Lstat(filepath.Join(filepath.Dir(dir), "target")); err == nil {
				t.Error("the link was followed")
			}
		})
	}
}

// A backend's folder may be behind a link only if its path is.
func TestPlantedBackend(t *testing.T) {
	c := config.Default()
	top := t.TempDir()
	c.DataDir = filepath.Join(top, "d")
	elsewhere := filepath.Join(top, "elsewhere")
	if err := errors.Join(os.Mkdir(c.DataDir, 0o700), os.Mkdir(elsewhere, 0o700), os.Symlink(elsewhere, filepath.Join(c.DataDir, "blobs"))); err != nil {
		t.Fatal(err)
	}
	if s, err := app.OpenStore(t.Context(), c, app.Options{Create: true}); !errors.Is(err, app.ErrUnsafe) {
		if err == nil {
			err = s.Close()
		}
		t.Fatalf("the link in the data folder was followed: %v", err)
	}
	c.Backends[0].Path = filepath.Join(top, "link")
	if err := os.Symlink(elsewhere, c.Backends[0].Path); err != nil {
		t.Fatal(err)
	}
	s, err := app.OpenStore(t.Context(), c, app.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
