package admin

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
	"github.com/lethe-storage/lethe/ledger"
)

// Token is a token of this API, without its text.
type Token struct {
	Name      string    `json:"name"`
	Role      Role      `json:"role"`
	CreatedAt time.Time `json:"created_at"`
	CreatedBy string    `json:"created_by"`
	ExpiresAt time.Time `json:"expires_at,omitzero"`
	Expired   bool      `json:"expired,omitempty"`
}

// NewToken is a new token; its text is returned only once.
type NewToken struct {
	Token
	Text string `json:"token"`
}

// Public returns the token without its text.
func (k NewToken) Public() any { return k.Token }

// TokenRequest describes a new token.
type TokenRequest struct {
	Name string `json:"name"`
	Role Role   `json:"role"`
	// TTL is how long it is valid ("12h", "90d"); empty if it does not expire.
	TTL string `json:"ttl,omitempty"`
}

// TokenName names a token.
type TokenName struct {
	Name string `json:"name"`
}

// Caller is the authenticated caller.
type Caller struct {
	Name string `json:"name"`
	Role Role   `json:"role"`
}

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
func (s *Service) AddToken(ctx context.Context, req TokenRequest) (NewToken, error) {
	switch {
	case !tokenForm.MatchString(req.Name) || req.Name == rootName:
		return NewToken{}, fmt.Errorf("%w: %q is no name of a token; use letters, digits and . _ @ -, such as grafana", ErrBadRequest, req.Name)
	case !req.Role.Allows(Read):
		return NewToken{}, fmt.Errorf("%w: %q is no role; use read, operate or destroy", ErrBadRequest, req.Role)
	}
	var life time.Duration
	if req.TTL != "" {
		var err error
		if life, err = lethe.ParseTTL(req.TTL); err != nil {
			return NewToken{}, fmt.Errorf("%w: ttl: %w", ErrBadRequest, err)
		}
	}
	id, text := newTokenText()
	k, err := s.o.Ledger.AddAdminToken(ctx, ledger.AdminToken{
		ID: id, Name: req.Name, Role: string(req.Role), Hash: hashOfToken(text), CreatedBy: callerOf(ctx).name,
	}, life)
	if err != nil {
		return NewToken{}, err
	}
	s.audit(ctx, "token_added", "operator", slog.String("token", k.Name), slog.String("role", k.Role), slog.String("expires_at", k.ExpiresAt.String()))
	return NewToken{tokenOf(k), text}, nil
}

func tokenOf(k ledger.AdminToken) Token {
	return Token{
		Name: k.Name, Role: Role(k.Role), CreatedAt: toTime(k.CreatedAt), CreatedBy: k.CreatedBy, ExpiresAt: toTime(k.ExpiresAt), Expired: k.Expired,
	}
}

// Tokens lists the tokens by name, expired ones included.
func (s *Service) Tokens(ctx context.Context, _ None) ([]Token, error) {
	list, err := s.o.Ledger.AdminTokens(ctx)
	out := []Token{}
	for _, k := range list {
		out = append(out, tokenOf(k))
	}
	return out, err
}

// RemoveToken removes a token, on all instances at once. It fails with
// ledger.ErrNoSuchToken.
func (s *Service) RemoveToken(ctx context.Context, req TokenName) (None, error) {
	err := s.o.Ledger.RemoveAdminToken(ctx, req.Name)
	if err == nil {
		s.audit(ctx, "token_removed", "operator", slog.String("token", req.Name))
	}
	return None{}, err
}

// WhoAmI returns the caller and its role.
func (s *Service) WhoAmI(ctx context.Context, _ None) (Caller, error) {
	c := callerOf(ctx)
	return Caller{c.name, c.role}, nil
}

func (s *Service) tokenState(ctx context.Context, req TokenName) (any, error) {
	list, err := s.Tokens(ctx, None{})
	for _, k := range list {
		if k.Name == req.Name {
			return k, nil
		}
	}
	return nil, errors.Join(err, ledger.ErrNoSuchToken)
}
