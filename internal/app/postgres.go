package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/config"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/sqlledger"
)

// databaseRetry is how often a start retries a database that does not answer yet.
const databaseRetry = time.Second

// database returns where the shared ledger lies.
func database(c config.Database) (url string, o sqlledger.PostgresOptions, err error) {
	secret, err := c.URL.OrFile(c.URLFile)
	if err != nil {
		return "", o, fmt.Errorf("database.url_file: %w", err)
	}
	o = sqlledger.PostgresOptions{Schema: c.Schema, Requests: c.Connections, Routines: c.EngineConnections}
	if c.Pooler {
		o.Pooler = sqlledger.PoolerBetween
	}
	return secret.Reveal(), o, nil
}

// openPostgres opens the shared ledger. A server waits for a database that does not
// answer yet; a command does not.
func (s *Store) openPostgres(ctx context.Context, o ledger.Options, set ...sqlledger.Setting) (*sqlledger.DB, error) {
	c := s.Config.Database
	url, at, err := database(c)
	if err != nil {
		return nil, err
	}
	if _, machine := o.Clock.(lethe.SystemClock); machine {
		o.Clock = nil // the database's clock, which all instances share
	}
	set = append(set, sqlledger.Postgres(at))
	clock := lethe.Monotonic{}
	begun, told := clock.Now(), false
	for {
		db, err := sqlledger.OpenPostgres(ctx, url, o, set...)
		waited := clock.Now().Sub(begun)
		switch {
		case err == nil && told:
			s.opt.Log.Info("the database answers", "after", waited.Round(time.Millisecond).String())
			return db, nil
		case err == nil || !errors.Is(err, lethe.ErrUnavailable) || !s.opt.Create:
			return db, err
		case waited >= c.Wait.Std():
			return nil, fmt.Errorf("%w (waited %s for it: database.wait)", err, waited.Round(time.Second))
		}
		if !told {
			s.opt.Log.Warn("the database does not answer; waiting for it", "at_most", c.Wait.Std().String(), "error", err)
			told = true
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(databaseRetry):
		}
	}
}
