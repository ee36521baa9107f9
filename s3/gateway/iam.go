package gateway

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/versity/versitygw/auth"
	"github.com/versity/versitygw/s3err"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/s3"
)

// keyring lets versitygw authenticate access keys. versitygw knows root itself;
// keys are managed elsewhere.
type keyring struct {
	root    string
	keys    s3.AccessKeys
	base    context.Context
	timeout time.Duration
}

var _ auth.IAMService = (*keyring)(nil)

// GetUserAccount looks up a key to verify a signature.
func (k *keyring) GetUserAccount(access string) (auth.Account, error) {
	ctx, cancel := context.WithTimeout(k.base, k.timeout)
	defer cancel()
	key, err := k.keys.AccessKey(ctx, strings.Clone(access))
	if errors.Is(err, lethe.ErrNoSuchAccessKey) {
		return auth.Account{}, auth.ErrNoSuchUser
	}
	if err != nil {
		return auth.Account{}, unavailable("Access keys cannot be looked up at the moment. Please try again.")(names{}, err)
	}
	// The role lets a key request a new bucket; its list decides.
	return auth.Account{Access: key.ID, Secret: key.Secret, Role: auth.RoleUserPlus}, nil
}

// ResolveAccounts returns the ids that are not access keys.
func (k *keyring) ResolveAccounts(ids []string) ([]string, error) {
	missing := []string{}
	for _, id := range ids {
		_, err := k.GetUserAccount(id)
		switch {
		case id == k.root:
		case errors.Is(err, auth.ErrNoSuchUser):
			missing = append(missing, id)
		case err != nil:
			return nil, fmt.Errorf("s3: look up account: %w", err)
		}
	}
	return missing, nil
}

func unsupportedIAM() error { return s3err.GetAPIError(s3err.ErrAdminMethodNotSupported) }

// CreateAccount is refused: keys are managed elsewhere.
func (*keyring) CreateAccount(auth.Account) error { return unsupportedIAM() }

// UpdateUserAccount is refused.
func (*keyring) UpdateUserAccount(string, auth.MutableProps) error { return unsupportedIAM() }

// DeleteUserAccount is refused.
func (*keyring) DeleteUserAccount(string) error { return unsupportedIAM() }

// ListUserAccounts is refused.
func (*keyring) ListUserAccounts() ([]auth.Account, error) { return nil, unsupportedIAM() }

// Shutdown does nothing.
func (*keyring) Shutdown() error { return nil }
