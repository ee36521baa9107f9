package app

import (
	"context"
	"fmt"

	"github.com/lethe-storage/lethe/cache"
	"github.com/lethe-storage/lethe/cache/memcache"
	"github.com/lethe-storage/lethe/cache/rediscache"
	"github.com/lethe-storage/lethe/cache/tiered"
	"github.com/lethe-storage/lethe/internal/config"
	"github.com/lethe-storage/lethe/internal/redisconn"
)

// openRedis prepares what instances share. A server that is down does not prevent a
// start.
func (s *Store) openRedis(context.Context) (err error) {
	c := s.Config.Redis
	if !c.On() {
		return nil
	}
	password, err := config.Secret{}.OrFile(c.PasswordFile)
	if err != nil {
		return fmt.Errorf("redis.password_file: %w", err)
	}
	s.redis, err = redisconn.Open(redisconn.Options{
		URL: c.URL.Reveal(), Kind: c.Kind, Password: password.Reveal(), Timeout: c.Timeout.Std(), Events: s.watch.redis(),
	})
	if err != nil {
		return fmt.Errorf("redis.url: %w", err)
	}
	s.closing(s.redis.Close)
	return nil
}

// openCache makes the cache of this process, before the one in Redis if that holds
// contents.
func (s *Store) openCache(context.Context) (err error) {
	defer func() { s.Cache = s.opt.Hooks.Cache(s.Cache) }()
	s.Cache = cache.Null{}
	if s.Config.Cache.Size > 0 {
		s.Cache, err = memcache.New(memcache.Options{
			Bytes: int64(s.Config.Cache.Size), MaxValue: int64(s.Config.Cache.MaxValue), Clock: s.opt.Clock,
		})
		if err != nil {
			return err
		}
	}
	if s.redis == nil || !s.Config.Redis.Cache {
		return nil
	}
	far, err := rediscache.New(rediscache.Options{Conn: s.redis, MaxValue: int64(s.Config.Redis.MaxValue), Events: s.watch.redisCache()})
	if err != nil {
		return err
	}
	s.Cache = tiered.New(s.Cache, far)
	return nil
}
