package service

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/ledger"
)

// maxSharers bounds the sharers that an explanation lists.
const maxSharers = 100

func checkObject(n api.ObjectName) error {
	if n.Bucket == "" || n.Key == "" {
		return fmt.Errorf("%w: an object has a bucket and a key, such as s3://bucket/key", api.ErrBadRequest)
	}
	return nil
}

// Explain returns what the ledger knows of a key, of one instant. An unknown key is not an
// error: the verdict has it.
func (s *Service) Explain(ctx context.Context, n api.ObjectName) (out api.Explanation, err error) {
	if err := checkObject(n); err != nil {
		return api.Explanation{}, err
	}
	err = s.o.Ledger.OneSnapshot(ctx, func(ctx context.Context) error {
		out, err = s.explain(ctx, n)
		return err
	})
	return out, err
}

// explain reads what the ledger has of a name.
func (s *Service) explain(ctx context.Context, n api.ObjectName) (api.Explanation, error) {
	fate, err := s.o.Ledger.Fate(ctx, n.Bucket, n.Key)
	if err != nil {
		return api.Explanation{}, err
	}
	out := api.Explanation{Bucket: n.Bucket, Key: n.Key, Now: toTime(fate.Now)}
	var contents []lethe.ID
	if o := fate.Object; o != nil {
		out.Object = objectInfo(*o)
		out.Visible = o.DueAt() == 0 || o.TTLAt == 0 || o.TTLAt > fate.Now
		contents = append(contents, o.ContentID)
	}
	for _, e := range fate.Trash {
		out.Trash = append(out.Trash, trashEntry(e))
		contents = append(contents, e.Object.ContentID)
	}
	for _, op := range fate.Ops {
		out.Operations = append(out.Operations, api.Operation{ID: string(op.Op), What: op.What, At: toTime(op.At)})
	}
	if out.Contents, err = s.contents(ctx, contents); err != nil {
		return out, err
	}
	if out.Holds, err = s.holdsOn(ctx, n); err != nil {
		return out, err
	}
	if out.Gone, out.GoneEarlier, err = s.gone(ctx, n); err != nil {
		return out, err
	}
	out.Verdict = verdictOn(out)
	return out, nil
}

// holdsOn returns the holds on a key; a deleted bucket has none.
func (s *Service) holdsOn(ctx context.Context, n api.ObjectName) (out []api.HoldInfo, err error) {
	holds, err := s.o.Ledger.HoldsOn(ctx, n.Bucket, n.Key)
	if errors.Is(err, lethe.ErrNoSuchBucket) {
		return nil, nil
	}
	for _, h := range holds {
		out = append(out, holdInfo(h))
	}
	return out, err
}

func objectInfo(o ledger.Object) *api.ObjectInfo {
	i := &api.ObjectInfo{
		ID: string(o.ID), Size: o.Size, ETag: o.ETag, ModifiedAt: toTime(o.ModifiedAt), TTLAt: toTime(o.TTLAt), RuleAt: toTime(o.RuleAt), Rule: o.Rule,
		DueAt: toTime(o.DueAt()), EndedBy: "nothing", Content: string(o.ContentID),
	}
	switch due := o.DueAt(); {
	case due == 0:
	case due == o.TTLAt:
		i.EndedBy = "ttl"
	default:
		i.EndedBy = "rule"
	}
	return i
}

// contents describes each content once; empty objects have none.
func (s *Service) contents(ctx context.Context, ids []lethe.ID) ([]api.ContentInfo, error) {
	var out []api.ContentInfo
	seen := map[lethe.ID]bool{"": true}
	for _, id := range ids {
		if seen[id] {
			continue
		}
		seen[id] = true
		c, err := s.content(ctx, id)
		if errors.Is(err, lethe.ErrContentGone) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

func (s *Service) content(ctx context.Context, id lethe.ID) (api.ContentInfo, error) {
	c, err := s.o.Ledger.ContentByID(ctx, id)
	if err != nil {
		return api.ContentInfo{}, err
	}
	out := api.ContentInfo{
		ID: string(c.ID), Domain: c.Domain, Kind: string(c.Kind), Digest: c.Digest, Size: c.Size, Refs: c.Refs, CreatedAt: toTime(c.CreatedAt),
	}
	if out.Sharers, out.More, err = s.sharers(ctx, ledger.SharerQuery{Content: id, Limit: maxSharers}); err != nil {
		return out, err
	}
	blobs, err := s.o.Ledger.ContentBlobs(ctx, id)
	if err != nil {
		return out, err
	}
	store, err := s.o.Ledger.Identity(ctx)
	for _, b := range blobs {
		out.Blobs = append(out.Blobs, blobInfo(store.ID, b))
	}
	return out, err
}

func blobInfo(store lethe.ID, b ledger.Blob) api.BlobInfo {
	return api.BlobInfo{
		ID: string(b.ID), Backend: b.Backend, Name: lethe.BlobKey(store, b.ID), State: b.State.String(), Size: b.Size,
		Segment: b.Segment, Replica: b.Replica, Reason: string(b.Reason), CreatedAt: toTime(b.CreatedAt), DiedAt: toTime(b.DiedAt),
		DueAt: toTime(b.DueAt), LateUntil: toTime(b.LateUntil), Attempts: b.Attempts, LastError: b.LastError, Suspect: b.Suspect,
		VerifiedAt: toTime(b.VerifiedAt), Worker: b.Claim.Worker,
	}
}

// holdText describes the first hold; empty if there is none.
func holdText(e api.Explanation) string {
	if len(e.Holds) == 0 {
		return ""
	}
	h := e.Holds[0]
	text := "held (" + h.Scope + " " + strconv.Quote(h.Key) + ")"
	if h.Key == "" {
		text = "held (the whole bucket)"
	}
	if h.Reason != "" {
		text += " for " + strconv.Quote(h.Reason)
	}
	return text
}

// verdictOn returns one sentence about why the object exists, or that it does
// not.
func verdictOn(e api.Explanation) string {
	switch held := holdText(e); {
	case held != "" && e.Object != nil && !e.Visible:
		return fmt.Sprintf("its time to live ended at %s: clients see nothing; the row and its bytes stay, %s", e.Object.DueAt.Format(time.RFC3339), held)
	case held != "" && e.Object != nil:
		return "here, and nobody can delete, replace or expire it: it is " + held
	case e.Object == nil && len(e.Trash) == 0 && len(e.Gone) > 0:
		last := e.Gone[len(e.Gone)-1]
		return fmt.Sprintf("not here: it went at %s: %s; %s", toTime(lethe.Time(last.Receipt.At)).Format(time.RFC3339), last.Why, last.Fate)
	case e.Object == nil && len(e.Trash) == 0:
		return "not here: it was never stored, or it went before the time for which receipts are kept (receipts.keep)"
	case e.Object == nil:
		return fmt.Sprintf("deleted; %s in the trash, and bytes stay until a restore or purge", plural(int64(len(e.Trash)), "earlier version is", "earlier versions are"))
	case !e.Visible:
		return fmt.Sprintf("its time to live ended at %s: clients see nothing; the next expire run removes the row", e.Object.DueAt.Format(time.RFC3339))
	case e.Object.EndedBy == "nothing":
		return "here until a client deletes or replaces it: it has no time to live and no rule ends it"
	case e.Object.EndedBy == "rule":
		return "here until " + e.Object.DueAt.Format(time.RFC3339) + ", when lifecycle rule " + strconv.Quote(e.Object.Rule) + " ends it"
	}
	return "here until " + e.Object.DueAt.Format(time.RFC3339) + ", when its time to live ends"
}
