package app

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/lethe-storage/lethe/admin"
	"github.com/lethe-storage/lethe/internal/config"
	"github.com/lethe-storage/lethe/ledger/sqlledger"
)

// Credentials are the root key.
type Credentials struct {
	Access string
	Secret config.Secret
	// Path is the file that holds them; empty if the configuration does.
	Path string
	// Fresh reports whether they were generated just now.
	Fresh bool
}

// rootCredentials takes the root key from the configuration, or from the data
// folder, or makes one there. The file has the form that S3 clients read
// (AWS_SHARED_CREDENTIALS_FILE). Instances that share a ledger agree on one by
// its database, and copy it to their data folders.
func (s *Store) rootCredentials(ctx context.Context) (Credentials, error) {
	if r := s.Config.Root; r.AccessKey != "" {
		return Credentials{Access: r.AccessKey, Secret: r.Secret}, nil
	}
	cr, err := readCredentials(CredentialsPath(s.Config.DataDir))
	if err != nil || !s.shared() {
		return cr, errors.Join(err, cr.keep())
	}
	kept, err := s.Ledger.ShareSecret(ctx, admin.RootSecret, cr.text())
	if err != nil {
		return Credentials{}, fmt.Errorf("agree on the root key: %w; or set root.access_key and root.secret; if the sealing key is lost, run \"lethe keys forget-root\"", err)
	}
	agreed, err := parseCredentials(kept)
	if err != nil {
		return Credentials{}, fmt.Errorf("the root key in the database: %w; set root.access_key and root.secret", err)
	}
	agreed.Path, agreed.Fresh = cr.Path, cr.Fresh || agreed.Access != cr.Access || agreed.Secret.Reveal() != cr.Secret.Reveal()
	if agreed.Fresh && !cr.Fresh {
		s.opt.Log.Warn("the root key in the data folder differed from the one in the database; the file was replaced", "file", cr.Path)
	}
	return agreed, agreed.keep()
}

// useSealing has the ledger seal and open secrets. A server does not start while that
// of an access key cannot be opened. A command does, so that the key can be removed.
func (s *Store) useSealing(ctx context.Context) error {
	keys, err := s.Config.Database.SealingKeys()
	if err != nil {
		return err
	}
	sealing, err := sqlledger.NewSealingKeys(keys...)
	if err != nil {
		return fmt.Errorf("database.sealing_key_file: %w", err)
	}
	s.Ledger.SealSecrets(sealing)
	if !s.opt.Create {
		return nil
	}
	plain, err := s.Ledger.CheckSealed(ctx)
	if err != nil {
		return fmt.Errorf("%w; if it is lost, remove the access key (lethe keys remove) and add another", err)
	}
	if sealing != nil && plain > 0 {
		s.opt.Log.Warn("secrets of access keys are not encrypted in the database; run \"lethe keys seal\"", "secrets", plain)
	}
	return nil
}

// rootKey is the id of the root key; empty if it was not made yet.
func (s *Store) rootKey() string {
	if r := s.Config.Root; r.AccessKey != "" {
		return r.AccessKey
	}
	cr, err := readCredentials(CredentialsPath(s.Config.DataDir))
	if err != nil || cr.Fresh {
		return ""
	}
	return cr.Access
}

// readCredentials reads a root key, or makes one if there is no file.
func readCredentials(path string) (Credentials, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return makeCredentials(path), nil
	}
	if err != nil {
		return Credentials{}, fmt.Errorf("read the root key: %w", err)
	}
	cr, err := parseCredentials(string(text))
	if err != nil {
		return Credentials{}, fmt.Errorf("read the root key in %s: %w; repair the file, or remove it to generate a new key", path, err)
	}
	cr.Path = path
	return cr, nil
}

// keep writes a fresh key to its file.
func (c Credentials) keep() error {
	if !c.Fresh {
		return nil
	}
	if err := writeSecret(c.Path, c.text()); err != nil {
		return fmt.Errorf("keep the root key: %w", err)
	}
	return nil
}

// text is the file that holds the key.
func (c Credentials) text() string {
	return fmt.Sprintf("[default]\naws_access_key_id = %s\naws_secret_access_key = %s\n", c.Access, c.Secret.Reveal())
}

func makeCredentials(path string) Credentials {
	var access [10]byte
	var secret [30]byte
	rand.Read(access[:])
	rand.Read(secret[:])
	return Credentials{
		Access: "LETHE" + strings.ToUpper(fmt.Sprintf("%x", access))[:15],
		Secret: config.NewSecret(base64.RawURLEncoding.EncodeToString(secret[:])),
		Path:   path, Fresh: true,
	}
}

// parseCredentials reads the default profile, as S3 clients do; others may stand in
// the file.
func parseCredentials(text string) (Credentials, error) {
	values, ours := map[string]string{}, true
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "[") {
			ours = line == "[default]"
			continue
		}
		if !ours {
			continue
		}
		if name, value, ok := strings.Cut(line, "="); ok {
			values[strings.TrimSpace(name)] = strings.TrimSpace(value)
		}
	}
	access, secret := values["aws_access_key_id"], values["aws_secret_access_key"]
	if access == "" || secret == "" {
		return Credentials{}, errors.New("aws_access_key_id or aws_secret_access_key is missing")
	}
	return Credentials{Access: access, Secret: config.NewSecret(secret)}, nil
}

// adminToken reads the token of the admin API, or makes one.
func adminToken(dir string) (config.Secret, error) {
	path := TokenPath(dir)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		token := rand.Text()
		if err := writeSecret(path, token+"\n"); err != nil {
			return config.Secret{}, fmt.Errorf("keep the token of the admin API: %w", err)
		}
		return config.NewSecret(token), nil
	}
	if err != nil {
		return config.Secret{}, fmt.Errorf("read the token of the admin API: %w", err)
	}
	token := strings.TrimSpace(string(text))
	if token == "" {
		return config.Secret{}, fmt.Errorf("the token of the admin API in %s is empty: remove the file to generate a new one", path)
	}
	return config.NewSecret(token), nil
}
