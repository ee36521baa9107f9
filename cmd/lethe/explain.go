package main

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/internal/words"
	"github.com/lethe-storage/lethe/receipt"
)

func (c *cli) explainCommand() *cobra.Command {
	var asJSON bool
	var blob string
	cmd := &cobra.Command{
		Use:   "explain s3://bucket/key",
		Short: "Explain why an object exists, what shares its bytes, and when and why it ends",
		Long: `Explain why an object exists, what shares its bytes, and when and by which rule it
ends. With --blob, list all objects, trash entries and uploads that need a blob and
would be lost with it.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if (blob != "") == (len(args) == 1) {
				return usageError("name an object as s3://bucket/key, or a blob with --blob")
			}
			if blob != "" {
				return c.withAdmin(cmd.Context(), func(client *api.Client) error {
					return c.blobObjects(cmd.Context(), client, blob, asJSON)
				})
			}
			name, err := parseObject(args[0])
			if err != nil {
				return err
			}
			return c.withAdmin(cmd.Context(), func(client *api.Client) error {
				e, err := client.Explain(cmd.Context(), name)
				if err != nil {
					return err
				}
				if asJSON {
					err = printJSON(c.out, e)
				} else {
					c.explain(e)
				}
				if err == nil && e.Object == nil && len(e.Trash) == 0 && len(e.Gone) == 0 {
					err = &exitError{code: exitNothing}
				}
				return err
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	cmd.Flags().StringVar(&blob, "blob", "", "the id of a blob, or its `name` on its backend")
	return c.completes(cmd, objectPlaces)
}

// blobObjects lists everything that needs a blob, page by page.
func (c *cli) blobObjects(ctx context.Context, client *api.Client, blob string, asJSON bool) error {
	req, all := api.BlobObjectsRequest{Blob: blob}, api.BlobObjects{Objects: []api.Sharer{}}
	for more := true; more; {
		page, err := api.Call[api.BlobObjects](ctx, client, "blobs/objects", req)
		if err != nil {
			return err
		}
		if !asJSON {
			c.sharers(page.Objects)
		} else {
			all.Objects = append(all.Objects, page.Objects...)
		}
		all.Blob, all.Refs = page.Blob, max(all.Refs, page.Refs)
		if more = page.More; more {
			last := page.Objects[len(page.Objects)-1]
			req.AfterID, req.AfterTrash = last.ID, last.Trash
		} else if !asJSON && req.AfterID == "" && len(page.Objects) == 0 {
			printf(c.out, "nothing needs this blob; it is %s\n", page.Blob.State)
		}
	}
	if asJSON {
		return printJSON(c.out, all)
	}
	return nil
}

// sharers prints what needs a blob, one a line.
func (c *cli) sharers(list []api.Sharer) {
	for _, s := range list {
		text := "s3://" + s.Bucket + "/" + s.Key
		switch {
		case s.Trash:
			text += fmt.Sprintf(" (in the trash: %s)", s.ID)
		case s.Upload:
			text += fmt.Sprintf(" (an open upload: %s)", s.ID)
		}
		printf(c.out, "%s\n", text)
	}
}

func (c *cli) explain(e api.Explanation) {
	printf(c.out, "s3://%s/%s\n  %s\n", e.Bucket, e.Key, e.Verdict)
	if e.Below != "" {
		printf(c.out, "  they are: %s\n", c.command("ls", "s3://"+e.Bucket+"/"+e.Below))
	}
	if o := e.Object; o != nil {
		printf(c.out, "\nobject   version %s, %s, ETag %s, stored %s\n", o.ID, words.Size(o.Size), o.ETag, stamp(o.ModifiedAt))
		c.explainEnds(e, *o)
		if len(e.Holds) == 0 && e.Visible && !o.DueAt.IsZero() {
			printf(c.out, "         to keep it: %s\n", c.command("hold", "add", "s3://"+e.Bucket+"/"+e.Key))
		}
	}
	for _, g := range e.Trips {
		allow := []string{"limits", "allow", g.Kind}
		if of := cmp.Or(g.Name, g.Subject); of != "" {
			allow = append(allow, of)
		}
		printf(c.out, "         to let it go: %s\n", c.command(allow...))
	}
	for _, h := range e.Holds {
		if e.Object != nil || len(e.Trash) > 0 {
			printf(c.out, "         to release the hold: %s\n", c.command(releaseOf(h)...))
		}
	}
	for _, t := range e.Trash {
		printf(c.out, "\ntrash    entry %s, %s, %s %s, %s\n", t.ID, words.Size(t.Size), t.Reason, words.When(t.DeletedAt, e.Now), purgedWhen(t, e.Now))
	}
	for _, content := range e.Contents {
		c.explainContent(e, content)
	}
	if e.GoneEarlier > 0 {
		printf(c.out, "\ngone     %s before those below: %s\n",
			words.Plural(int64(e.GoneEarlier), "version", "versions"), c.command("receipts", "export", "--bucket", e.Bucket))
	}
	for _, g := range e.Gone {
		c.explainGone(g, e.Now)
	}
	c.explainEvents(e)
	for _, op := range e.Operations {
		printf(c.out, "\nwritten  by %s, operation %s, %s\n", op.What, op.ID, stamp(op.At))
	}
}

// explainEvents lists what its targets have yet to be told of a key.
func (c *cli) explainEvents(e api.Explanation) {
	for _, v := range e.Events {
		dead := v.NextTry.IsZero()
		what, list := "waits for", []string{"events", "list", v.Target}
		if dead {
			what, list = "was given up for", append(list, "--dead")
		}
		printf(c.out, "\nevent    %s of version %s %s the target %s", v.Event, v.Version, what, v.Target)
		if v.Attempts > 0 {
			printf(c.out, ", after %s: %s", words.Plural(v.Attempts, "try", "tries"), v.LastError)
		}
		printf(c.out, "\n         all of them: %s\n", c.command(list...))
	}
}

// explainEnds describes what ends an object, and when.
func (c *cli) explainEnds(e api.Explanation, o api.ObjectInfo) {
	ends, kept := "ends", ""
	if len(e.Holds) > 0 {
		ends, kept = "would end", ", but a hold keeps it"
	}
	if !o.TTLAt.IsZero() && (o.ReadsLeft == nil || *o.ReadsLeft > 0) {
		of := ""
		if o.TTLKey != "" {
			of = ", the default of access key " + o.TTLKey + ","
		}
		printf(c.out, "         its time to live%s ends %s (%s)%s\n", of, stamp(o.TTLAt), words.When(o.TTLAt, e.Now), kept)
	}
	if o.ReadsLeft != nil {
		printf(c.out, "         %s\n", words.Plural(*o.ReadsLeft, "read left", "reads left"))
	}
	if o.Idle != "" {
		printf(c.out, "         it is kept for %s after its last read; the last use noted was %s, so it %s %s (%s)%s\n",
			o.Idle, stamp(o.UsedAt), ends, stamp(o.IdleAt), words.When(o.IdleAt, e.Now), kept)
	}
	if !o.RuleAt.IsZero() {
		printf(c.out, "         lifecycle rule %q %s it %s (%s)%s\n", o.Rule, ends, stamp(o.RuleAt), words.When(o.RuleAt, e.Now), kept)
	}
}

// explainGone describes a version that is gone.
func (c *cli) explainGone(g api.Gone, now time.Time) {
	r := g.Receipt
	printf(c.out, "\ngone     version %s, %s, ETag %s, at %s\n         %s; %s\n", r.Version, words.Size(r.Size), r.ETag,
		lethe.Time(r.At).Time().Format(time.RFC3339), g.Why, g.Fate)
	if t := r.Trash; t != nil {
		printf(c.out, "         it was in the trash from %s (%s)\n", lethe.Time(t.At).Time().Format(time.RFC3339), t.Reason)
	}
	for _, b := range g.Confirmed {
		if b.How == receipt.Inline {
			continue // said above
		}
		printf(c.out, "  blob   %s on %s: %s at %s\n", b.Blob, b.Backend, b.How, lethe.Time(b.At).Time().Format(time.RFC3339))
	}
	for _, b := range g.Left {
		printf(c.out, "  blob   %s on %s: %s", b.ID, b.Backend, b.State)
		if b.Attempts > 0 {
			printf(c.out, ", %s, last error: %s", words.Plural(int64(b.Attempts), "attempt", "attempts"), b.LastError)
		}
		switch {
		case b.Stopped != "":
			printf(c.out, ", %s", b.Stopped)
		case b.State == lethe.Condemned.String():
			printf(c.out, ", due %s", words.When(b.DueAt, now))
		}
		printf(c.out, "\n")
	}
	for _, b := range g.Left {
		if b.State == lethe.Dead.String() {
			printf(c.out, "         to try again: %s\n", c.command("dead", "requeue", b.ID))
		}
	}
}

func (c *cli) explainContent(e api.Explanation, content api.ContentInfo) {
	printf(c.out, "\ncontent  %s, %s %s, %s, domain %s, since %s\n", content.ID, content.Kind, content.Digest, words.Size(content.Size), content.Domain, stamp(content.CreatedAt))
	list := content.Sharers
	if content.Refs == 1 && !content.More {
		printf(c.out, "         its bytes are its own\n")
		list = nil
	} else {
		printf(c.out, "         its bytes stay until the last of %s goes:\n", words.Plural(content.Refs, "reference", "references"))
	}
	for _, s := range list {
		where := "s3://" + s.Bucket + "/" + s.Key
		if s.Trash {
			where += " (in the trash)"
		}
		printf(c.out, "           %s\n", where)
	}
	if content.More {
		printf(c.out, "           ... and more\n")
	}
	if content.Inline {
		printf(c.out, "  inline its bytes lie in the ledger, and go with the last reference\n")
	}
	for _, b := range content.Blobs {
		printf(c.out, "  blob   %s on %s: %s, %s, segment %d", b.ID, b.Backend, b.State, words.Size(b.Size), b.Segment)
		if b.Reason != "" {
			printf(c.out, ", condemned as %s, due %s", b.Reason, words.When(b.DueAt, e.Now))
		}
		if b.Attempts > 0 {
			printf(c.out, ", %s, last error: %s", words.Plural(int64(b.Attempts), "attempt", "attempts"), b.LastError)
		}
		switch {
		case b.State != lethe.Live.String():
		case b.VerifiedAt.IsZero():
			printf(c.out, ", written %s, not verified since", stamp(b.CreatedAt))
		default:
			printf(c.out, ", verified %s", stamp(b.VerifiedAt))
		}
		if b.Suspect {
			printf(c.out, ", SUSPECT")
			if b.LastError != "" {
				printf(c.out, ": %s", b.LastError)
			}
		}
		printf(c.out, "\n")
	}
}

// purgedWhen tells when an entry of the trash is purged, or why it stays.
func purgedWhen(t api.TrashEntry, now time.Time) string {
	purged := "purged " + words.When(t.PurgeAt, now)
	switch {
	case t.Due:
		purged = "due for purge since " + stamp(t.PurgeAt)
	case t.Held:
		purged = "held: not purged, also after " + stamp(t.PurgeAt)
	}
	if t.Stays != "" {
		purged += "; it stays, as " + t.Stays
	}
	return purged
}
