package service

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/ledger"
)

// tokenForm is the form of a token's name.
var tokenForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$`)

// Parts of a token's text: a prefix for scanners of leaked secrets, the id by
// which the ledger finds it, and 130 random bits. With that many a fast digest
// is as safe as a slow one.
const (
	tokenPrefix = "lethe"
	tokenID     = 10 // characters
)

func newTokenText() (id, text string) {
	id = strings.ToLower(rand.Text()[:tokenID])
	return id, tokenPrefix + "_" + id + "_" + strings.ToLower(rand.Text())
}

// idOfToken returns the id in a token's text.
func idOfToken(text string) (id string, ok bool) {
	parts := strings.Split(text, "_")
	if len(parts) != 3 || parts[0] != tokenPrefix || len(parts[1]) != tokenID {
		return "", false
	}
	return parts[1], true
}

func hashOfToken(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// AddToken creates a token. It fails with ledger.ErrTokenExists.
func (s *Service) AddToken(ctx context.Context, req api.TokenRequest) (api.NewToken, error) {
	switch {
	case !tokenForm.MatchString(req.Name) || req.Name == rootName:
		return api.NewToken{}, fmt.Errorf("%w: %q is no name of a token; use letters, digits and . _ @ -, such as grafana", api.ErrBadRequest, req.Name)
	case !req.Role.Allows(api.Read):
		return api.NewToken{}, fmt.Errorf("%w: %q is no role; use read, operate or destroy", api.ErrBadRequest, req.Role)
	}
	var life time.Duration
	if req.TTL != "" {
		var err error
		if life, err = lethe.ParseTTL(req.TTL); err != nil {
			return api.NewToken{}, fmt.Errorf("%w: ttl: %w", api.ErrBadRequest, err)
		}
	}
	id, text := newTokenText()
	k, err := s.o.Ledger.AddAdminToken(ctx, ledger.AdminToken{
		ID: id, Name: req.Name, Role: string(req.Role), Hash: hashOfToken(text), CreatedBy: callerOf(ctx).name,
	}, life)
	if err != nil {
		return api.NewToken{}, err
	}
	s.audit(ctx, "token_added", "operator", slog.String("token", k.Name), slog.String("role", k.Role), slog.String("expires_at", k.ExpiresAt.String()))
	return api.NewToken{Token: tokenOf(k), Text: text}, nil
}

func tokenOf(k ledger.AdminToken) api.Token {
	return api.Token{
		Name: k.Name, Role: api.Role(k.Role), CreatedAt: toTime(k.CreatedAt), CreatedBy: k.CreatedBy, ExpiresAt: toTime(k.ExpiresAt), Expired: k.Expired,
	}
}

// Tokens lists the tokens by name, expired ones included.
func (s *Service) Tokens(ctx context.Context, _ api.None) ([]api.Token, error) {
	list, err := s.o.Ledger.AdminTokens(ctx)
	out := []api.Token{}
	for _, k := range list {
		out = append(out, tokenOf(k))
	}
	return out, err
}

// RemoveToken removes a token, on all instances at once. It fails with
// ledger.ErrNoSuchToken.
func (s *Service) RemoveToken(ctx context.Context, req api.TokenName) (api.None, error) {
	err := s.o.Ledger.RemoveAdminToken(ctx, req.Name)
	if err == nil {
		s.audit(ctx, "token_removed", "operator", slog.String("token", req.Name))
	}
	return api.None{}, err
}

// WhoAmI returns the caller and its role.
func (s *Service) WhoAmI(ctx context.Context, _ api.None) (api.Caller, error) {
	c := callerOf(ctx)
	return api.Caller{Name: c.name, Role: c.role}, nil
}

func (s *Service) tokenState(ctx context.Context, req api.TokenName) (any, error) {
	list, err := s.Tokens(ctx, api.None{})
	for _, k := range list {
		if k.Name == req.Name {
			return k, nil
		}
	}
	return nil, errors.Join(err, ledger.ErrNoSuchToken)
}
