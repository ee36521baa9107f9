package console

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/internal/words"
)

// event is a point in the life of an object.
type event struct {
	At    time.Time // zero: no instant is known
	Class string    // done, hold, end, gone or later
	Title string
	Lines []string
	// Sharers are objects with the same bytes; Restore is what can be restored.
	Sharers []api.Sharer
	More    bool
	Restore *api.TrashEntry
	Place   place // where it can be undone
}

// lifeOf returns the life of a key, from its deleted versions to the end that is to come,
// in the order of time.
func lifeOf(e api.Explanation) []event {
	var past []event
	for _, g := range e.Gone {
		past = append(past, goneEvents(g)...)
	}
	for _, t := range e.Trash {
		past = append(past, event{
			At: t.DeletedAt, Class: "end", Title: titleOf(t.Reason), Restore: &t,
			Lines: []string{trashLine(t)},
		})
	}
	if o := e.Object; o != nil {
		past = append(past, event{At: o.ModifiedAt, Class: "done", Title: "Written", Lines: writtenLines(e, *o)})
		for _, c := range e.Contents {
			if c.ID == o.Content {
				past = append(past, bytesEvent(e, *o, c))
			}
		}
	}
	slices.SortStableFunc(past, func(a, b event) int { return a.At.Compare(b.At) })
	for _, h := range e.Holds {
		past = append(past, holdEvent(h))
	}
	return append(past, laterEvents(e)...)
}

func titleOf(reason string) string {
	switch lethe.Reason(reason) {
	case lethe.ReasonOverwrite:
		return "Replaced"
	case lethe.ReasonExpiry:
		return "Ended by its time to live"
	case lethe.ReasonLifecycle:
		return "Ended by a lifecycle rule"
	}
	return "Deleted"
}

// goneEvents are the end of a deleted version, and what became of its bytes.
func goneEvents(g api.Gone) []event {
	r := g.Receipt
	went := event{At: instant(lethe.Time(r.At)), Class: "end", Title: "Went", Lines: []string{
		sentence(g.Why), fmt.Sprintf("Version %s, %s.", r.Version, words.Size(r.Size)),
	}}
	if r.Trash != nil {
		went.Lines = append(went.Lines, "It was in the trash from "+stamp(instant(lethe.Time(r.Trash.At)))+" ("+string(r.Trash.Reason)+").")
	}
	fate := event{At: went.At, Class: "gone", Title: "Its bytes", Lines: []string{sentence(g.Fate)}}
	for _, b := range g.Confirmed {
		at := instant(lethe.Time(b.At))
		fate.At = latest(fate.At, at)
		fate.Lines = append(fate.Lines, fmt.Sprintf("Blob %s on %s: %s at %s.", b.Blob, b.Backend, b.How, stamp(at)))
	}
	if len(g.Left) == 0 && len(g.Confirmed) > 0 {
		fate.Title = "Confirmed gone"
	}
	for _, b := range g.Left {
		fate.Class, fate.Title = "later", "Condemned"
		if b.State == lethe.Dead.String() {
			fate.Class, fate.Title = "gone", "Given up"
		}
		fate.Lines = append(fate.Lines, blobLine(b))
	}
	return []event{went, fate}
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// blobLine describes a blob and the attempts to delete it.
func blobLine(b api.BlobInfo) string {
	text := fmt.Sprintf("Blob %s on %s: %s, %s", b.ID, b.Backend, b.State, words.Size(b.Size))
	switch {
	case b.State == lethe.Dead.String():
		text += ", given up after " + words.Plural(int64(b.Attempts), "attempt", "attempts")
	case b.State == lethe.Condemned.String() && !b.DueAt.IsZero():
		text += ", due " + stamp(b.DueAt)
		if b.Attempts > 0 {
			text += " after " + words.Plural(int64(b.Attempts), "attempt", "attempts")
		}
	case !b.VerifiedAt.IsZero():
		text += ", verified " + stamp(b.VerifiedAt)
	}
	if b.Stopped != "" {
		text += "; nothing deletes it now: " + b.Stopped
	}
	if b.LastError != "" {
		text += "; last error: " + b.LastError
	}
	if b.Suspect {
		text += "; it is suspect"
	}
	return text + "."
}

func writtenLines(e api.Explanation, o api.ObjectInfo) []string {
	lines := []string{fmt.Sprintf("Version %s, %s, ETag %s.", o.ID, words.Size(o.Size), o.ETag)}
	for _, op := range e.Operations {
		if op.ID == o.ID {
			lines = append(lines, "By the operation "+op.What+".")
		}
	}
	return lines
}

// bytesEvent describes the content of the present object.
func bytesEvent(e api.Explanation, o api.ObjectInfo, c api.ContentInfo) event {
	ev := event{At: latest(o.ModifiedAt, c.CreatedAt), Class: "done", Title: "Its bytes are its own", More: c.More}
	for _, s := range c.Sharers {
		if s.Trash || s.Upload || s.Bucket != e.Bucket || s.Key != e.Key {
			ev.Sharers = append(ev.Sharers, s)
		}
	}
	if c.Refs > 1 {
		ev.Title = "Its bytes are shared with " + words.Plural(c.Refs-1, "other", "others")
		ev.Lines = append(ev.Lines, "They go when the last reference goes.")
	}
	if c.CreatedAt.Before(o.ModifiedAt.Add(-time.Second)) {
		ev.Lines = append(ev.Lines, "Stored since "+stamp(c.CreatedAt)+".")
	}
	for _, b := range c.Blobs {
		ev.Lines = append(ev.Lines, blobLine(b))
	}
	return ev
}

func holdEvent(h api.HoldInfo) event {
	what := map[string]string{"object": "on this key", "prefix": "on " + holdName(h), "legal": "a legal hold of an S3 client"}[h.Scope]
	if h.Scope == "prefix" && h.Key == "" {
		what = "on the whole bucket, " + holdName(h)
	}
	ev := event{Class: "hold", Title: "Held, " + what, Lines: []string{"Nobody can delete, replace or expire it."}}
	if h.Scope == "prefix" {
		ev.Place = place{"/limits#holds-h", "Release it in the list of holds"}
	}
	if h.At != 0 {
		ev.At = instant(h.At)
	}
	if h.Reason != "" {
		ev.Lines = append(ev.Lines, "Reason: "+h.Reason+".")
	}
	if h.By != "" {
		ev.Lines = append(ev.Lines, "Set by "+h.By+".")
	}
	return ev
}

// laterEvents are the end that is to come, by each of what could end it.
func laterEvents(e api.Explanation) []event {
	o := e.Object
	switch {
	case o == nil:
		return nil
	case o.DueAt.IsZero():
		return []event{{Class: "later", Title: "No end", Lines: []string{"It has no time to live, and no rule ends it. It stays until a client deletes or replaces it." + readsLine(*o)}}}
	}
	end := event{At: o.DueAt, Class: "later", Title: "Ends", Lines: []string{"Its time to live ends."}}
	if o.ReadsLeft != nil && *o.ReadsLeft == 0 {
		end.Lines = []string{"It was read for the last time."}
	}
	if o.EndedBy == "idle" {
		end.Lines = []string{"Nobody has read it for " + o.Idle + " then. A read before moves this."}
	}
	if o.EndedBy == "rule" {
		end.Lines = []string{"The lifecycle rule " + cmp.Or(o.Rule, "(unnamed)") + " ends it."}
	}
	if other := otherEnd(*o); other != "" {
		end.Lines = append(end.Lines, other)
	}
	if e.Stays != "" {
		end.Lines = append(end.Lines, "It stays: "+sentence(e.Stays))
	} else if o.Held {
		end.Lines = append(end.Lines, "A hold keeps it all the same, until it is released.")
	}
	if o.Held {
		end.Title = "Would end; a hold keeps it"
	}
	if !e.Visible {
		end.Title, end.Class = "Ended", "end"
		end.Lines = append(end.Lines, "Clients see nothing any more.")
		if e.Stays == "" {
			end.Lines = append(end.Lines, sentence(cmp.Or(e.Limited, "the next run of expire removes it")))
		}
	}
	after := event{Class: "later", Title: "Then its bytes", Lines: []string{"The moment it goes, its bytes will be condemned, unless others share them. They will be deleted after a grace for readers, and the backend will confirm it."}}
	return []event{end, after}
}

// trashLine says how long an earlier version can be restored.
func trashLine(t api.TrashEntry) string {
	switch {
	case t.Stays != "":
		return fmt.Sprintf("%s in the trash, due for purge since %s. It stays: %s", words.Size(t.Size), stamp(t.PurgeAt), sentence(t.Stays))
	case t.Due:
		return fmt.Sprintf("%s in the trash: %s.", words.Size(t.Size), cmp.Or(t.Limited, "the next run of purge removes it"))
	}
	if t.Held {
		return fmt.Sprintf("%s in the trash: a hold keeps it, also after %s.", words.Size(t.Size), stamp(t.PurgeAt))
	}
	return fmt.Sprintf("%s in the trash: it can be restored until %s.", words.Size(t.Size), stamp(t.PurgeAt))
}

// readsLine says how often an object can still be read, if that is counted.
func readsLine(o api.ObjectInfo) string {
	if o.ReadsLeft == nil {
		return ""
	}
	return " It can be read " + words.Times(*o.ReadsLeft) + " more."
}

// otherEnd describes the later ends.
func otherEnd(o api.ObjectInfo) string {
	var ends []string
	if !o.TTLAt.IsZero() && o.EndedBy != "ttl" && o.EndedBy != "read" {
		ends = append(ends, "Its own time to live would end "+stamp(o.TTLAt)+".")
	}
	if !o.IdleAt.IsZero() && o.EndedBy != "idle" {
		ends = append(ends, "Without a read it would end "+stamp(o.IdleAt)+".")
	}
	if !o.RuleAt.IsZero() && o.EndedBy != "rule" {
		ends = append(ends, "The lifecycle rule "+cmp.Or(o.Rule, "(unnamed)")+" would end it "+stamp(o.RuleAt)+".")
	}
	return strings.Join(ends, " ")
}
