// Package rediskeys drops an application's keys from its Redis.
package rediskeys

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/lethe-storage/lethe/internal/redisconn"
)

// Copies is the keys of an application: adopt.Copies.
type Copies struct{ Conn *redisconn.Conn }

// Drop removes keys in one round trip to each server that has some. It returns nil
// only if every server has confirmed it.
func (c Copies) Drop(ctx context.Context, keys []string) error {
	if len(keys) == 0 {
		return nil
	}
	return c.Conn.Do(ctx, func(ctx context.Context, client redis.UniversalClient) error {
		if !c.Conn.Clustered() {
			return client.Unlink(ctx, keys...).Err()
		}
		// A command may name keys of one slot only.
		_, err := client.Pipelined(ctx, func(p redis.Pipeliner) error {
			for _, k := range keys {
				p.Unlink(ctx, k)
			}
			return nil
		})
		return err
	})
}

// Sample returns up to limit keys, or some more. Of a cluster it reads one server.
func (c Copies) Sample(ctx context.Context, limit int) (keys []string, err error) {
	err = c.Conn.Do(ctx, func(ctx context.Context, client redis.UniversalClient) error {
		keys = nil
		for cursor := uint64(0); ; {
			page, next, err := client.Scan(ctx, cursor, "", 500).Result()
			if err != nil {
				return err
			}
			keys = append(keys, page...)
			if cursor = next; cursor == 0 || len(keys) >= limit {
				return nil
			}
		}
	})
	return keys, err
}
