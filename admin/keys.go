package admin

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"time"

	"github.com/lethe-storage/lethe/meta"
)

// Key is an access key beside the root's, without its secret.
type Key struct {
	ID        string    `json:"id"`
	Owner     string    `json:"owner"`
	Buckets   []string  `json:"buckets"`
	ReadOnly  bool      `json:"read_only"`
	CreatedAt time.Time `json:"created_at"`
}

// NewKey is a key just made; its secret is never told again.
type NewKey struct {
	Key
	Secret string `json:"secret"`
}

func (k NewKey) public() any { return k.Key }

// KeyRequest asks for a new key for chosen buckets. An empty ID is made up.
type KeyRequest struct {
	ID       string   `json:"id,omitempty"`
	Owner    string   `json:"owner,omitempty"` // account that it acts for; default: its id
	Buckets  []string `json:"buckets"`         // names, * for all, @account for those that it makes or is granted
	ReadOnly bool     `json:"read_only,omitempty"`
}

// KeyName names an access key.
type KeyName struct {
	ID string `json:"id"`
}

// bucketForm is S3's for the names of buckets.
var bucketForm = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)

// Keys lists the access keys beside the root's.
func (s *Service) Keys(ctx context.Context, _ None) ([]Key, error) {
	list, err := s.o.Ledger.AccessKeys(ctx)
	out := []Key{}
	for _, k := range list {
		out = append(out, keyOf(k))
	}
	return out, err
}

func keyOf(k meta.AccessKey) Key {
	return Key{ID: k.ID, Owner: k.Owner, Buckets: k.Buckets, ReadOnly: k.ReadOnly, CreatedAt: at(k.CreatedAt)}
}

// AddKey makes a key: ErrAccessKeyExists.
func (s *Service) AddKey(ctx context.Context, req KeyRequest) (NewKey, error) {
	if len(req.Buckets) == 0 {
		return NewKey{}, fmt.Errorf("%w: a key is for chosen buckets: name at least one", ErrBadRequest)
	}
	for _, b := range req.Buckets {
		if b != "*" && b != meta.AccountBuckets && !bucketForm.MatchString(b) {
			return NewKey{}, fmt.Errorf("%w: %q is no name of a bucket; use one such as photos, * for all, or %s for those that the key makes or is granted",
				ErrBadRequest, b, meta.AccountBuckets)
		}
	}
	if req.ID == "" {
		req.ID = "LK" + rand.Text()[:18]
	}
	if slices.Contains(req.Buckets, meta.AccountBuckets) {
		if err := checkAccount(req); err != nil {
			return NewKey{}, err
		}
	}
	var raw [30]byte
	rand.Read(raw[:])
	k, err := s.o.Ledger.AddAccessKey(ctx, meta.AccessKey{
		ID: req.ID, Secret: base64.RawURLEncoding.EncodeToString(raw[:]), Owner: req.Owner, Buckets: req.Buckets, ReadOnly: req.ReadOnly,
	})
	if err != nil {
		return NewKey{}, err
	}
	s.audit(ctx, "key_added", "operator", slog.Any("key", keyOf(k)))
	return NewKey{keyOf(k), k.Secret}, nil
}

// accountForm is the form of the root's name, too: policies and access control lists
// can name it.
var accountForm = regexp.MustCompile(`^[A-Za-z0-9._-]{3,128}$`)

// checkAccount refuses an account that could not be named, or acts for another.
func checkAccount(req KeyRequest) error {
	switch {
	case req.Owner != "" && req.Owner != req.ID:
		return fmt.Errorf("%w: a key for %s is an account of its own, named by its id: leave the owner out", ErrBadRequest, meta.AccountBuckets)
	case !accountForm.MatchString(req.ID):
		return fmt.Errorf("%w: an account is named by 3 to 128 letters, digits, or any of . _ -, as policies name it; %q is not", ErrBadRequest, req.ID)
	}
	return nil
}

// RemoveKey takes a key away: ErrNoSuchAccessKey. Its buckets and objects stay.
func (s *Service) RemoveKey(ctx context.Context, req KeyName) (None, error) {
	err := s.o.Ledger.RemoveAccessKey(ctx, req.ID)
	if s.o.KeyRemoved != nil {
		s.o.KeyRemoved(req.ID) // whatever came of it
	}
	if err == nil {
		s.audit(ctx, "key_removed", "operator", slog.String("key", req.ID))
	}
	return None{}, err
}
