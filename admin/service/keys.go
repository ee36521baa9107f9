package service

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

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/ledger"
)

// bucketForm is the form of bucket names in S3.
var bucketForm = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)

// Keys lists the access keys besides the root's.
func (s *Service) Keys(ctx context.Context, _ api.None) ([]api.Key, error) {
	list, err := s.o.Ledger.AccessKeys(ctx)
	out := []api.Key{}
	for _, k := range list {
		out = append(out, keyOf(k))
	}
	return out, err
}

func keyOf(k ledger.AccessKey) api.Key {
	return api.Key{ID: k.ID, Owner: k.Owner, Buckets: k.Buckets, ReadOnly: k.ReadOnly, Settings: k.Settings, CreatedAt: toTime(k.CreatedAt),
		DefaultTTL: ttlText(k.DefaultTTL), MaxTTL: ttlText(k.MaxTTL)}
}

// AddKey creates a key. It fails with ErrAccessKeyExists.
func (s *Service) AddKey(ctx context.Context, req api.KeyRequest) (api.NewKey, error) {
	if len(req.Buckets) == 0 {
		return api.NewKey{}, fmt.Errorf("%w: a key is for chosen buckets: name at least one", api.ErrBadRequest)
	}
	if req.ReadOnly && req.Settings {
		return api.NewKey{}, fmt.Errorf("%w: a key that may only read cannot change settings: leave one of the two out", api.ErrBadRequest)
	}
	for _, b := range req.Buckets {
		if b != "*" && b != ledger.AccountBuckets && !bucketForm.MatchString(b) {
			return api.NewKey{}, fmt.Errorf("%w: %q is no name of a bucket; use one such as photos, * for all, or %s for those that the key makes or is granted",
				api.ErrBadRequest, b, ledger.AccountBuckets)
		}
	}
	if req.ID == "" {
		req.ID = "LK" + rand.Text()[:18]
	}
	if err := s.checkName(req); err != nil {
		return api.NewKey{}, err
	}
	if err := s.checkTaken(ctx, req); err != nil {
		return api.NewKey{}, err
	}
	k := ledger.AccessKey{ID: req.ID, Owner: req.Owner, Buckets: req.Buckets, ReadOnly: req.ReadOnly, Settings: req.Settings}
	if err := keyTTL(&k, &req.DefaultTTL, &req.MaxTTL); err != nil {
		return api.NewKey{}, err
	}
	var raw [30]byte
	rand.Read(raw[:])
	k.Secret = base64.RawURLEncoding.EncodeToString(raw[:])
	k, err := s.o.Ledger.AddAccessKey(ctx, k)
	if err != nil {
		return api.NewKey{}, err
	}
	s.audit(ctx, "key_added", "operator", slog.Any("key", keyOf(k)))
	return api.NewKey{Key: keyOf(k), Secret: k.Secret}, nil
}

// keyTTL sets the times to live of a key that are given. It fails with ErrBadRequest.
func keyTTL(k *ledger.AccessKey, byDefault, longest *string) error {
	if err := parseDuration(byDefault, &k.DefaultTTL); err != nil {
		return fmt.Errorf("%w: default_ttl: %w", api.ErrBadRequest, err)
	}
	if err := parseDuration(longest, &k.MaxTTL); err != nil {
		return fmt.Errorf("%w: max_ttl: %w", api.ErrBadRequest, err)
	}
	if err := k.CheckTTL(); err != nil {
		return fmt.Errorf("%w: %w", api.ErrBadRequest, err)
	}
	return nil
}

// SetKey changes the times to live of what a key writes from then on; what it wrote keeps its
// end. What is not given stays as it is. It fails with ErrNoSuchAccessKey.
func (s *Service) SetKey(ctx context.Context, c api.KeyChange) (api.Key, error) {
	k, err := s.o.Ledger.AccessKey(ctx, c.ID)
	if err == nil {
		err = keyTTL(&k, c.DefaultTTL, c.MaxTTL)
	}
	if err == nil {
		change := ledger.KeyTTLChange{Key: k.ID}
		if c.DefaultTTL != nil {
			change.Default = &k.DefaultTTL
		}
		if c.MaxTTL != nil {
			change.Max = &k.MaxTTL
		}
		k, err = s.o.Ledger.SetKeyTTL(ctx, change)
	}
	if err != nil {
		return api.Key{}, err
	}
	s.audit(ctx, "key_changed", "operator", slog.Any("key", keyOf(k)))
	return keyOf(k), nil
}

// nameForm is the form of the ids of access keys and accounts, the root's
// included: policies, access control lists and logs can contain it.
var nameForm = regexp.MustCompile(`^[A-Za-z0-9._-]{3,128}$`)

// reserved are names with another meaning where keys are named, in any case of
// letters.
var reserved = []string{"all-users", "allusers", "authenticated-users", "authenticatedusers", "anonymous", "unsigned", "root"}

// checkName refuses an id that is invalid, reserved or in use, and an account
// that acts for another. It fails with ErrBadRequest.
func (s *Service) checkName(req api.KeyRequest) error {
	for _, name := range []string{req.ID, cmp.Or(req.Owner, req.ID)} {
		switch {
		case !nameForm.MatchString(name):
			return fmt.Errorf("%w: a key or its owner is named by 3 to 128 letters, digits, or any of . _ -; %q is not", api.ErrBadRequest, name)
		case slices.Contains(reserved, strings.ToLower(name)):
			return fmt.Errorf("%w: %q is a reserved name: choose another", api.ErrBadRequest, name)
		}
	}
	switch {
	case s.o.RootKey != nil && req.ID == s.o.RootKey():
		return fmt.Errorf("%w: %q is the root key: choose another id", api.ErrBadRequest, req.ID)
	case slices.Contains(req.Buckets, ledger.AccountBuckets) && req.Owner != "" && req.Owner != req.ID:
		return fmt.Errorf("%w: a key for %s is an account of its own, named by its id: leave the owner out", api.ErrBadRequest, ledger.AccountBuckets)
	}
	return nil
}

// SealKeys seals the secrets that are in clear or sealed by an older key, all
// or none. It fails with ledger.ErrNoSealing or ledger.ErrSealed.
func (s *Service) SealKeys(ctx context.Context, _ api.None) (api.SealedKeys, error) {
	n, err := s.o.Ledger.SealAll(ctx)
	return api.SealedKeys{Sealed: n}, err
}

// RootSecret is the name of the root key among the secrets that instances share.
const RootSecret = "root"

// ForgetRoot deletes the shared root key whose sealing key is lost, so that the
// next instance to start shares that of its data folder. It fails with
// ledger.ErrOpens.
func (s *Service) ForgetRoot(ctx context.Context, _ api.None) (api.None, error) {
	err := s.o.Ledger.DropLost(ctx, RootSecret)
	if errors.Is(err, ledger.ErrOpens) {
		err = fmt.Errorf("%w: the root key in the database: %w", api.ErrBadRequest, err)
	}
	if err == nil {
		s.audit(ctx, "root_forgotten", "operator")
	}
	return api.None{}, err
}

// RemoveKey removes a key. It fails with ErrNoSuchAccessKey. Its buckets and
// objects stay.
func (s *Service) RemoveKey(ctx context.Context, req api.KeyName) (api.None, error) {
	err := s.o.Ledger.RemoveAccessKey(ctx, req.ID)
	if err == nil {
		s.audit(ctx, "key_removed", "operator", slog.String("key", req.ID))
	}
	return api.None{}, err
}

// checkTaken refuses a key for a bucket that an account created by itself: the
// account could read what the key stores there, and the name may have been
// taken unnoticed. Buckets of the root, and of keys made for them, are allowed.
func (s *Service) checkTaken(ctx context.Context, req api.KeyRequest) error {
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
				api.ErrBadRequest, name, b.Owner, b.Owner)
		}
	}
	return nil
}
