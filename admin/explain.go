package admin

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// maxSharers bounds the sharers that an explanation lists.
const maxSharers = 100

// ObjectName names an object.
type ObjectName struct {
	Bucket string `json:"bucket"`
	Key    string `json:"key"`
}

func checkObject(n ObjectName) error {
	if n.Bucket == "" || n.Key == "" {
		return fmt.Errorf("%w: an object has a bucket and a key, such as s3://bucket/key", ErrBadRequest)
	}
	return nil
}

// Explanation is why an object exists, what it shares, when it expires and by
// which rule; or what is left of a deleted one.
type Explanation struct {
	Bucket string    `json:"bucket"`
	Key    string    `json:"key"`
	Now    time.Time `json:"now"`
	// Verdict is one sentence for people.
	Verdict string `json:"verdict"`
	Visible bool   `json:"visible"` // clients can read it
	// Object is the row of the key, if there is one.
	Object *ObjectInfo `json:"object,omitempty"`
	// Trash are the earlier versions that can be restored.
	Trash []TrashEntry `json:"trash,omitempty"`
	// Contents are the bytes of Object and Trash.
	Contents []ContentInfo `json:"contents,omitempty"`
	// Gone are the last deleted versions, by their receipts, in the order of
	// their deletion; GoneEarlier counts those before them.
	Gone        []Gone `json:"gone,omitempty"`
	GoneEarlier int    `json:"gone_earlier,omitempty"`
	// Operations wrote these rows, as far as they are recorded.
	Operations []Operation `json:"operations,omitempty"`
	// Holds keep the object, whatever is due or requested.
	Holds []HoldInfo `json:"holds,omitempty"`
}

// ObjectInfo is an object's row.
type ObjectInfo struct {
	ID         string    `json:"id"`
	Size       int64     `json:"size"`
	ETag       string    `json:"etag"`
	ModifiedAt time.Time `json:"modified_at"`
	TTLAt      time.Time `json:"ttl_at,omitzero"`  // the client's time to live ends
	RuleAt     time.Time `json:"rule_at,omitzero"` // a lifecycle rule ends it
	Rule       string    `json:"rule,omitempty"`   // that rule's ID
	DueAt      time.Time `json:"due_at,omitzero"`  // the earlier of both
	EndedBy    string    `json:"ended_by"`         // "ttl", "rule" or "nothing"
	Content    string    `json:"content,omitempty"`
}

// ContentInfo is one content, its references, and the places of its bytes.
type ContentInfo struct {
	ID        string     `json:"id"`
	Domain    string     `json:"domain"`
	Kind      string     `json:"kind"`
	Digest    string     `json:"digest"`
	Size      int64      `json:"size"`
	Refs      int64      `json:"refs"`
	CreatedAt time.Time  `json:"created_at"`
	Sharers   []Sharer   `json:"sharers"`
	More      bool       `json:"more_sharers,omitempty"`
	Blobs     []BlobInfo `json:"blobs"`
}

// Sharer is an object or trash entry that refers to a content.
type Sharer struct {
	Bucket string `json:"bucket"` // empty: the bucket was deleted
	Key    string `json:"key"`
	Trash  bool   `json:"trash,omitempty"`
	// ID is that of the object's version, of the trash entry, or of the upload.
	ID string `json:"id"`
	// Upload reports that it is an open upload, not an object.
	Upload bool `json:"upload,omitempty"`
}

// BlobInfo is one blob and the attempts to delete it.
type BlobInfo struct {
	ID         string    `json:"id"`
	Backend    string    `json:"backend"`
	Name       string    `json:"name"` // on the backend
	State      string    `json:"state"`
	Size       int64     `json:"size"`
	Segment    int       `json:"segment"`
	Replica    int       `json:"replica"`
	Reason     string    `json:"reason,omitempty"` // why it was condemned
	CreatedAt  time.Time `json:"created_at"`
	DiedAt     time.Time `json:"died_at,omitzero"`
	DueAt      time.Time `json:"due_at,omitzero"` // deleted from then on
	LateUntil  time.Time `json:"late_until,omitzero"`
	Attempts   int       `json:"attempts,omitempty"`
	LastError  string    `json:"last_error,omitempty"`
	Suspect    bool      `json:"suspect,omitempty"`
	VerifiedAt time.Time `json:"verified_at,omitzero"`
	Worker     string    `json:"worker,omitempty"` // that has it claimed
}

// Operation is the record of a client's mutation.
type Operation struct {
	ID   string    `json:"id"`
	What string    `json:"what"`
	At   time.Time `json:"at"`
}

// Explain returns what the ledger knows of a key, of one instant. An unknown key is not an
// error: the verdict has it.
func (s *Service) Explain(ctx context.Context, n ObjectName) (out Explanation, err error) {
	if err := checkObject(n); err != nil {
		return Explanation{}, err
	}
	err = s.o.Ledger.OneSnapshot(ctx, func(ctx context.Context) error {
		out, err = s.explain(ctx, n)
		return err
	})
	return out, err
}

// explain reads what the ledger has of a name.
func (s *Service) explain(ctx context.Context, n ObjectName) (Explanation, error) {
	fate, err := s.o.Ledger.Fate(ctx, n.Bucket, n.Key)
	if err != nil {
		return Explanation{}, err
	}
	out := Explanation{Bucket: n.Bucket, Key: n.Key, Now: toTime(fate.Now)}
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
		out.Operations = append(out.Operations, Operation{string(op.Op), op.What, toTime(op.At)})
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
func (s *Service) holdsOn(ctx context.Context, n ObjectName) (out []HoldInfo, err error) {
	holds, err := s.o.Ledger.HoldsOn(ctx, n.Bucket, n.Key)
	if errors.Is(err, lethe.ErrNoSuchBucket) {
		return nil, nil
	}
	for _, h := range holds {
		out = append(out, holdInfo(h))
	}
	return out, err
}

func objectInfo(o ledger.Object) *ObjectInfo {
	i := &ObjectInfo{
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
func (s *Service) contents(ctx context.Context, ids []lethe.ID) ([]ContentInfo, error) {
	var out []ContentInfo
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

func (s *Service) content(ctx context.Context, id lethe.ID) (ContentInfo, error) {
	c, err := s.o.Ledger.ContentByID(ctx, id)
	if err != nil {
		return ContentInfo{}, err
	}
	out := ContentInfo{
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

func blobInfo(store lethe.ID, b ledger.Blob) BlobInfo {
	return BlobInfo{
		ID: string(b.ID), Backend: b.Backend, Name: lethe.BlobKey(store, b.ID), State: b.State.String(), Size: b.Size,
		Segment: b.Segment, Replica: b.Replica, Reason: string(b.Reason), CreatedAt: toTime(b.CreatedAt), DiedAt: toTime(b.DiedAt),
		DueAt: toTime(b.DueAt), LateUntil: toTime(b.LateUntil), Attempts: b.Attempts, LastError: b.LastError, Suspect: b.Suspect,
		VerifiedAt: toTime(b.VerifiedAt), Worker: b.Claim.Worker,
	}
}

// holdText describes the first hold; empty if there is none.
func holdText(e Explanation) string {
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
func verdictOn(e Explanation) string {
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
