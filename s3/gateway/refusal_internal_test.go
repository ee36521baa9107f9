package gateway

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/placement"
)

// drained is a ledger whose only backend is being drained.
type drained struct{ full bool }

func (d drained) Backends(context.Context) ([]ledger.Backend, error) {
	return []ledger.Backend{{ID: "disk1", Quota: 10, Draining: !d.full}}, nil
}

func (drained) Totals(context.Context) ([]ledger.Total, error) { return nil, nil }

// TestRefusalsReachClients checks that the error's message names the skipped
// backends with their reasons.
func TestRefusalsReachClients(t *testing.T) {
	for _, c := range []struct {
		full bool
		want string
	}{{true, "disk1 has 10 bytes free of 10"}, {false, "disk1 is being drained"}} {
		r := placement.NewRouter(placement.RouterOptions{Order: []string{"disk1"}, Ledger: drained{c.full}})
		if err := r.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		answer := NewBackend(BackendOptions{}).fail(&op{req: &request{}}, fmt.Errorf("object: put b/k: %w", r.Refuse(20)))
		text, err := xml.Marshal(answer)
		if err != nil || !strings.Contains(fmt.Sprintf("%+v %s", answer, text), c.want) {
			t.Errorf("the answer is %+v (%v), want %q in it", answer, err, c.want)
		}
	}
}

// TestBrokenBackendIsNotTheClientsFault checks that an interrupted response of
// a backend is not reported as an interrupted body of the client.
func TestBrokenBackendIsNotTheClientsFault(t *testing.T) {
	cut := fmt.Errorf("object: put b/k: %w: %w", lethe.ErrUnavailable, fmt.Errorf("transport: %w", io.ErrUnexpectedEOF))
	for err, want := range map[error]int{
		cut: 503, io.ErrUnexpectedEOF: 400, fmt.Errorf("%w: %w", lethe.ErrIncompleteBody, io.ErrUnexpectedEOF): 400,
	} {
		var answer interface{ StatusCode() int }
		if got := NewBackend(BackendOptions{}).fail(&op{req: &request{}}, err); !errors.As(got, &answer) || answer.StatusCode() != want {
			t.Errorf("%v is answered %v, want %d", err, got, want)
		}
	}
}
