package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/internal/app"
	"github.com/lethe-storage/lethe/internal/config"
	"github.com/lethe-storage/lethe/internal/words"
	"github.com/lethe-storage/lethe/ledger/sqlledger"
	"github.com/lethe-storage/lethe/reclaim/plan"
)

// amount formats a number of items and their size.
func amount(t plan.Totals, one, many string) string {
	return words.Plural(t.Items, one, many) + " of " + words.Size(t.Bytes)
}

// ofPlan returns a question with the summary of a plan; text has a place for
// it.
func ofPlan(req api.PlanRequest, text, one, many string) question {
	return func(ctx context.Context, client *api.Client) (string, error) {
		end, err := makePlan(ctx, client, req)
		if err == nil && end.Totals.Items == 0 {
			err = errNothing
		}
		return fmt.Sprintf(text, amount(end.Totals, one, many)), err
	}
}

// unlessNone fails with exitNothing if none of what was named is there.
func unlessNone(asks question, one string) question {
	return func(ctx context.Context, client *api.Client) (string, error) {
		text, err := asks(ctx, client)
		if errors.Is(err, errNothing) {
			err = &exitError{exitNothing, fmt.Errorf("none of what is named is a %s", one)}
		}
		return text, err
	}
}

func ofReclaim(only []string) question {
	return func(ctx context.Context, client *api.Client) (string, error) {
		have, _ := routineNames(ctx, client)
		for _, name := range only {
			if !slices.Contains(have, name) {
				return "", usageError("there is no routine %q: use %s", name, strings.Join(have, ", "))
			}
		}
		end, err := makePlan(ctx, client, api.PlanRequest{Command: "reclaim", Only: only})
		if noPlan(err) {
			return fmt.Sprintf("Run %s once? The number of items is not known before the walk", strings.Join(only, ", ")), nil
		}
		if end.Totals.Items == 0 {
			return "Nothing is due now. Run the routines once?", err
		}
		return fmt.Sprintf("Reclaim what is due, %s?", amount(end.Totals, "item", "items")), err
	}
}

// ofReconcile names the findings of earlier walks: nothing else can be
// condemned.
func ofReconcile(backend string) question {
	return func(ctx context.Context, client *api.Client) (string, error) {
		if backend != "" {
			if err := hasBackend(ctx, client, backend); err != nil {
				return "", err
			}
		}
		req := api.LastReconcileRequest{Backend: backend, Kind: "orphan", Limit: 1000}
		var n, bytes int64
		for more := true; more; {
			res, err := api.Call[api.LastReconcileResult](ctx, client, "reconcile/last", req)
			if err != nil {
				return "", err
			}
			for _, f := range res.Findings {
				n, bytes = n+1, bytes+f.Size
				req.AfterBackend, req.AfterKey = f.Backend, f.Key
			}
			more = res.More && len(res.Findings) > 0
		}
		return fmt.Sprintf("Compare with the ledger, and condemn orphans that are old enough? Earlier walks found %s of %s",
			words.Plural(n, "orphan", "orphans"), words.Size(bytes)), nil
	}
}

func ofImport(req api.ImportRequest) question {
	where := fmt.Sprintf("from backend %s into bucket %s?", req.Backend, req.Bucket)
	return ofPlan(api.PlanRequest{Command: "import", Import: &req}, "Copy %s "+where, "key", "keys")
}

func ofRules(req api.PlanRequest) question {
	return func(ctx context.Context, client *api.Client) (string, error) {
		end, err := makePlan(ctx, client, req)
		why := ""
		if len(end.Totals.Groups) > 0 {
			why = end.Totals.Groups[0].Why
		}
		return fmt.Sprintf("Replace the lifecycle rules of %s? %s; today %s", req.Lifecycle.Bucket, why, words.Size(end.Totals.Bytes)), err
	}
}

func ofPurge(req *api.TrashRequest) question {
	return func(ctx context.Context, client *api.Client) (string, error) {
		end, err := makePlan(ctx, client, api.PlanRequest{Command: "trash purge", Trash: req})
		if err == nil && end.Totals.Items == 0 {
			err = errNothing
		}
		return fmt.Sprintf("Purge %s?", amount(end.Totals, "trash entry", "trash entries")), err
	}
}

// ofOverwrite asks whether entries may replace the objects with their keys.
func ofOverwrite(ids []string) question {
	return func(ctx context.Context, client *api.Client) (string, error) {
		list, err := allTrash(ctx, client, api.TrashRequest{})
		for _, id := range ids {
			if err == nil && !slices.ContainsFunc(list, func(e api.TrashEntry) bool { return e.ID == id }) {
				err = &exitError{exitNothing, fmt.Errorf("the trash has no entry %s", id)}
			}
		}
		var n, bytes int64
		for _, e := range list {
			if !slices.Contains(ids, e.ID) || err != nil {
				continue
			}
			var o api.ObjectInfo
			o, err = api.Call[api.ObjectInfo](ctx, client, "ttl/show", api.ObjectName{Bucket: e.Bucket, Key: e.Key})
			if errors.Is(err, lethe.ErrNoSuchKey) {
				err = nil
				continue
			}
			n, bytes = n+1, bytes+o.Size
		}
		return fmt.Sprintf("Restore %s, and replace %s of %s under their keys?",
			words.Plural(int64(len(ids)), "entry", "entries"), words.Plural(n, "object", "objects"), words.Size(bytes)), err
	}
}

func ofTTL(object string, req api.TTLRequest) question {
	return func(ctx context.Context, client *api.Client) (string, error) {
		if !req.At.IsZero() && !req.At.After(lethe.SystemClock{}.Now().Time()) {
			return "", usageError("%s lies in the past; delete the object if it is to go now", req.At.Format(time.RFC3339))
		}
		o, err := api.Call[api.ObjectInfo](ctx, client, "ttl/show", req.ObjectName)
		var ends []string
		if req.TTL != "" {
			ends = append(ends, "in "+req.TTL)
		}
		if !req.At.IsZero() {
			ends = append(ends, "at "+req.At.Format(time.RFC3339))
		}
		if req.Idle != "" && req.Idle != "none" {
			ends = append(ends, "once it was not read for "+req.Idle)
		}
		return fmt.Sprintf("End 1 object of %s, %s, %s? Now it %s", words.Size(o.Size), object, strings.Join(ends, ", and "), lifeOf(o)), err
	}
}

// findBucket returns a bucket by its name.
func findBucket(ctx context.Context, client *api.Client, name string) (api.Bucket, error) {
	list, err := api.Call[[]api.Bucket](ctx, client, "buckets/list", api.None{})
	for _, b := range list {
		if b.Name == name {
			return b, err
		}
	}
	return api.Bucket{}, cmp.Or(err, fmt.Errorf("bucket %q: %w", name, lethe.ErrNoSuchBucket))
}

// bucketAmount returns the phrase of a question that has a bucket's size.
func bucketAmount(ctx context.Context, client *api.Client, name string) (string, error) {
	b, err := findBucket(ctx, client, name)
	return amountOf(b), err
}

func amountOf(b api.Bucket) string {
	return fmt.Sprintf("the bucket has %s of %s", words.Plural(b.Objects, "object", "objects"), words.Size(b.Bytes))
}

func ofSettings(c *api.BucketChange) question {
	return func(ctx context.Context, client *api.Client) (string, error) {
		b, err := findBucket(ctx, client, c.Name)
		return fmt.Sprintf("Change the settings of %s? Now %s%s", c.Name, amountOf(b), beyondQuota(b, *c)), err
	}
}

// beyondQuota says what a bucket would soon evict after a change.
func beyondQuota(b api.Bucket, c api.BucketChange) string {
	beyond := b.BeyondQuota(c)
	if goes := words.Excess(beyond.Objects, beyond.Bytes); goes != "" {
		return "; about " + goes + " beyond the quota will go for good: what was used longest ago"
	}
	return ""
}

// meant reports whether a request to release is of a hold.
func meant(req api.HoldRequest, h api.HoldInfo) bool {
	switch {
	case req.Legal || h.Scope == "legal":
		return req.Legal && h.Scope == "legal" && h.Key == req.Key
	case req.Key != "" || h.Scope == "object":
		return h.Scope == "object" && h.Key == req.Key
	}
	return h.Key == req.Prefix
}

func ofHold(req *api.HoldRequest) question {
	return func(ctx context.Context, client *api.Client) (string, error) {
		holds, err := allHolds(ctx, client, api.HoldList{Bucket: req.Bucket})
		if err != nil {
			return "", err
		}
		if !slices.ContainsFunc(holds, func(h api.HoldInfo) bool { return meant(*req, h) }) {
			return "", &exitError{exitNothing, fmt.Errorf("there is no such hold on %s; lethe hold list shows all", req.Bucket)}
		}
		if req.Key != "" {
			// An expired object that is still held goes once the hold is
			// removed.
			e, err := client.Explain(ctx, api.ObjectName{Bucket: req.Bucket, Key: req.Key})
			what := "no object is there"
			if e.Object != nil {
				what = "1 object of " + words.Size(e.Object.Size)
			} else if len(e.Trash) > 0 {
				what = words.Plural(int64(len(e.Trash)), "entry of the trash", "entries of the trash")
			}
			return fmt.Sprintf("Release the hold on s3://%s/%s, %s? What became due meanwhile is deleted", req.Bucket, req.Key, what), err
		}
		has, err := bucketAmount(ctx, client, req.Bucket)
		return fmt.Sprintf("Release the hold on s3://%s/%s*? What became due meanwhile is deleted; %s", req.Bucket, req.Prefix, has), err
	}
}

// routineOfLimit are the routines that each kind of limit stops.
var routineOfLimit = map[string]string{"rules": "expire", "ttl": "expire", "deletes": "clean", "purge": "purge"}

func ofAllowance(req *api.AllowRequest) question {
	return func(ctx context.Context, client *api.Client) (string, error) {
		list, err := api.Call[[]api.LimitInfo](ctx, client, "limits/list", api.None{})
		counted := func(g api.LimitInfo) bool {
			return g.Kind == req.Kind && (req.Subject == g.Subject || req.Subject != "" && req.Subject == g.Name)
		}
		if err != nil || !slices.ContainsFunc(list, counted) {
			return "", cmp.Or(err, usageError("the limit %s has counted nothing and has not tripped; lethe limits show lists those that have", strings.TrimSpace(req.Kind+" "+req.Subject)))
		}
		n, err := stoppedBy(ctx, client, *req)
		return fmt.Sprintf("Allow what the limit %s has stopped, %s of %s?",
			strings.TrimSpace(req.Kind+" "+req.Subject), words.Plural(n.Items, "item", "items"), words.Size(n.Bytes)), err
	}
}

// stoppedBy adds up what is due and stays for a limit; of deletes, what is due on the backend.
func stoppedBy(ctx context.Context, client *api.Client, req api.AllowRequest) (n plan.Sum, err error) {
	routine, known := routineOfLimit[req.Kind]
	if !known {
		return n, nil // the call lists the kinds
	}
	r, w := io.Pipe()
	go func() {
		w.CloseWithError(client.Plan(ctx, api.PlanRequest{Command: "reclaim", Only: []string{routine}}, w))
	}()
	defer r.Close()
	in, err := plan.NewReader(r)
	for err == nil {
		var i plan.Item
		if i, err = in.Next(); err != nil {
			break
		}
		subject := req.Subject == "" || slices.Contains([]string{i.Bucket, i.BucketID, i.Backend}, req.Subject)
		if subject && (req.Kind == "deletes" || strings.HasPrefix(i.Stays, "the limit "+req.Kind+" ")) {
			n.Add(i)
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

// ofNames returns a question about named things, which have to be in a list.
func ofNames(do, one, many string, list names, named []string) question {
	return func(ctx context.Context, client *api.Client) (string, error) {
		have, err := list(ctx, client)
		for _, name := range named {
			if err == nil && !slices.Contains(have, name) {
				err = &exitError{exitNothing, fmt.Errorf("there is no %s %s", one, name)}
			}
		}
		return fmt.Sprintf("%s %s: %s?", do, words.Plural(int64(len(named)), one, many), strings.Join(named, ", ")), err
	}
}

func ofClock(ctx context.Context, client *api.Client) (string, error) {
	s, err := api.Call[api.Clock](ctx, client, "clock/show", api.None{})
	return fmt.Sprintf("Set the ledger's clock back by %s? %s would be visible again, %s would live longer than promised",
		seconds(s.Ahead), words.Plural(s.Hidden, "object", "objects"), words.Number(s.Longer)), err
}

// hasBackend returns an error if the store has no backend of the name.
func hasBackend(ctx context.Context, client *api.Client, id string) error {
	have, err := backendNames(ctx, client)
	if err == nil && !slices.Contains(have, id) {
		err = &exitError{exitNothing, fmt.Errorf("there is no backend %s; there is %s", id, strings.Join(have, ", "))}
	}
	return err
}

func ofBackend(do, id string) question {
	return func(ctx context.Context, client *api.Client) (string, error) {
		if err := hasBackend(ctx, client, id); err != nil {
			return "", err
		}
		list, err := api.Call[[]api.BackendStatus](ctx, client, "backends/list", api.None{})
		var has []string
		for _, b := range list {
			for _, st := range b.States {
				if b.ID == id && st.Blobs > 0 {
					has = append(has, fmt.Sprintf("%s %s of %s", words.Number(st.Blobs), st.State, words.Size(st.Bytes)))
				}
			}
		}
		return fmt.Sprintf("%s: %s? Blobs there: %s", do, id, cmp.Or(strings.Join(has, ", "), "none")), err
	}
}

func ofRestore(ctx context.Context, conf *config.Config, file string, replace bool) (string, error) {
	if err := app.MayRestore(conf, replace); err != nil {
		return "", err
	}
	of, err := ledgerAmount(ctx, file)
	if err != nil {
		return "", err
	}
	have, err := ledgerAmount(ctx, app.LedgerPath(conf.DataDir))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		have = "no ledger"
	case err != nil:
		have = "a ledger that cannot be read"
	}
	return fmt.Sprintf("Put the ledger of %s (%s) into %s, which has %s?", file, of, conf.DataDir, have), nil
}

func ofAcceptance(ctx context.Context, conf *config.Config) (string, error) {
	if conf.Database.On() {
		return "Give the ledger of database.url a new identity, and stop all deletes until they are accepted?", nil
	}
	of, err := ledgerAmount(ctx, app.LedgerPath(conf.DataDir))
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%w in %s", app.ErrNoStore, conf.DataDir)
	}
	return fmt.Sprintf("Give the ledger of %s (%s) a new identity, and stop all deletes until they are accepted?", conf.DataDir, of), err
}

func ledgerAmount(ctx context.Context, path string) (string, error) {
	objects, bytes, err := sqlledger.FileTotals(ctx, path)
	return fmt.Sprintf("%s of %s", words.Plural(objects, "object", "objects"), words.Size(bytes)), err
}
