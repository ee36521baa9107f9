package crash_test

import (
	"context"
	"fmt"
	"time"
)

// scenario is how a process is brought to a point.
type scenario struct {
	// turn brings the process nearer to the point; it is repeated until death.
	turn func(context.Context, *client) error
	// earlier is a point at which a process before has to die, so that this one
	// finds something to do.
	earlier string
	// prepare brings the earlier process there; if nil, the turn of its scenario.
	prepare func(context.Context, *client) error
	before  []string // settings of the process before
	sets    []string // settings beside the common ones
	most    int      // how many times the point is passed for certain
	alone   bool     // no other client may work
	starts  bool     // dies while it starts, at the latest soon after
	away    bool     // the backend's folder is, while the process works
	inline  bool     // half of the processes keep small contents in the ledger
}

// inLedger are the settings of a process that keeps small contents in the ledger, or by
// chance not: the folder then has contents of both kinds.
func (f *folder) inLedger() []string {
	if f.random.IntN(2) == 0 {
		return nil
	}
	return intoLedger
}

// intoLedger is how a process keeps small contents in the ledger.
var intoLedger = []string{"store.inline=64KiB"}

// scenarios are by step; every step of failpoint.Points has one.
var scenarios = map[string]scenario{
	"begin": {turn: putTurn, most: 3}, "commit": {turn: writeTurn, most: 4, inline: true}, "put": {turn: putTurn, most: 3},
	"beat":    {turn: slowTurn, most: 2, sets: []string{"reclaim.grace.min_age=400ms"}, alone: true},
	"abandon": {turn: brokenTurn, most: 2},
	"delete":  {turn: deleteTurn, most: 3, inline: true}, "update": {turn: updateTurn, most: 3, inline: true},
	"create-upload": {turn: uploadTurn, most: 2}, "commit-part": {turn: uploadTurn, most: 4},
	"complete": {turn: uploadTurn, most: 2}, "abort": {turn: abortTurn, most: 2},
	"restore": {turn: restoreTurn, most: 2, inline: true}, "purge-trash": {turn: purgeTurn, most: 2, inline: true}, "purge": {turn: purgeTurn, most: 2, inline: true},
	"prune":         {turn: purgeTurn, most: 2},
	"create-bucket": {turn: bucketTurn, most: 2}, "configure-bucket": {turn: bucketTurn, most: 2}, "delete-bucket": {turn: bucketTurn, most: 2},
	"expire": {turn: expireTurn, most: 2, inline: true}, "claim": {turn: cleanTurn, most: 2}, "settle": {turn: cleanTurn, most: 2},
	"unlink": {turn: cleanTurn, most: 2}, "start-run": {turn: cleanTurn, most: 2}, "finish-run": {turn: cleanTurn, most: 2},
	"recover":         {turn: restTurn, earlier: "claim/after", most: 1, starts: true},
	"claim-intents":   {turn: reapTurn, earlier: "put/after", most: 1, sets: impatient, alone: true},
	"promote":         {turn: reapTurn, earlier: "put/after", prepare: smallTurn, most: 1, sets: impatient, alone: true},
	"condemn-intent":  {turn: reapTurn, earlier: "put/before", most: 1, sets: impatient, alone: true},
	"release-intent":  {turn: reapTurn, earlier: "put/after", prepare: smallTurn, most: 1, sets: impatient, alone: true, away: true},
	"abort-stale":     {turn: staleTurn, most: 1, sets: []string{"reclaim.grace.multipart_stale=1us"}, alone: true},
	"extend-grace":    {turn: readTurn, most: 2, sets: []string{"reclaim.grace.read_grace=8ms"}},
	"return-deferred": {turn: heldTurn, most: 4},
	"precheck":        {turn: expireTurn, most: 2, sets: []string{"reclaim.limits.ttl.ask=1"}},
	"begin-run":       {turn: walkTurn, most: 2},
	"beat-run":        {turn: cleanTurn, most: 2, sets: []string{"reclaim.clean.batch=1", "reclaim.clean.rate_per_second=1"}},
	"cache-drop":      {turn: dropTurn, most: 3},
	"interrupt-runs":  {turn: restTurn, earlier: "finish-run/before", most: 1, starts: true},
	"open-lock":       start, "open-ledger": start, "open-backends": start, "open-settle": start, "open-admin": start,
	"open-front": start, "add-backend": start, "sweep": start,
	"move-to-ledger": {turn: moveTurn, earlier: "commit/after", prepare: smallTurn, most: 1, sets: intoLedger},
	"begin-copy":     {turn: moveTurn, earlier: "commit/after", prepare: smallTurn, before: intoLedger, most: 1},
	"commit-copy":    {turn: moveTurn, earlier: "commit/after", prepare: smallTurn, before: intoLedger, most: 1},
	"set-epoch":      {turn: restTurn, most: 4, starts: true},
	"epoch-put":      {turn: restTurn, most: 2, starts: true},
	"epoch-unlink":   {turn: restTurn, most: 1, starts: true},
}

var start = scenario{turn: restTurn, most: 1, starts: true}

// wishes are what bodies are like, most often small ones.
func (c *client) wish() wish {
	return wish{large: c.random.IntN(5) == 0, shared: c.random.IntN(4) == 0}
}

func putTurn(ctx context.Context, c *client) error {
	_, err := c.put(ctx, c.key(plainBucket), wish{large: c.random.IntN(3) == 0})
	return err
}

// smallTurn writes what the reaper can finish: size and digest are fixed before
// the first byte is sent.
func smallTurn(ctx context.Context, c *client) error {
	_, err := c.put(ctx, c.key(plainBucket), wish{})
	return err
}

// writeTurn makes objects in all ways but multipart.
func writeTurn(ctx context.Context, c *client) error {
	from := c.key(plainBucket)
	v, err := c.put(ctx, from, c.wish())
	if err != nil {
		return err
	}
	if err := c.copy(ctx, from, v, c.key(plainBucket)); err != nil {
		return err
	}
	_, err = c.put(ctx, c.key(undoBucket), wish{large: c.random.IntN(5) == 0})
	return err
}

func slowTurn(ctx context.Context, c *client) error {
	_, err := c.put(ctx, c.key(plainBucket), wish{large: true, slow: true})
	return err
}

func brokenTurn(ctx context.Context, c *client) error { return c.putBroken(ctx, c.key(plainBucket)) }

func deleteTurn(ctx context.Context, c *client) error {
	bucket := plainBucket
	if c.random.IntN(2) == 0 {
		bucket = undoBucket
	}
	keys := c.some(bucket, 5)
	for _, at := range keys {
		if _, err := c.put(ctx, at, wish{}); err != nil {
			return err
		}
	}
	if err := c.remove(ctx, keys[0]); err != nil {
		return err
	}
	return c.remove(ctx, keys[1:]...)
}

func updateTurn(ctx context.Context, c *client) error {
	at := c.key(plainBucket)
	if _, err := c.put(ctx, at, wish{shared: true}); err != nil {
		return err
	}
	if err := c.tag(ctx, at); err != nil {
		return err
	}
	return c.setTTL(ctx, at, time.Hour)
}

func uploadTurn(ctx context.Context, c *client) error {
	u, err := c.begin(ctx, c.key(plainBucket))
	if err != nil {
		return err
	}
	if err := c.fill(ctx, u, 3); err != nil || c.random.IntN(4) == 0 {
		return err // some are left open
	}
	return c.complete(ctx, u)
}

func abortTurn(ctx context.Context, c *client) error {
	u, err := c.begin(ctx, c.key(plainBucket))
	if err != nil {
		return err
	}
	if err := c.fill(ctx, u, 2); err != nil {
		return err
	}
	return c.abort(ctx, u)
}

// staleTurn leaves an upload and has the engine abort it.
func staleTurn(ctx context.Context, c *client) error {
	u, err := c.begin(ctx, c.key(plainBucket))
	if err != nil {
		return err
	}
	if err := c.fill(ctx, u, 2); err != nil {
		return err
	}
	c.journal.expectStale()
	return c.reclaim(ctx, "multipart")
}

// trashed puts two versions after another and deletes the second.
func trashed(ctx context.Context, c *client) (at name, first version, err error) {
	at = c.key(undoBucket)
	if first, err = c.put(ctx, at, wish{}); err != nil {
		return at, first, err
	}
	if _, err = c.put(ctx, at, wish{}); err != nil {
		return at, first, err
	}
	return at, first, c.remove(ctx, at)
}

func restoreTurn(ctx context.Context, c *client) error {
	at, v, err := trashed(ctx, c)
	if err != nil {
		return err
	}
	if c.random.IntN(2) == 0 {
		if _, err := c.put(ctx, at, wish{}); err != nil {
			return err
		}
	}
	return c.restore(ctx, at, v)
}

func purgeTurn(ctx context.Context, c *client) error {
	if _, _, err := trashed(ctx, c); err != nil {
		return err
	}
	if err := c.purge(ctx); err != nil {
		return err
	}
	return c.reclaim(ctx, "purge")
}

func bucketTurn(ctx context.Context, c *client) error {
	if err := c.bucket(ctx, true); err != nil {
		return err
	}
	if err := c.undo(ctx, "extra-"+c.prefix, "1h"); err != nil {
		return err
	}
	return c.bucket(ctx, false)
}

func expireTurn(ctx context.Context, c *client) error {
	for _, at := range c.some(plainBucket, 2) {
		if _, err := c.put(ctx, at, wish{ttl: time.Millisecond, shared: c.random.IntN(2) == 0}); err != nil {
			return err
		}
	}
	return c.reclaim(ctx, "expire")
}

// cleanTurn overwrites, and has the engine delete what was replaced.
func cleanTurn(ctx context.Context, c *client) error {
	for range 2 {
		for _, at := range c.some(plainBucket, 3) {
			if _, err := c.put(ctx, at, wish{}); err != nil {
				return err
			}
		}
	}
	return c.reclaim(ctx, "clean")
}

// dropTurn takes the last reference of contents, by clients or the engine.
func dropTurn(ctx context.Context, c *client) error {
	if c.random.IntN(2) == 0 {
		return expireTurn(ctx, c)
	}
	return cleanTurn(ctx, c)
}

// heldTurn has the engine pass over what is held, and take it once it is not.
func heldTurn(ctx context.Context, c *client) error {
	at := name{plainBucket, fmt.Sprintf("%s/held%d", c.prefix, c.journal.number())}
	if err := c.hold(ctx, at, true); err != nil {
		return err
	}
	if _, err := c.put(ctx, at, wish{ttl: time.Millisecond}); err != nil {
		return err
	}
	if err := c.reclaim(ctx, "expire"); err != nil {
		return err
	}
	if err := c.hold(ctx, at, false); err != nil {
		return err
	}
	return c.reclaim(ctx, "expire")
}

// readTurn reads an object of parts for so long that the engine has to be kept
// from what is still to be opened.
func readTurn(ctx context.Context, c *client) error {
	u, err := c.begin(ctx, c.key(plainBucket))
	if err != nil {
		return err
	}
	if err := c.fillWith(ctx, u, 4, 1<<20); err != nil {
		return err
	}
	if err := c.complete(ctx, u); err != nil {
		return err
	}
	_, err = c.get(ctx, u.at)
	return told("get "+u.at.String(), outcomeOf(err), err)
}

// walkTurn runs what may run but once at a time.
func walkTurn(ctx context.Context, c *client) error { return c.reclaim(ctx, "lifecycle") }

// restTurn waits for what the process does by itself.
func restTurn(ctx context.Context, c *client) error {
	_, err := c.admin.Status(ctx)
	return told("status", outcomeAt(err), err)
}

// moveTurn moves contents to where the setting of the process has them.
func moveTurn(ctx context.Context, c *client) error { return c.reclaim(ctx, "inline") }

func reapTurn(ctx context.Context, c *client) error { return c.reclaim(ctx, "reap") }

// mixedTurn is what clients do that nobody watches.
func mixedTurn(ctx context.Context, c *client) error {
	turns := []func(context.Context, *client) error{
		putTurn, writeTurn, writeTurn, deleteTurn, updateTurn, uploadTurn, abortTurn, restoreTurn, purgeTurn, brokenTurn, expireTurn, cleanTurn,
	}
	return turns[c.random.IntN(len(turns))](ctx, c)
}
