package admin

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// Key is an access key besides the root's, without its secret.
type Key struct {
	ID        string    `json:"id"`
	Owner     string    `json:"owner"`
	Buckets   []string  `json:"buckets"`
	ReadOnly  bool      `json:"read_only"`
	Settings  bool      `json:"settings"` // it may change the settings of these buckets
	CreatedAt time.Time `json:"created_at"`
}

// NewKey is a new key; its secret is returned only once.
type NewKey struct {
	Key
	Secret string `json:"secret"`
}

// Public returns the key without its secret.
func (k NewKey) Public() any { return k.Key }

// KeyRequest describes a new key for chosen buckets. An empty ID is generated.
type KeyRequest struct {
	ID       string   `json:"id,omitempty"`
	Owner    string   `json:"owner,omitempty"` // account that it acts for; default: its id
	Buckets  []string `json:"buckets"`         // names, * for all, @account for those that it makes or is granted
	ReadOnly bool     `json:"read_only,omitempty"`
	Settings bool     `json:"settings,omitempty"` // it may change the buckets' settings, make and delete them
}

// KeyName names an access key.
type KeyName struct {
	ID string `json:"id"`
}

// bucketForm is the form of bucket names in S3.
var bucketForm = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)

// Keys lists the access keys besides the root's.
func (s *Service) Keys(ctx context.Context, _ None) ([]Key, error) {
	list, err := s.o.Ledger.AccessKeys(ctx)
	out := []Key{}
	for _, k := range list {
		out = append(out, keyOf(k))
	}
	return out, err
}

func keyOf(k ledger.AccessKey) Key {
	return Key{ID: k.ID, Owner: k.Owner, Buckets: k.Buckets, ReadOnly: k.ReadOnly, Settings: k.Settings, CreatedAt: toTime(k.CreatedAt)}
}

// AddKey creates a key. It fails with ErrAccessKeyExists.
func (s *Service) AddKey(ctx context.Context, req KeyRequest) (NewKey, error) {
	if len(req.Buckets) == 0 {
		return NewKey{}, fmt.Errorf("%w: a key is for chosen buckets: name at least one", ErrBadRequest)
	}
	if req.ReadOnly && req.Settings {
		return NewKey{}, fmt.Errorf("%w: a key that may only read cannot change settings: leave one of the two out", ErrBadRequest)
	}
	for _, b := range req.Buckets {
		if b != "*" && b != ledger.AccountBuckets && !bucketForm.MatchString(b) {
			return NewKey{}, fmt.Errorf("%w: %q is no name of a bucket; use one such as photos, * for all, or %s for those that the key makes or is granted",
				ErrBadRequest, b, ledger.AccountBuckets)
		}
	}
	if req.ID == "" {
		req.ID = "LK" + rand.Text()[:18]
	}
	if err := s.checkName(req); err != nil {
		return NewKey{}, err
	}
	if err := s.checkTaken(ctx, req); err != nil {
		return NewKey{}, err
	}
	var raw [30]byte
	rand.Read(raw[:])
	k, err := s.o.Ledger.AddAccessKey(ctx, ledger.AccessKey{
		ID: req.ID, Secret: base64.RawURLEncoding.EncodeToString(raw[:]), Owner: req.Owner, Buckets: req.Buckets, ReadOnly: req.ReadOnly, Settings: req.Settings,
	})
	if err != nil {
		return NewKey{}, err
	}
	s.audit(ctx, "key_added", "operator", slog.Any("key", keyOf(k)))
	return NewKey{keyOf(k), k.Secret}, nil
}

// nameForm is the form of the ids of access keys and accounts, the root's
// included: policies, access control lists and logs can contain it.
var nameForm = regexp.MustCompile(`^[A-Za-z0-9._-]{3,128}$`)

// reserved are names with another meaning where keys are named, in any case of
// letters.
var reserved = []string{"all-users", "allusers", "authenticated-users", "authenticatedusers", "anonymous", "unsigned", "root"}

// checkName refuses an id that is invalid, reserved or in use, and an account
// that acts for another. It fails with ErrBadRequest.
func (s *Service) checkName(req KeyRequest) error {
	for _, name := range []string{req.ID, cmp.Or(req.Owner, req.ID)} {
		switch {
		case !nameForm.MatchString(name):
			return fmt.Errorf("%w: a key or its owner is named by 3 to 128 letters, digits, or any of . _ -; %q is not", ErrBadRequest, name)
		case slices.Contains(reserved, strings.ToLower(name)):
			return fmt.Errorf("%w: %q is a reserved name: choose another", ErrBadRequest, name)
		}
	}
	switch {
	case s.o.RootKey != nil && req.ID == s.o.RootKey():
		return fmt.Errorf("%w: %q is the root key: choose another id", ErrBadRequest, req.ID)
	case slices.Contains(req.Buckets, ledger.AccountBuckets) && req.Owner != "" && req.Owner != req.ID:
		return fmt.Errorf("%w: a key for %s is an account of its own, named by its id: leave the owner out", ErrBadRequest, ledger.AccountBuckets)
	}
	return nil
}

// SealedKeys is the number of sealed secrets.
type SealedKeys struct {
	Sealed int `json:"sealed"`
}

// SealKeys seals the secrets that are in clear or sealed by an older key, all
// or none. It fails with ledger.ErrNoSealing or ledger.ErrSealed.
func (s *Service) SealKeys(ctx context.Context, _ None) (SealedKeys, error) {
	n, err := s.o.Ledger.SealAll(ctx)
	return SealedKeys{n}, err
}

// RootSecret is the name of the root key among the secrets that instances share.
const RootSecret = "root"

// ForgetRoot deletes the shared root key whose sealing key is lost, so that the
// next instance to start shares that of its data folder. It fails with
// ledger.ErrOpens.
func (s *Service) ForgetRoot(ctx context.Context, _ None) (None, error) {
	err := s.o.Ledger.DropLost(ctx, RootSecret)
	if errors.Is(err, ledger.ErrOpens) {
		err = fmt.Errorf("%w: the root key in the database: %w", ErrBadRequest, err)
	}
	if err == nil {
		s.audit(ctx, "root_forgotten", "operator")
	}
	return None{}, err
}

// RemoveKey removes a key. It fails with ErrNoSuchAccessKey. Its buckets and
// objects stay.
func (s *Service) RemoveKey(ctx context.Context, req KeyName) (None, error) {
	err := s.o.Ledger.RemoveAccessKey(ctx, req.ID)
	if err == nil {
		s.audit(ctx, "key_removed", "operator", slog.String("key", req.ID))
	}
	return None{}, err
}

// checkTaken refuses a key for a bucket that an account created by itself: the
// account could read what the key stores there, and the name may have been
// taken unnoticed. Buckets of the root, and of keys made for them, are allowed.
func (s *Service) checkTaken(ctx context.Context, req KeyRequest) error {
	keys, err := s.o.Ledger.AccessKeys(ctx)
	if err != nil {
		return err
	}
	for _, name := range req.Buckets {
		b, err := s.o.Ledger.Bucket(ctx, name)
		if errors.Is(err, lethe.ErrNoSuchBucket) {
			continue
		}
		if err != nil {
			return err
		}
		meant := b.Owner == cmp.Or(req.Owner, req.ID) || s.o.RootKey != nil && b.Owner == s.o.RootKey()
		taken := slices.ContainsFunc(keys, func(k ledger.AccessKey) bool {
			return k.ID == b.Owner && k.Account() && !slices.Contains(k.Buckets, name)
		})
		if taken && !meant {
			return fmt.Errorf("%w: bucket %s belongs to the account %s, which could read what the key stores there, and delete it: if that is meant, name it as the owner (--owner %s); else choose another bucket",
				ErrBadRequest, name, b.Owner, b.Owner)
		}
	}
	return nil
}
