package service

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/ledger"
)

// CleanupQueue lists condemned blobs.
func (s *Service) CleanupQueue(ctx context.Context, r api.QueueRequest) (api.QueueList, error) {
	now := s.o.Clock.Now()
	q, err := s.queueQuery(ctx, r, now)
	if err != nil {
		return api.QueueList{}, err
	}
	q.State = lethe.Condemned
	switch r.State {
	case "", "claimed":
	case "due":
		q.DueBy, q.Unclaimed = now, true
	case "scheduled":
		q.DueAfter, q.Unclaimed = now, true
	default:
		return api.QueueList{}, fmt.Errorf("%w: state is %q; what is in the cleanup queue is claimed, due or scheduled", api.ErrBadRequest, r.State)
	}
	return s.queue(ctx, q)
}

// PendingObjects lists the intents of writes in progress.
func (s *Service) PendingObjects(ctx context.Context, r api.QueueRequest) (api.QueueList, error) {
	now := s.o.Clock.Now()
	q, err := s.queueQuery(ctx, r, now)
	if err != nil {
		return api.QueueList{}, err
	}
	q.State = lethe.Pending
	switch r.State {
	case "", "claimed":
	case "silent":
		q.Unclaimed = true
		if since := now.Add(-s.o.Safety.MinAge); q.Since == 0 || since < q.Since {
			q.Since = since
		}
	case "alive":
		q.BeatAfter, q.Unclaimed = now.Add(-s.o.Safety.MinAge), true
	default:
		return api.QueueList{}, fmt.Errorf("%w: state is %q; pending objects are claimed, silent or alive", api.ErrBadRequest, r.State)
	}
	return s.queue(ctx, q)
}

// queueQuery returns the query of a request's filters. It fails with
// ErrBadRequest.
func (s *Service) queueQuery(ctx context.Context, r api.QueueRequest, now lethe.Time) (q ledger.WaitingQuery, err error) {
	q = ledger.WaitingQuery{Claimed: r.State == "claimed", ClaimedBy: r.ClaimedBy, MinAttempts: r.MinAttempts, Reason: lethe.Reason(r.Reason), Limit: r.Limit}
	if r.MinAge != "" {
		age, err := lethe.ParseTTL(r.MinAge)
		if err != nil {
			return q, fmt.Errorf("%w: min_age: %w", api.ErrBadRequest, err)
		}
		q.Since = now.Add(-age)
	}
	if q.After, err = markOf(r.After); err != nil {
		return q, err
	}
	if q.Claimed && q.After.Free {
		return q, fmt.Errorf("%w: the page before was of another state", api.ErrBadRequest)
	}
	if err := s.hasBackend(ctx, r.Backend); err != nil {
		return q, err
	}
	list, err := s.o.Ledger.Backends(ctx)
	for _, b := range list {
		if r.Backend == "" || r.Backend == b.ID {
			q.Backends = append(q.Backends, b.ID)
		}
	}
	if a := q.After.Backend; a != "" && !slices.Contains(q.Backends, a) {
		return q, fmt.Errorf("%w: the page before was of other backends", api.ErrBadRequest)
	}
	return q, err
}

func (s *Service) queue(ctx context.Context, q ledger.WaitingQuery) (api.QueueList, error) {
	out := api.QueueList{Blobs: []api.QueuedInfo{}}
	store, err := s.o.Ledger.Identity(ctx)
	if err != nil {
		return out, err
	}
	p, err := s.o.Ledger.Waiting(ctx, q)
	if err != nil {
		return out, err
	}
	for _, b := range p.Blobs {
		i := api.QueuedInfo{BlobInfo: blobInfo(store.ID, b), Content: string(b.ContentID), Upload: string(b.UploadID), Part: b.Part}
		if b.Claim.Fence != 0 {
			i.ClaimedAt = toTime(b.Claim.At)
		}
		if q.State == lethe.Pending {
			i.BeatAt = toTime(b.BeatAt)
		}
		out.Blobs = append(out.Blobs, i)
	}
	if !p.More {
		return out, nil
	}
	out.Next, err = nextOf(p.Next)
	return out, err
}

// nextOf returns the token for the beginning of the next page.
func nextOf(at ledger.WaitingMark) (string, error) {
	text, err := json.Marshal(at)
	return base64.RawURLEncoding.EncodeToString(text), err
}

// markOf is the inverse of nextOf; an empty token is the beginning. It fails
// with ErrBadRequest for a token that nextOf cannot have made: tokens are
// untrusted, and databases do not accept every text.
func markOf(token string) (at ledger.WaitingMark, err error) {
	if token == "" {
		return at, nil
	}
	text, err := base64.RawURLEncoding.DecodeString(token)
	if err == nil {
		err = json.Unmarshal(text, &at)
	}
	again := ""
	if err == nil {
		again, err = nextOf(at)
	}
	for _, id := range []string{string(at.ID), at.Due.Name, string(at.Due.Bucket)} {
		if _, bad := lethe.ParseID(id); bad != nil && id != "" {
			err = bad
		}
	}
	if err != nil || again != token {
		return ledger.WaitingMark{}, fmt.Errorf("%w: after is not what a page said as its next", api.ErrBadRequest)
	}
	return at, nil
}
