package service

import (
	"encoding/base64"
	"errors"
	"math"
	"testing"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/ledger"
)

// FuzzQueueToken checks that a token is either a position of a previous page or
// refused as a bad request, and that each position has one token.
func FuzzQueueToken(f *testing.F) {
	id := lethe.RandomID(1)
	for _, at := range []ledger.WaitingMark{
		{}, {Fence: 7, ID: id}, {Free: true}, {Free: true, Backend: "main"}, {Fence: math.MinInt64}, {ID: "\x00"}, {Due: ledger.DueMark{Name: "'--"}},
		{Free: true, Backend: "main", Due: ledger.DueMark{Due: lethe.Forever, Size: math.MaxInt64, Name: string(id)}}, {Due: ledger.DueMark{Bucket: "x"}},
	} {
		token, err := nextOf(at)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(token)
	}
	for _, text := range []string{"", "{", "null", "[]", "{}", `{"Fence":1,"Fence":2}`, `{"fence":1}`, `{"Fence":1e3}`, `{"Fence":9223372036854775808}`, `{"Free":true,"x":1}`} {
		f.Add(base64.RawURLEncoding.EncodeToString([]byte(text)))
	}
	f.Add("%")
	f.Fuzz(func(t *testing.T, token string) {
		at, err := markOf(token)
		if err != nil {
			if !errors.Is(err, api.ErrBadRequest) || at != (ledger.WaitingMark{}) {
				t.Fatalf("%q: %+v, %v", token, at, err)
			}
			return
		}
		again, err := nextOf(at)
		if err != nil || token != "" && again != token {
			t.Fatalf("%q is %+v, which is %q: %v", token, at, again, err)
		}
		for _, id := range []string{string(at.ID), at.Due.Name, string(at.Due.Bucket)} {
			if _, err := lethe.ParseID(id); id != "" && err != nil {
				t.Fatalf("%q asks the ledger for %q", token, id)
			}
		}
	})
}
