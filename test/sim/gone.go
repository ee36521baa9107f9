package sim

import (
	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/receipt"
)

// receipted holds receipts against what went in a step: each version that is
// neither under a key nor in the trash any more has one, with the right reason;
// what is there has none; and each blob that left the books has one.
func (o *oracle) receipted(before View) error {
	here := map[lethe.ID]bool{}
	for _, x := range o.view.Objects {
		here[x.ID] = true
	}
	for _, e := range o.view.Trash {
		here[e.Object.ID] = true
	}
	blobs := map[lethe.ID]bool{}
	for _, b := range o.view.Blobs {
		blobs[b.ID] = true
	}
	for _, b := range o.view.Bodies {
		here[b.Content] = true
	}
	told := map[lethe.ID]receipt.Receipt{}
	for _, r := range o.view.Receipts {
		id := r.Version + r.Blob
		if r.How == receipt.Inline {
			id = r.Content
		}
		again := o.late[r.Blob] || o.w.sleepers[r.Blob] != nil // what was sent late may have been deleted before, and goes once more
		if _, twice := told[id]; twice && !again {
			return broken("%s has two receipts", id)
		}
		if here[id] || blobs[id] && !again {
			return broken("%s is here and has a receipt: %+v", id, r)
		}
		told[id] = r
	}
	return o.missing(before, here, told)
}

// missing looks at what the step took.
func (o *oracle) missing(before View, here map[lethe.ID]bool, told map[lethe.ID]receipt.Receipt) error {
	for _, x := range before.Objects {
		if here[x.ID] {
			continue
		}
		if err := o.reasoned(x, told[x.ID]); err != nil {
			return err
		}
	}
	for _, e := range before.Trash {
		if r := told[e.Object.ID]; !here[e.Object.ID] && (r.Reason != lethe.ReasonPurge && r.Reason != receipt.ReasonRestored || r.Trash == nil) {
			return broken("version %s left the trash with the receipt %+v", e.Object.ID, r)
		}
	}
	for _, c := range o.view.Contents {
		here[c.ID] = true // on backends, or in the ledger
	}
	for _, b := range before.Bodies {
		if r := told[b.Content]; !here[b.Content] && (r.Kind != receipt.Bytes || r.How != receipt.Inline || r.Size != int64(len(b.Bytes))) {
			return broken("the bytes of inline content %s left the ledger with the receipt %+v", b.Content, r)
		}
	}
	now := map[lethe.ID]bool{}
	for _, b := range o.view.Blobs {
		now[b.ID] = true
	}
	for _, b := range before.Blobs {
		if r := told[b.ID]; !now[b.ID] && (r.Kind != receipt.Bytes || r.Content != b.ContentID) {
			return broken("blob %s of content %s left the books with the receipt %+v", b.ID, b.ContentID, r)
		}
	}
	return nil
}

// reasoned holds the reason of a receipt against the object as it was.
func (o *oracle) reasoned(x ledger.Object, r receipt.Receipt) error {
	late, unread := x.TTLAt != 0 && x.TTLAt <= o.w.now, idle(x, o.w.now)
	right := false
	switch r.Reason {
	case lethe.ReasonExpiry:
		right = late && x.ReadsLeft != ledger.AllRead
	case lethe.ReasonRead:
		right = late && x.ReadsLeft == ledger.AllRead
	case lethe.ReasonEvicted:
		right = !late && x.UsedAt != 0
	case lethe.ReasonLifecycle:
		right = !late && !idleOver(x, o.w.now) && r.RuleNumber == x.RuleNumber && r.Rule != ""
	case lethe.ReasonIdle:
		right = !late && unread
	case lethe.ReasonDelete, lethe.ReasonOverwrite:
		right = !late && !unread && r.Op != "" && (r.Reason == lethe.ReasonOverwrite) == o.taken(x)
	}
	if r.Kind != receipt.Object || r.Key != x.Key || r.Content != x.ContentID || r.Size != x.Size || !right {
		return broken("version %s of %s/%s went with the receipt %+v", x.ID, x.Bucket, x.Key, r)
	}
	return nil
}

// taken says that another version lies under the key of x now.
func (o *oracle) taken(x ledger.Object) bool {
	for _, now := range o.view.Objects {
		if now.Bucket == x.Bucket && now.Key == x.Key {
			return now.ID != x.ID
		}
	}
	return false
}
