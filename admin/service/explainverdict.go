package service

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/internal/words"
	"github.com/lethe-storage/lethe/ledger/sqlledger"
)

// holdText describes the first hold, and counts the others; empty if there is none.
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
	if n := int64(len(e.Holds) - 1); n > 0 {
		text += ", and by " + words.Plural(n, "more hold", "more holds") + "; each of them keeps it"
	}
	return text
}

// verdictOn returns one sentence about why the object exists, or that it does
// not.
func verdictOn(e api.Explanation) string {
	switch {
	case e.Object == nil && len(e.Trash) == 0 && len(e.Gone) > 0:
		last := e.Gone[len(e.Gone)-1]
		return fmt.Sprintf("not here: it went at %s: %s; %s", toTime(lethe.Time(last.Receipt.At)).Format(time.RFC3339), last.Why, last.Fate)
	case e.Object == nil && len(e.Trash) == 0 && e.NoBucket:
		return "not here: there is no bucket " + strconv.Quote(e.Bucket)
	case e.Object == nil && len(e.Trash) == 0 && e.Below != "":
		return "not here: no object has this key, but others begin with " + strconv.Quote(e.Below)
	case e.Object == nil && len(e.Trash) == 0:
		return "not here: it was never stored, or it went before the time for which receipts are kept (receipts.keep)"
	case e.Object == nil:
		return "deleted; " + trashText(e.Trash)
	case e.Damaged != "":
		return "damaged: " + e.Damaged + ", so reads of them fail; " + endOf(e)
	}
	return endOf(e)
}

// endOf returns when and by what an object ends, and what keeps it.
func endOf(e api.Explanation) string {
	o, held := e.Object, holdText(e)
	at, by, ended := o.DueAt.Format(time.RFC3339), "its time to live ends", "its time to live ended"
	if o.TTLKey != "" {
		by += ", the default of access key " + o.TTLKey
	}
	switch o.EndedBy {
	case "rule":
		by, ended = "lifecycle rule "+strconv.Quote(o.Rule)+" ends it", "lifecycle rule "+strconv.Quote(o.Rule)+" ended it"
	case "read":
		ended = "it was read for the last time"
	case "idle":
		at, by = o.IdleAt.Format(time.RFC3339), "it will not have been read for "+o.Idle+", unless it is read before"
		ended = "it was not read for " + o.Idle
	}
	reads := ""
	if o.ReadsLeft != nil {
		reads = "; it can be read " + words.Times(*o.ReadsLeft) + " more"
	}
	seen := "clients see nothing"
	if e.Visible {
		seen = "clients still see it"
	}
	switch over := !o.DueAt.IsZero() && !o.DueAt.After(e.Now); {
	case over && e.Stays != "":
		return fmt.Sprintf("%s at %s: %s; the row and its bytes stay, as %s", ended, at, seen, e.Stays)
	case over && e.Limited != "":
		return fmt.Sprintf("%s at %s: %s; %s", ended, at, seen, e.Limited)
	case over:
		return fmt.Sprintf("%s at %s: %s; the next expire run removes the row", ended, at, seen)
	case held != "":
		until := ""
		if !o.TTLAt.IsZero() {
			until = "; clients see it until " + o.TTLAt.Format(time.RFC3339) + ", when its time to live ends"
		}
		if !o.IdleAt.IsZero() && (o.TTLAt.IsZero() || o.IdleAt.Before(o.TTLAt)) {
			until = "; clients see it until " + o.IdleAt.Format(time.RFC3339) + ", unless it is read before"
		}
		return "here, and nobody can delete, replace or expire it: it is " + held + until + reads
	case o.EndedBy == "nothing":
		return "here until a client deletes or replaces it: it has no time to live and no rule ends it" + evictionText(*o) + reads
	}
	return "here until " + at + ", when " + by + evictionText(*o) + reads
}

// evictionText says that an object may go before for want of room, and what was used before it;
// empty if its bucket does not evict.
func evictionText(o api.ObjectInfo) string {
	if o.Evicts == "" {
		return ""
	}
	text := "; before, it may be evicted when its bucket is full, where what was " + o.Evicts + " longest ago goes first"
	if o.UsedAt.IsZero() {
		return text + " (it is not in that order yet)"
	}
	before := "no object"
	if n := o.EarlierObjects; n > 0 {
		before = words.Plural(n, "object", "objects") + " of " + words.Size(o.EarlierBytes)
		if n >= sqlledger.MaxEarlier {
			before = "at least " + before
		}
	}
	return text + ": it counts as of " + o.UsedAt.Format(time.RFC3339) + ", and " + before + " as of an earlier time"
}

// leftText describes the blobs of a deleted version that are still to be deleted: how often that
// was tried, the last error, the next try, and what stops it.
func leftText(left []api.BlobInfo) string {
	text := "its bytes are still to be deleted: " + words.Plural(int64(len(left)), "blob", "blobs")
	var worst api.BlobInfo
	var next time.Time
	stopped := ""
	for _, b := range left {
		if b.Attempts > worst.Attempts {
			worst = b
		}
		if next.IsZero() || b.DueAt.Before(next) {
			next = b.DueAt
		}
		stopped = cmp.Or(stopped, b.Stopped)
	}
	if worst.Attempts > 0 {
		text += fmt.Sprintf(", %s failed, the last with: %s", words.Plural(int64(worst.Attempts), "attempt", "attempts"), worst.LastError)
	}
	if stopped != "" {
		return text + "; " + stopped
	}
	return text + "; due at " + next.Format(time.RFC3339)
}
