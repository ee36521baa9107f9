package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

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
	facts, err := s.o.Ledger.ExplainKey(ctx, n.Bucket, n.Key)
	if err != nil {
		return api.Explanation{}, err
	}
	out := api.Explanation{Bucket: n.Bucket, Key: n.Key, Now: toTime(facts.Now)}
	var contents []lethe.ID
	if o := facts.Object; o != nil {
		info, err := s.objectInfo(ctx, *o)
		if err != nil {
			return out, err
		}
		info.EarlierObjects, info.EarlierBytes = facts.Earlier.Objects, facts.Earlier.Bytes
		out.Object = &info
		out.Visible = o.VisibleAt(facts.Now)
		contents = append(contents, o.ContentID)
	}
	for _, e := range facts.Trash {
		contents = append(contents, e.Object.ContentID)
	}
	for _, op := range facts.Ops {
		out.Operations = append(out.Operations, api.Operation{ID: string(op.Op), What: op.What, At: toTime(op.At)})
	}
	for _, e := range facts.Events {
		out.Events = append(out.Events, eventInfo(e))
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
	if err = s.addTrash(ctx, facts.Trash, &out); err != nil {
		return out, err
	}
	if o := facts.Object; o != nil {
		if out.Damaged = damage(out.Contents, o.ContentID); !out.Object.DueAt.IsZero() && !out.Object.DueAt.After(out.Now) {
			err = s.addStays(ctx, *o, &out)
		}
	} else {
		err = s.addMisnamed(ctx, &out)
	}
	out.Verdict = verdictOn(out)
	return out, err
}

// addMisnamed adds whether the bucket is not there, or the key is the beginning of others.
func (s *Service) addMisnamed(ctx context.Context, e *api.Explanation) error {
	prefix := strings.TrimSuffix(e.Key, "/") + "/"
	page, err := s.o.Ledger.List(ctx, ledger.ListQuery{Bucket: e.Bucket, Prefix: prefix, Limit: 1})
	if e.NoBucket = errors.Is(err, lethe.ErrNoSuchBucket); e.NoBucket {
		return nil
	}
	if len(page.Objects) > 0 {
		e.Below = prefix
	}
	return err
}

// damage describes which bytes of an object have no sound copy; empty: none.
func damage(contents []api.ContentInfo, id lethe.ID) string {
	for _, c := range contents {
		if c.ID != string(id) {
			continue
		}
		sound, suspect := map[int]bool{}, ""
		for _, b := range c.Blobs {
			switch {
			case b.State != lethe.Live.String():
			case !b.Suspect:
				sound[b.Segment] = true
			default:
				suspect = cmp.Or(b.LastError, "it is suspect")
			}
		}
		for _, b := range c.Blobs {
			if b.State == lethe.Live.String() && !sound[b.Segment] {
				return fmt.Sprintf("no sound copy of its bytes is known (%s: %s)", b.Backend, suspect)
			}
		}
	}
	return ""
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

// objectInfo describes an object, with its end by the rules in force.
func (s *Service) objectInfo(ctx context.Context, o ledger.Object) (api.ObjectInfo, error) {
	b, err := s.o.Ledger.Rules(ctx, o.Bucket)
	if err != nil && !errors.Is(err, lethe.ErrNoSuchBucket) {
		return api.ObjectInfo{}, err
	}
	set, err := s.o.Ledger.Bucket(ctx, o.Bucket)
	if err != nil && !errors.Is(err, lethe.ErrNoSuchBucket) {
		return api.ObjectInfo{}, err
	}
	i := api.ObjectInfo{
		ID: string(o.ID), Size: o.Size, ETag: o.ETag, ModifiedAt: toTime(o.ModifiedAt), TTLAt: toTime(o.TTLAt),
		EndedBy: "nothing", Content: string(o.ContentID), TTLKey: o.Attrs.EndKey,
		Idle: ttlText(o.IdleFor), IdleAt: toTime(o.IdleAt), UsedAt: toTime(o.UsedAt), Evicts: string(set.Evict.Order),
	}
	if o.Counted() {
		left := max(o.ReadsLeft, 0)
		i.ReadsLeft = &left
	}
	holds, err := s.holdsOn(ctx, api.ObjectName{Bucket: o.Bucket, Key: o.Key})
	if err != nil {
		return i, err
	}
	i.Held = len(holds) > 0
	now, err := s.o.Ledger.LedgerTime(ctx)
	if err != nil {
		return i, err
	}
	if e := o.EndsAt(now, b.Rules); e.At != 0 {
		i.DueAt, i.EndedBy = toTime(e.At), string(e.By)
	}
	o.TTLAt, o.IdleAt = 0, 0
	if e := o.Ends(b.Rules); e.At != 0 {
		i.RuleAt, i.Rule = toTime(e.At), e.Rule
	}
	return i, nil
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
		ID: string(c.ID), Domain: c.Domain, Kind: string(c.Kind), Digest: c.Digest, Size: c.Size, Refs: c.Refs, CreatedAt: toTime(c.CreatedAt), Inline: c.Inline,
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
		DueAt: toTime(b.DueAt), LateUntil: toTime(b.LateUntil), Attempts: b.Attempts, LastError: api.Plain(b.LastError), Suspect: b.Suspect,
		VerifiedAt: toTime(b.VerifiedAt), Worker: b.Claim.Worker,
	}
}
