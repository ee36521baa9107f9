package main

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/internal/words"
)

func (c *cli) deadShowCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "show id", Short: "Show one dead letter, its attempts, and what can be done", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withAdmin(cmd.Context(), func(client *api.Client) error {
				d, err := api.Call[api.DeadDetail](cmd.Context(), client, "dead/show", api.DeadName{ID: args[0]})
				if err != nil {
					return err
				}
				if asJSON {
					return printJSON(c.out, d)
				}
				return printDead(c.out, d)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return cmd
}

// printDead writes the details of a dead letter, one a line.
func printDead(w io.Writer, d api.DeadDetail) error {
	bucket := d.Bucket
	if bucket == "" && d.BucketID != "" {
		bucket = "deleted since (" + d.BucketID + ")"
	}
	part := ""
	if d.Upload != "" {
		part = fmt.Sprintf("part %d of upload %s", d.Part, d.Upload)
	}
	verified := ""
	if !d.VerifiedAt.IsZero() {
		verified = stamp(d.VerifiedAt)
	}
	rows := [][]string{{"blob", d.ID}}
	for _, r := range [][]string{
		{"backend", d.Backend}, {"name there", d.Name}, {"size", fmt.Sprintf("%s (%s)", words.Size(d.Size), words.Plural(d.Size, "byte", "bytes"))}, {"SHA-256", d.SHA256},
		{"bucket", bucket}, {"content", d.Content}, {"segment, replica", fmt.Sprintf("%d, %d", d.Segment, d.Replica)}, {"upload", part},
		{"written", stamp(d.CreatedAt)}, {"last verified", verified}, {"reason", d.Reason},
		{"enqueued", stamp(d.DiedAt) + " (" + words.When(d.DiedAt, d.Now) + ")"}, {"last due", stamp(d.DueAt)},
		{"attempts", strconv.Itoa(d.Attempts)}, {"last error", d.LastError}, {"planned", d.Planned},
	} {
		if r[1] != "" {
			rows = append(rows, r)
		}
	}
	return table(w, rows)
}

func (c *cli) deadExportCommand() *cobra.Command {
	var req api.DeadRequest
	var format string
	cmd := &cobra.Command{
		Use: "export", Short: "Write dead letters to standard output, as JSON lines or CSV", Args: cobra.NoArgs,
		Long: `Write the fields of "lethe dead list --json" for each dead letter, page by page, so any
number needs little memory. Times are RFC 3339 in UTC, sizes are in bytes.`,
	}
	read := deadFilter(cmd, &req)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := read(); err != nil {
			return err
		}
		out := bufio.NewWriter(c.exact())
		write, flush, err := deadWriter(out, format)
		if err != nil {
			return err
		}
		return c.withAdmin(cmd.Context(), func(client *api.Client) error {
			err := eachDead(cmd.Context(), client, req, func(d api.DeadInfo) (bool, error) { return true, write(d) })
			return errors.Join(err, flush(), out.Flush())
		})
	}
	cmd.Flags().StringVar(&format, "format", "jsonl", "jsonl or csv")
	return cmd
}

// deadWriter returns a writer of dead letters in a format.
func deadWriter(w io.Writer, format string) (write func(api.DeadInfo) error, flush func() error, err error) {
	switch format {
	case "jsonl":
		return func(d api.DeadInfo) error { return printLine(w, d) }, func() error { return nil }, nil
	case "csv":
		out := csv.NewWriter(w)
		err := out.Write(strings.Split("id,backend,name,bucket,bucket_id,size,sha256,reason,content,segment,replica,upload,part,created_at,died_at,due_at,late_until,attempts,last_error", ","))
		return func(d api.DeadInfo) error { return out.Write(deadRecord(d)) }, func() error { out.Flush(); return out.Error() }, err
	}
	return nil, nil, fmt.Errorf("--format %q: use jsonl or csv", format)
}

func deadRecord(d api.DeadInfo) []string {
	at := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return t.UTC().Format(time.RFC3339Nano)
	}
	return []string{
		d.ID, d.Backend, d.Name, d.Bucket, d.BucketID, strconv.FormatInt(d.Size, 10), d.SHA256, d.Reason, d.Content,
		strconv.Itoa(d.Segment), strconv.Itoa(d.Replica), d.Upload, strconv.Itoa(d.Part), at(d.CreatedAt), at(d.DiedAt), at(d.DueAt),
		at(d.LateUntil), strconv.Itoa(d.Attempts), d.LastError,
	}
}
