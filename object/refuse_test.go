package object_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/ledgertest"
	"github.com/lethe-storage/lethe/object"
)

// TestRefusal: when no backend has room, the router explains why.
func TestRefusal(t *testing.T) {
	w := newWorld(t, nil)
	who, err := w.db.Identity(w.ctx)
	w.must(err)
	why := errors.New("says the router")
	asked := []int64{}
	picked := []string{"disk1", "disk2"}
	s, err := object.New(object.Options{
		Ledger: ledgertest.ForObjects(w.db), Backends: map[string]blob.Store{"disk1": w.backends["disk1"], "disk2": w.backends["disk2"]}, StoreID: who.ID, Clock: w.clock, Small: small,
		Pick: func(int64) []string { return picked },
		Refuse: func(size int64) error {
			asked = append(asked, size)
			return errors.Join(lethe.ErrNoRoom, why)
		},
	})
	w.must(err)
	put := func(size int64) error {
		_, err := s.Put(w.ctx, object.PutRequest{Bucket: bucket, Key: "k", Body: strings.NewReader("body"), Size: size})
		return err
	}
	for _, id := range picked {
		_, err := w.db.AddBackend(w.ctx, ledger.Backend{ID: id, Quota: 3})
		w.must(err)
	}
	if err := put(4); !errors.Is(err, why) || !errors.Is(err, lethe.ErrNoRoom) {
		t.Errorf("both full: %v", err)
	}
	picked = nil
	if err := put(4); !errors.Is(err, why) {
		t.Errorf("none picked: %v", err)
	}
	picked = []string{"disk1"}
	_, err = w.db.AddBackend(w.ctx, ledger.Backend{ID: "disk1", Quota: 100})
	w.must(err)
	if err := put(4); err != nil || len(asked) != 2 || asked[0] != 4 {
		t.Errorf("room again: %v, asked %v", err, asked)
	}
}
