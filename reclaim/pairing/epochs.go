package pairing

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
	"slices"
	"strconv"
	"strings"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/ledger"
)

// epoch is the content of an epoch object. It is read by people and by other
// ledgers.
type epoch struct {
	Store lethe.ID `json:"store"`
	DB    lethe.ID `json:"db"`
	Epoch int64    `json:"epoch"`
	// Accepted is the epoch under which an operator last gave the backend to the
	// ledger.
	Accepted int64      `json:"accepted"`
	At       lethe.Time `json:"at"`
	// Challenge: the ledger that wrote it is held, and does not use the backend
	// under it (see contest). After is the last epoch that it knew then.
	Challenge bool  `json:"challenge,omitempty"`
	After     int64 `json:"after,omitempty"`
}

const (
	epochDir = "/epoch/"
	// epochStep bounds by how much an epoch lies beyond the one before. A larger
	// step makes it less likely that two ledgers draw the same; 63 bits last for
	// 500 years of minutes.
	epochStep = 1 << 36
)

func epochKey(store lethe.ID, n int64) string {
	return fmt.Sprintf("%s%s%019d", store, epochDir, n)
}

// IsKey reports whether a backend's key is an epoch object of the store: the store's
// own, but no blob.
func IsKey(store lethe.ID, key string) bool {
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

// between reports whether an epoch lies between two.
func (e epochs) between(from, to int64) bool {
	return slices.ContainsFunc(e, func(x int64) bool { return x > from && x < to })
}

// epochs lists the epoch objects of a backend, in one request to a service.
func (g *Pairing) epochs(ctx context.Context, id string, store lethe.ID) (found epochs, err error) {
	err = g.Stores[id].List(ctx, string(store)+epochDir, "", func(i blob.Info) error {
		n, err := strconv.ParseInt(i.Key[len(store)+len(epochDir):], 10, 64)
		if err != nil || epochKey(store, n) != i.Key {
			return fmt.Errorf("%w: %s is no epoch object; check it, and remove it by hand if it is not Lethe's", lethe.ErrCorrupt, i.Key)
		}
		found = append(found, n)
		return nil
	})
	return found, err
}

// standing lists the epochs of a backend without the challenges that were settled:
// their ledgers had not seen yet that an operator gave the backend to this one.
func (g *Pairing) standing(ctx context.Context, store ledger.Store, b ledger.Backend) (epochs, error) {
	found, err := g.epochs(ctx, b.ID, store.ID)
	if err != nil || b.Accepted == 0 || found.last() == b.Epoch {
		return found, err
	}
	out := make(epochs, 0, len(found))
	for _, n := range found {
		if n > b.Epoch && n != b.Intended {
			e, err := g.read(ctx, b.ID, epochKey(store.ID, n))
			if err != nil {
				return nil, err
			}
			if e.Challenge && e.After < b.Accepted {
				continue
			}
		}
		out = append(out, n)
	}
	return out, nil
}

// beyond draws the next epoch after one.
func (g *Pairing) beyond(n int64) (int64, error) {
	if n > math.MaxInt64-epochStep-1 {
		return 0, fmt.Errorf("pairing: %w: there is no epoch beyond %d; check the epoch objects of the backend, and remove by hand those that are not Lethe's", lethe.ErrCorrupt, n)
	}
	draw := g.Draw
	if draw == nil {
		draw = drawn
	}
	return n + 1 + draw(epochStep), nil
}

// drawn returns a random number below n, a power of two.
func drawn(n int64) int64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return int64(binary.BigEndian.Uint64(b[:]) & uint64(n-1))
}

func (g *Pairing) put(ctx context.Context, id string, e epoch) error {
	body, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if err := g.Stores[id].Put(ctx, epochKey(e.Store, e.Epoch), bytes.NewReader(body), int64(len(body))); err != nil {
		return fmt.Errorf("pairing: write epoch %d to backend %s: %w", e.Epoch, id, err)
	}
	return nil
}

// read reads an epoch object. One that cannot be parsed yields the zero epoch.
func (g *Pairing) read(ctx context.Context, id, key string) (e epoch, err error) {
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
func (g *Pairing) remove(ctx context.Context, id string, store lethe.ID, old epochs) error {
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

// contest shows the ledger that goes on with a backend that this held ledger is in
// use as well. It writes an epoch beyond all others, a challenge, which holds the
// other ledger too: neither deletes anything that either lists before an operator
// decides.
//
// A challenge that is already the last epoch, of any ledger, suffices. If an
// operator decided since this ledger last advanced the backend there is nothing to
// contest. If one decides while the challenge is being written, the challenge is
// settled (standing). Each look checks for the challenge, as it may have been
// written to another disk.
func (g *Pairing) contest(ctx context.Context, b ledger.Backend) error {
	if b.HeldFor != ledger.HeldForLedger {
		return nil
	}
	store, err := g.Ledger.Identity(ctx)
	if err != nil {
		return err
	}
	const tries = 5
	for range tries {
		found, err := g.epochs(ctx, b.ID, store.ID)
		if err != nil || len(found) == 0 && b.Epoch > 0 { // without epochs it is not the backend
			return err
		}
		if len(found) > 0 {
			last, err := g.read(ctx, b.ID, epochKey(store.ID, found.last()))
			if err != nil || last.Challenge && last.After >= b.Accepted || last.Accepted > b.Epoch {
				return err
			}
		}
		n, err := g.beyond(max(b.Intended, found.last()))
		if err != nil {
			return err
		}
		if err := g.put(ctx, b.ID, epoch{
			Store: store.ID, DB: store.DB, Epoch: n, Accepted: b.Accepted, At: g.Clock.Now(), Challenge: true, After: max(found.last(), b.Epoch),
		}); err != nil {
			return err
		}
	}
	return fmt.Errorf("pairing: epoch of backend %s could not be contested: another ledger keeps advancing it", b.ID)
}
