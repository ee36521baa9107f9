package sqlledger

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/ledger"
)

// sealedPrefix begins a sealed secret: "sealed:1:", the key's mark, a colon, then nonce and
// ciphertext in base64. No secret in clear begins with it.
const sealedPrefix = "sealed:1:"

// SealingKeys encrypt the secrets in a database by AES-256-GCM, each bound to the name of
// its owner. The first key seals, and all of them open. Nil keeps secrets in clear. It is
// safe for concurrent use.
type SealingKeys struct{ keys []sealingKey }

type sealingKey struct {
	mark string // identifies the key; not secret
	aead cipher.AEAD
}

// NewSealingKeys takes keys of SealingKeySize bytes; without any it returns nil.
func NewSealingKeys(keys ...[]byte) (*SealingKeys, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	s := &SealingKeys{}
	for _, key := range keys {
		if len(key) != ledger.SealingKeySize {
			return nil, fmt.Errorf("a sealing key has %d bytes, not %d", len(key), ledger.SealingKeySize)
		}
		block, err := aes.NewCipher(key)
		if err != nil {
			return nil, err
		}
		aead, err := cipher.NewGCM(block)
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(append([]byte("lethe sealing key\x00"), key...))
		s.keys = append(s.keys, sealingKey{hex.EncodeToString(sum[:4]), aead})
	}
	return s, nil
}

// seal encrypts the secret of a name.
func (s *SealingKeys) seal(name, secret string) string {
	if s == nil {
		return secret
	}
	k := s.keys[0]
	nonce := make([]byte, k.aead.NonceSize())
	rand.Read(nonce)
	text := k.aead.Seal(nonce, nonce, []byte(secret), []byte(name))
	return sealedPrefix + k.mark + ":" + base64.RawStdEncoding.EncodeToString(text)
}

// open returns the secret of a name, which may be stored in clear: ErrSealed,
// lethe.ErrCorrupt.
func (s *SealingKeys) open(name, text string) (string, error) {
	rest, sealed := strings.CutPrefix(text, sealedPrefix)
	if !sealed {
		return text, nil
	}
	mark, body, _ := strings.Cut(rest, ":")
	if s != nil {
		for _, k := range s.keys {
			if k.mark == mark {
				return k.open(name, body)
			}
		}
	}
	return "", fmt.Errorf("%w: %s, by key %s: put that key back into the file that database.sealing_key_file names", ledger.ErrSealed, name, mark)
}

func (k sealingKey) open(name, body string) (string, error) {
	text, err := base64.RawStdEncoding.DecodeString(body)
	if err == nil && len(text) < k.aead.NonceSize() {
		err = errors.New("it is cut off")
	}
	if err == nil {
		n := k.aead.NonceSize()
		text, err = k.aead.Open(nil, text[:n], text[n:], []byte(name))
	}
	if err != nil {
		return "", fmt.Errorf("the sealed secret of %s: %w (%w)", name, lethe.ErrCorrupt, err)
	}
	return string(text), nil
}

// current reports whether a secret is sealed by the first key.
func (s *SealingKeys) current(text string) bool {
	return strings.HasPrefix(text, sealedPrefix+s.keys[0].mark+":")
}

func keySecret(id string) string      { return "access key " + id }
func sharedSecret(name string) string { return "shared " + name + " secret" }

// SealSecrets sets the keys that seal secrets stored from now on and open sealed ones. Call
// it before the ledger is used.
func (db *DB) SealSecrets(s *SealingKeys) { db.sealing = s }

// keptSecret is a secret as the database stores it.
type keptSecret struct{ name, text string }

// secretTable is a table that holds secrets.
type secretTable struct {
	list, update string
	called       func(name string) string
}

var secretTables = []secretTable{
	{
		register(`SELECT id, secret FROM access_keys ORDER BY id`),
		register(`UPDATE access_keys SET secret = ?3 WHERE id = ?1 AND secret = ?2`), keySecret,
	},
	{
		register(`SELECT name, value FROM secrets ORDER BY name`),
		register(`UPDATE secrets SET value = ?3 WHERE name = ?1 AND value = ?2`), sharedSecret,
	},
}

func scanSecret(r *sql.Rows) (k keptSecret, err error) {
	err = r.Scan(&k.name, &k.text)
	return k, err
}

// SealAll seals all secrets that are in clear or sealed by an older key, in one transaction,
// and returns how many. ErrNoSealing, ErrSealed: none was changed.
func (db *DB) SealAll(ctx context.Context) (sealed int, err error) {
	if db.sealing == nil {
		return 0, fmt.Errorf("%w: set database.sealing_key_file", ledger.ErrNoSealing)
	}
	err = db.write(ctx, "seal secrets", func(t *tx) error {
		sealed = 0
		for _, table := range secretTables {
			kept, err := all(t, scanSecret, table.list)
			if err != nil {
				return err
			}
			for _, k := range kept {
				if db.sealing.current(k.text) {
					continue
				}
				secret, err := db.sealing.open(table.called(k.name), k.text)
				if err != nil {
					return err
				}
				if _, err := t.Send(table.update, k.name, k.text, db.sealing.seal(table.called(k.name), secret)); err != nil {
					return err
				}
				sealed++
			}
		}
		return nil
	})
	return sealed, err
}

// CheckSealed opens the sealed secret of every access key, and returns how many are in
// clear. ErrSealed and lethe.ErrCorrupt name the first that cannot be opened.
func (db *DB) CheckSealed(ctx context.Context) (plain int, err error) {
	err = db.read(ctx, "sealed secrets", func(t *tx) error {
		plain = 0
		kept, err := all(t, scanSecret, secretTables[0].list)
		for _, k := range kept {
			if _, err := db.sealing.open(keySecret(k.name), k.text); err != nil {
				return err
			}
			if !strings.HasPrefix(k.text, sealedPrefix) {
				plain++
			}
		}
		return err
	})
	return plain, err
}

var dropSecret = register(`DELETE FROM secrets WHERE name = ?1 AND value = ?2`)

// DropLost removes the shared secret of a name if its sealing key is not configured:
// ErrOpens if it can be opened. The next instance that starts shares its own.
func (db *DB) DropLost(ctx context.Context, name string) error {
	return db.write(ctx, "drop lost secret "+name, func(t *tx) error {
		list, err := all(t, sqldb.One[string], selectSecret, name)
		if err != nil || len(list) == 0 {
			return err
		}
		switch _, err := db.sealing.open(sharedSecret(name), list[0]); {
		case err == nil:
			return ledger.ErrOpens
		case !errors.Is(err, ledger.ErrSealed):
			return err
		}
		return t.Must(1, lethe.ErrFenced, dropSecret, name, list[0])
	})
}
