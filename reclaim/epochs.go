package reclaim

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/meta"
)

// epoch is the content of an epoch object: for people, and for a ledger that finds
// another's.
type epoch struct {
	Store lethe.ID `json:"store"`
	DB    lethe.ID `json:"db"`
	Epoch int64    `json:"epoch"`
	// Accepted is the epoch under which a person last gave the backend to the ledger.
	Accepted int64      `json:"accepted"`
	At       lethe.Time `json:"at"`
}

const (
	epochDir = "/epoch/"
	// epochStep bounds by how much an epoch lies beyond the one before: two ledgers draw
	// the same once in so many times, and 63 bits last for 500 years of minutes.
	epochStep = 1 << 36
)

func epochKey(store lethe.ID, n int64) string {
	return fmt.Sprintf("%s%s%019d", store, epochDir, n)
}

func isEpochKey(store lethe.ID, key string) bool {
	return strings.HasPrefix(key, string(store)+epochDir)
}

// epochs are the numbers of the epoch objects on a backend, in order.
type epochs []int64

func (e epochs) last() int64 {
	if len(e) == 0 {
		return 0
	}
	return e[len(e)-1]
}

func (e epochs) before(n int64) (out epochs) {
	for _, x := range e {
		if x < n {
			out = append(out, x)
		}
	}
	return out
}

// between finds an epoch that lies between two.
func (e epochs) between(from, to int64) (int64, bool) {
	for _, x := range e {
		if x > from && x < to {
			return x, true
		}
	}
	return 0, false
}

// epochs lists the epoch objects of a backend, in one request of a service.
func (g *Guard) epochs(ctx context.Context, id string, store lethe.ID) (found epochs, err error) {
	err = g.Stores[id].List(ctx, string(store)+epochDir, "", func(i blob.Info) error {
		n, err := strconv.ParseInt(i.Key[len(store)+len(epochDir):], 10, 64)
		if err != nil || epochKey(store, n) != i.Key {
			return fmt.Errorf("%w: %s is no epoch object; look at it, and remove it by hand if it is not Lethe's", lethe.ErrCorrupt, i.Key)
		}
		found = append(found, n)
		return nil
	})
	return found, err
}

// beyond draws the next epoch after one.
func (g *Guard) beyond(n int64) (int64, error) {
	if n > math.MaxInt64-epochStep-1 {
		return 0, fmt.Errorf("reclaim: %w: there is no epoch beyond %d; look at the epoch objects of the backend, and remove by hand what is not Lethe's", lethe.ErrCorrupt, n)
	}
	draw := g.Draw
	if draw == nil {
		draw = drawn
	}
	return n + 1 + draw(epochStep), nil
}

// drawn answers a random number below n, a power of two.
func drawn(n int64) int64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return int64(binary.BigEndian.Uint64(b[:]) & uint64(n-1))
}

func (g *Guard) put(ctx context.Context, id string, e epoch) error {
	body, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if err := g.Stores[id].Put(ctx, epochKey(e.Store, e.Epoch), bytes.NewReader(body), int64(len(body))); err != nil {
		return fmt.Errorf("reclaim: write epoch %d to backend %s: %w", e.Epoch, id, err)
	}
	return nil
}

// read reads an epoch object; one that makes no sense says nothing.
func (g *Guard) read(ctx context.Context, id, key string) (e epoch, err error) {
	body, err := g.Stores[id].Get(ctx, key, 0, -1)
	if err != nil {
		return e, err
	}
	defer body.Close()
	raw, err := io.ReadAll(io.LimitReader(body, 1<<16))
	if err == nil && json.Unmarshal(raw, &e) != nil {
		e = epoch{}
	}
	return e, err
}

// remove deletes epoch objects. What is left is removed the next time.
func (g *Guard) remove(ctx context.Context, id string, store lethe.ID, old epochs) error {
	if len(old) == 0 {
		return nil
	}
	keys := make([]string, len(old))
	for i, n := range old {
		keys[i] = epochKey(store, n)
	}
	_, err := g.Stores[id].Delete(ctx, keys)
	if errors.Is(err, blob.ErrNotExist) {
		return nil
	}
	return err
}

// contest tells the ledger that goes on with a backend that another lives, which is held
// because of what it found: by an epoch beyond all others, once. The other is held by it
// as well, so that neither destroys what either lists before a person decides. Where one
// has decided since this ledger advanced the backend last there is nothing to contest.
func (g *Guard) contest(ctx context.Context, b meta.Backend) error {
	if b.HeldFor != meta.HeldForLedger || b.Contested {
		return nil
	}
	store, err := g.Ledger.Identity(ctx)
	if err != nil {
		return err
	}
	if seen, err := g.challenge(ctx, store, b); err != nil || !seen {
		return err
	}
	err = g.Ledger.ChangeHold(ctx, b, meta.BackendHold{For: b.HeldFor, Reason: b.Held, Contested: true})
	if errors.Is(err, lethe.ErrFenced) {
		return nil // another decided meanwhile
	}
	return err
}

// challenge writes an epoch until it was seen to be the last, unless a person has decided.
// It is false where what lies in the backend's place is not the backend.
func (g *Guard) challenge(ctx context.Context, store meta.Store, b meta.Backend) (seen bool, err error) {
	const tries = 5
	mine := int64(0)
	for range tries {
		found, err := g.epochs(ctx, b.ID, store.ID)
		if err != nil || len(found) == 0 && b.Epoch > 0 {
			return false, err
		}
		if mine != 0 && found.last() == mine {
			return true, nil
		}
		if len(found) > 0 {
			last, err := g.read(ctx, b.ID, epochKey(store.ID, found.last()))
			if err != nil || last.Accepted > b.Epoch {
				return err == nil, err
			}
		}
		if mine, err = g.beyond(max(b.Intended, found.last())); err != nil {
			return false, err
		}
		if err := g.put(ctx, b.ID, epoch{Store: store.ID, DB: store.DB, Epoch: mine, Accepted: b.Accepted, At: g.Clock.Now()}); err != nil {
			return false, err
		}
	}
	return false, fmt.Errorf("reclaim: epoch of backend %s could not be contested: it goes on advancing", b.ID)
}
