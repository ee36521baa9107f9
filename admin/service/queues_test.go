package service_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"testing"

	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/ledger"
)

// A page continues where one of the same kind ended, and nowhere else.
func TestPagesOfAnotherKind(t *testing.T) {
	s := newService(t)
	for _, at := range []ledger.WaitingMark{
		{Free: true}, {Free: true, Backend: "main"}, // of unclaimed entries
		{Backend: "other"}, {ID: "\x00"}, {Due: ledger.DueMark{Name: "\x00"}}, {Due: ledger.DueMark{Bucket: "x"}},
	} {
		text, err := json.Marshal(at)
		if err != nil {
			t.Fatal(err)
		}
		r := api.QueueRequest{State: "claimed", After: base64.RawURLEncoding.EncodeToString(text)}
		if _, err := s.CleanupQueue(t.Context(), r); !errors.Is(err, api.ErrBadRequest) {
			t.Errorf("cleanup queue after %+v: %v", at, err)
		}
		if _, err := s.PendingObjects(t.Context(), r); !errors.Is(err, api.ErrBadRequest) {
			t.Errorf("pending objects after %+v: %v", at, err)
		}
	}
}
