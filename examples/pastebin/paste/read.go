package paste

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const selectPaste = `SELECT c.content_hash, c.object_key, c.size, p.expires_at
FROM pastes p JOIN content c USING (content_hash)
WHERE p.short_code = $1 AND p.deletion_status = 'NOT_EXPIRED' AND (p.expires_at IS NULL OR p.expires_at > clock_timestamp())`

// readTimeout bounds a read.
const readTimeout = 15 * time.Second

// Read returns the bytes of a paste. If it is not there, has expired or is being
// deleted, the error is ErrNotFound.
func (s *Store) Read(ctx context.Context, code string) (Paste, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	if !validCode(code) {
		return Paste{}, nil, ErrNotFound
	}
	found, lease := s.cache.get(ctx, code)
	if found != nil {
		return Paste{code, contentOf(found.body).hash, found.expiresAt}, found.body, nil
	}
	p, body, err := s.load(ctx, code)
	if err != nil {
		s.cache.giveUp(ctx, code, lease)
		return Paste{}, nil, fmt.Errorf("read paste %q: %w", code, err)
	}
	s.cache.fill(ctx, code, lease, copied{body, p.ExpiresAt})
	return p, body, nil
}

// load reads a paste from the database and the bucket. Between the two it may be
// deleted or get another content: before bytes count as missing, the database is
// asked once more.
func (s *Store) load(ctx context.Context, code string) (Paste, []byte, error) {
	missing := ""
	for {
		p, c, err := s.find(ctx, code)
		if err != nil {
			return Paste{}, nil, err
		}
		body, err := s.objects.get(ctx, c)
		if !errors.Is(err, ErrBytesMissing) || c.hash == missing {
			return p, body, err
		}
		missing = c.hash
	}
}

// find returns the row of a paste that may be read.
func (s *Store) find(ctx context.Context, code string) (Paste, content, error) {
	p, c := Paste{Code: code}, content{}
	err := s.db.QueryRow(ctx, selectPaste, code).Scan(&c.hash, &c.key, &c.size, &p.ExpiresAt)
	p.Hash = c.hash
	return p, c, notFound(err)
}
