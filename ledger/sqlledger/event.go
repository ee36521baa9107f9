package sqlledger

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/notification"
)

var (
	// PostgreSQL takes the key locks of transactions that write a key one after the other, and
	// each inserts its events behind its lock: a key's numbers grow in the order of COMMIT.
	insertEvents = register(`INSERT INTO events (target, bucket_id, key, at, due_at, body)
		SELECT t.target, t.bucket_id, t.key, ?2, ?2, t.body
		FROM ` + sqldb.Rows(1, "n bigint", "target text", "bucket_id text", "key text", "body text") + ` ORDER BY t.n`)
	setNotify       = register(`UPDATE buckets SET notify = ?2 WHERE id = ?1`)
	addEventTargets = register(`INSERT INTO event_targets (name) SELECT t.id FROM ` + sqldb.IDs(1) + ` WHERE t.id <> '' ON CONFLICT (name) DO NOTHING`)
)

// eventRow is an event that the transaction writes.
type eventRow struct {
	N      int      `json:"n"`
	Target string   `json:"target"`
	Bucket lethe.ID `json:"bucket_id"`
	Key    string   `json:"key"`
	Body   string   `json:"body"`
}

// happened notes an event, if a rule of the bucket tells of it.
func (t *tx) happened(b ledger.Bucket, kind notification.Kind, o ledger.Object, why lethe.Reason) error {
	if b.Notify == "" {
		return nil
	}
	rules, err := t.db.notify.decode(b.Notify)
	if err != nil {
		return err
	}
	r := rules.For(kind, o.Key)
	if r == nil {
		return nil
	}
	body := sqldb.JSON(notification.Event{
		Kind: kind, Rule: r.ID, Owner: b.Owner, Bucket: b.Name, Key: o.Key, Version: o.ID, Size: o.Size, ETag: o.ETag, Reason: why, By: t.By,
	})
	t.counts.events = append(t.counts.events, eventRow{Target: r.Target, Bucket: b.ID, Key: o.Key, Body: body})
	return nil
}

// expired notes the events of expired objects, from buckets with these rules.
func (t *tx) expired(list []loss, of map[lethe.ID]namedRules) error {
	for _, g := range list {
		b := of[g.bucket]
		o := ledger.Object{ID: g.version, Key: g.key, Size: g.size, ETag: g.etag}
		in := ledger.Bucket{ID: g.bucket, Name: b.was, Owner: b.owner, Notify: b.notify}
		if err := t.happened(in, notification.Expired, o, cmp.Or(g.reason, lethe.ReasonExpiry)); err != nil {
			return err
		}
	}
	return nil
}

// flushEvents writes all events by one statement. Those of a key keep their order.
func (c *counters) flushEvents(t *tx) error {
	if len(c.events) == 0 {
		return nil
	}
	slices.SortStableFunc(c.events, func(a, b eventRow) int {
		return cmp.Or(strings.Compare(string(a.Bucket), string(b.Bucket)), strings.Compare(a.Key, b.Key))
	})
	for i := range c.events {
		c.events[i].N = i
	}
	_, err := t.Send(insertEvents, sqldb.JSON(c.events), t.Now)
	return err
}

// SetNotifications replaces the notification rules of a bucket: ErrNoSuchBucket.
func (db *DB) SetNotifications(ctx context.Context, c ledger.NotificationChange) error {
	return db.write(ctx, "set notifications of "+c.Bucket, func(t *tx) error {
		b, err := t.lockBucketMeant(c.Bucket, c.Into)
		if err == nil && len(c.Rules) > 0 {
			err = t.NeedsRoom()
		}
		if err != nil {
			return err
		}
		if _, err := t.Send(addEventTargets, sqldb.JSON(c.Rules.Targets())); err != nil {
			return err
		}
		_, err = t.Send(setNotify, b.ID, c.Rules.Encode())
		return err
	})
}

// Notifications returns the notification rules of a bucket: ErrNoSuchBucket.
func (db *DB) Notifications(ctx context.Context, bucket string) (rules notification.Rules, err error) {
	err = db.read(ctx, "notifications of "+bucket, func(t *tx) error {
		b, err := t.bucket(bucket)
		if err == nil {
			rules, err = t.db.notify.decode(b.Notify)
		}
		return err
	})
	return slices.Clone(rules), err
}
