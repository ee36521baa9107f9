package app

import (
	"context"
	"errors"
	"testing"

	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/notification"
)

type counted int

func (c *counted) Send(context.Context, ledger.Event) error {
	*c++
	return nil
}

// What waits of a bucket that may no longer use the target is not sent.
func TestEventsOfOtherBuckets(t *testing.T) {
	var sent counted
	to := targets{"app": {&sent, []string{"a", "b*"}}}
	for bucket, want := range map[string]error{"a": nil, "bb": nil, "aa": notification.ErrNotAllowed} {
		if err := to.Send(t.Context(), ledger.Event{Target: "app", Event: notification.Event{Bucket: bucket}}); !errors.Is(err, want) {
			t.Errorf("%s: %v", bucket, err)
		}
	}
	if sent != 2 {
		t.Errorf("%d were sent", sent)
	}
}
