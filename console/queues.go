package console

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/internal/words"
)

// shownRows bounds the entries of a queue that a page lists.
const shownRows = 100

// queues is what the page of the queues shows.
type queues struct {
	Status  api.Status
	Cleanup api.QueueList
	Dead    []deadGroup
	All     int // dead letters that were read
	More    bool
	Errors  []errorGroup // of the cleanup queue
	Pending api.QueueList
}

// deadGroup are dead letters with one error on one backend.
type deadGroup struct {
	Backend, Error string
	Reasons        string
	Count          int
	Bytes          int64
	First          api.DeadInfo
	IDs            []string
}

// errorGroup are deletes that failed with one error and are tried again.
type errorGroup struct {
	Backend, Error string
	Count          int
	Bytes          int64
	Next           api.QueuedInfo // the one that is tried first
}

func (v *visit) queues() (templ.Component, error) {
	ctx := v.as()
	s, err := v.h.opt.Operators.CachedStatus(ctx)
	if err != nil {
		return nil, err
	}
	q := queues{Status: s}
	if q.Cleanup, err = api.Call[api.QueueList](ctx, v.h.admin, "cleanup-queue/list", api.QueueRequest{Limit: shownRows}); err != nil {
		return nil, err
	}
	failing, err := api.Call[api.QueueList](ctx, v.h.admin, "cleanup-queue/list", api.QueueRequest{MinAttempts: 1})
	if err != nil {
		return nil, err
	}
	q.Errors = groupFailing(failing.Blobs)
	if q.Pending, err = api.Call[api.QueueList](ctx, v.h.admin, "pending-objects/list", api.QueueRequest{Limit: shownRows}); err != nil {
		return nil, err
	}
	dead, err := api.Call[api.DeadList](ctx, v.h.admin, "dead/list", api.DeadRequest{})
	if err != nil {
		return nil, err
	}
	q.Dead, q.All, q.More = groupDead(dead.Blobs), len(dead.Blobs), dead.Next != ""
	v.live = 15
	v.sameAs("dead", "list")
	v.sameAs("cleanup-queue", "list")
	v.sameAs("pending-objects", "list")
	return queuesPage(v.frame(), q), nil
}

// own matches what differs from blob to blob in an error: ids and names.
var own = regexp.MustCompile(`[0-9A-Za-z+=_-]*[0-9][0-9A-Za-z+=_-]{11,}(/[0-9a-z]{1,4}\b)*`)

// kindOf is an error without what belongs to one blob.
func kindOf(text string) string { return own.ReplaceAllString(text, "…") }

// grouped returns blobs by their backend and the kind of their error, the largest group first.
func grouped[T any](list []T, of func(T) (backend, text string)) [][]T {
	at, out := map[[2]string]int{}, [][]T(nil)
	for _, one := range list {
		backend, text := of(one)
		key := [2]string{backend, kindOf(text)}
		if _, known := at[key]; !known {
			at[key] = len(out)
			out = append(out, nil)
		}
		out[at[key]] = append(out[at[key]], one)
	}
	slices.SortStableFunc(out, func(a, b []T) int { return len(b) - len(a) })
	return out
}

func groupDead(list []api.DeadInfo) (out []deadGroup) {
	for _, group := range grouped(list, func(d api.DeadInfo) (string, string) { return d.Backend, d.LastError }) {
		g := deadGroup{Backend: group[0].Backend, Error: kindOf(group[0].LastError), Count: len(group), First: group[0]}
		var reasons []string
		for _, d := range group {
			g.Bytes += d.Size
			g.IDs = append(g.IDs, d.ID)
			if !slices.Contains(reasons, d.Reason) {
				reasons = append(reasons, d.Reason)
			}
		}
		g.Reasons = strings.Join(reasons, ", ")
		out = append(out, g)
	}
	return out
}

func groupFailing(list []api.QueuedInfo) (out []errorGroup) {
	for _, group := range grouped(list, func(b api.QueuedInfo) (string, string) { return b.Backend, b.LastError }) {
		g := errorGroup{Backend: group[0].Backend, Error: kindOf(group[0].LastError), Count: len(group), Next: group[0]}
		for _, b := range group {
			g.Bytes += b.Size
			if b.DueAt.Before(g.Next.DueAt) {
				g.Next = b
			}
		}
		out = append(out, g)
	}
	return out
}

func (h *Handler) queueActions() []action {
	back := func(*visit) string { return "/queues" }
	limits := func(*visit) string { return "/limits" }
	return []action{
		{"/queues/requeue", api.Operate, back, (*visit).requeue},
		{"/queues/write-off", api.Destroy, back, (*visit).writeOff},
		{"/queues/reclaim", api.Operate, back, (*visit).reclaim},
		{"/limits/allow", api.Destroy, limits, (*visit).allow},
		{"/limits/release", api.Destroy, limits, (*visit).releaseListed},
		{"/limits/hold", api.Operate, limits, (*visit).holdPrefix},
	}
}

// chosenDead are the dead letters of the group that the form stands for. Those that came
// since the page was made are left out.
func (v *visit) chosenDead() (api.DeadRequest, error) {
	ids := strings.Fields(v.r.PostForm.Get("ids"))
	if len(ids) == 0 {
		return api.DeadRequest{}, &api.Error{Code: "bad_request", Message: "the form names no dead letter"}
	}
	return api.DeadRequest{IDs: ids}, nil
}

func (v *visit) requeue() (note, error) {
	req, err := v.chosenDead()
	if err != nil {
		return note{}, err
	}
	c, err := api.Call[api.Count](v.as(), v.h.admin, "dead/requeue", req)
	return note{Text: words.Plural(int64(c.Count), "delete is", "deletes are") + " due again."}, err
}

func (v *visit) writeOff() (note, error) {
	req, err := v.chosenDead()
	if err != nil {
		return note{}, err
	}
	if typed, err := strconv.Atoi(strings.TrimSpace(v.r.PostForm.Get("count"))); err != nil || typed != len(req.IDs) {
		return note{}, &api.Error{Code: "bad_request", Message: fmt.Sprintf("nothing was done: type the number %d to write them off", len(req.IDs))}
	}
	c, err := api.Call[api.Count](v.as(), v.h.admin, "dead/write-off", req)
	said := words.Plural(int64(c.Count), "dead letter was", "dead letters were") + " written off."
	if c.Late > 0 {
		said += " " + words.Plural(int64(c.Late), "was", "were") + " left, as an upload may still take effect until " + stamp(c.LateUntil) + "."
	}
	return note{Text: said}, err
}

// reclaim runs the routines that empty the queues.
func (v *visit) reclaim() (note, error) {
	res, err := v.h.admin.Reclaim(v.as(), api.ReclaimRequest{Only: []string{"expire", "purge", "clean"}}, func(api.Event) {})
	var did []string
	for _, d := range res.Done {
		did = append(did, d.Name+": "+counts(d.Counts))
	}
	return note{Text: cmp.Or(strings.Join(did, "; "), "Nothing was due") + "."}, err
}

// limits is what the page of limits and holds shows.
type limits struct {
	Limits []api.LimitInfo
	Holds  api.Holds
	After  api.HoldInfo
	// Wanted is what the form of a new hold names.
	Wanted api.HoldRequest
	// Coming are the stops that are expected, by day, and Stops how many there are.
	Coming []comingStop
	Stops  int
	// Counted says of when the forecast is, and Uncounted how many buckets are not part of it.
	Counted   string
	Uncounted int
}

// shownStops bounds the coming stops that a page lists; the calendar has all.
const shownStops = 20

// comingStop is what a limit will stop on a day.
type comingStop struct {
	Day time.Time // zero: now
	api.ForecastLimit
}

// coming adds what limits will stop in the coming days, as the forecast has it.
func (l *limits) coming(f api.ForecastResult) {
	for _, d := range f.Days {
		for _, one := range d.Limits {
			if l.Stops++; len(l.Coming) < shownStops {
				l.Coming = append(l.Coming, comingStop{d.Day, one})
			}
		}
	}
	l.Counted, l.Uncounted = countedText(f.UsageCount, f.Now), len(f.Uncounted)
}

// holdFormURL is the form of a hold on a prefix.
func holdFormURL(bucket, prefix string) string {
	return link("/limits", "hold", bucket, "prefix", prefix) + "#hold-form"
}

func (v *visit) limits() (templ.Component, error) {
	ctx := v.as()
	var l limits
	var err error
	if l.Limits, err = api.Call[[]api.LimitInfo](ctx, v.h.admin, "limits/list", api.None{}); err != nil {
		return nil, err
	}
	q := v.r.URL.Query()
	l.After = api.HoldInfo{Bucket: q.Get("bucket"), Scope: q.Get("scope"), Key: q.Get("key")}
	l.Wanted = api.HoldRequest{Bucket: q.Get("hold"), Prefix: q.Get("prefix")}
	if l.Holds, err = api.Call[api.Holds](ctx, v.h.admin, "holds/list", api.HoldList{After: l.After, Limit: shownRows}); err != nil {
		return nil, err
	}
	f, err := api.Call[api.ForecastResult](ctx, v.h.admin, "forecast", api.ForecastRequest{Days: calendarDays})
	if err != nil {
		return nil, err
	}
	l.coming(f)
	v.sameAs("limits", "show")
	v.sameAs("forecast")
	v.sameAs("hold", "list")
	return limitsPage(v.frame(), l), nil
}

// next is the following page of holds.
func (l limits) next() string {
	last := l.Holds.Holds[len(l.Holds.Holds)-1]
	return link("/limits", "bucket", last.Bucket, "scope", last.Scope, "key", last.Key)
}

func (v *visit) allow() (note, error) {
	form := v.r.PostForm
	req := api.AllowRequest{Kind: form.Get("kind"), Subject: form.Get("subject"), For: strings.TrimSpace(form.Get("for")), Again: form.Get("again") != ""}
	if most := strings.TrimSpace(form.Get("count")); most != "" {
		n, err := strconv.ParseInt(most, 10, 64)
		if err != nil || n < 1 {
			return note{}, &api.Error{Code: "bad_request", Message: strconv.Quote(most) + " is no number of deletions"}
		}
		req.Count = n
	}
	g, err := api.Call[api.LimitInfo](v.as(), v.h.admin, "limits/allow", req)
	switch {
	case err != nil:
		return note{}, err
	case req.Again:
		return note{Text: "The limit counts anew from now."}, nil
	}
	return note{Text: "It is allowed: " + limitState(g) + "."}, nil
}

// limitOf names what a limit is about.
func limitOf(g api.LimitInfo) string { return cmp.Or(g.Name, g.Subject, "the store") }

func limitState(g api.LimitInfo) string {
	switch {
	case g.Tripped && g.Until != 0:
		return "stopped until " + stamp(instant(g.Until))
	case g.Tripped:
		return "stopped"
	case g.FreeUntil != 0 && g.FreeCount < 0:
		return "any number until " + stamp(instant(g.FreeUntil))
	case g.FreeUntil != 0:
		return words.Number(g.FreeCount) + " more until " + stamp(instant(g.FreeUntil))
	}
	return "within its limit"
}

// allowable reports whether a person can allow more: of limits, not of clocks in doubt.
func allowable(g api.LimitInfo) bool {
	return g.Tripped && slices.Contains([]string{"rules", "ttl", "purge", "deletes"}, g.Kind)
}

// holdURL is what lifts a hold of the list: it names the hold in its address, as forms
// would change line ends in keys.
func holdURL(h api.HoldInfo) string {
	return link("/limits/release", "bucket", h.Bucket, "scope", h.Scope, "key", h.Key)
}

func (v *visit) releaseListed() (note, error) {
	q := v.r.URL.Query()
	req := api.HoldRequest{Bucket: q.Get("bucket")}
	switch q.Get("scope") {
	case "prefix":
		req.Prefix = q.Get("key")
	case "legal":
		req.Key, req.Legal = q.Get("key"), true
	default:
		req.Key = q.Get("key")
	}
	_, err := api.Call[api.None](v.as(), v.h.admin, "holds/remove", req)
	return note{Text: "The hold was released."}, err
}

func (v *visit) holdPrefix() (note, error) {
	form := v.r.PostForm
	req := api.HoldRequest{Bucket: strings.TrimSpace(form.Get("bucket")), Prefix: form.Get("prefix"), Reason: form.Get("reason")}
	h, err := api.Call[api.HoldInfo](v.as(), v.h.admin, "holds/add", req)
	if err != nil {
		return note{}, err
	}
	covered, err := v.covered(h)
	return note{Text: holdName(h) + " is held: " + covered + " now, and new ones. Whoever has the role destroy releases it in its row of the list of holds."}, err
}

// holdName writes what a hold covers as commands do.
func holdName(h api.HoldInfo) string {
	name := s3Name(h.Bucket, h.Key)
	if h.Scope == "prefix" {
		name += "*"
	}
	return name
}

// countedPages bounds the pages of keys that are counted for a note.
const countedPages = 10

// covered says how many objects a hold on a prefix covers.
func (v *visit) covered(h api.HoldInfo) (string, error) {
	req, n := api.ObjectListRequest{Bucket: h.Bucket, Prefix: h.Key, Recursive: true}, 0
	for range countedPages {
		page, err := api.Call[api.ObjectList](v.as(), v.h.admin, "objects/list", req)
		if err != nil {
			return "", err
		}
		n += len(page.Objects)
		if !page.More {
			return words.Plural(int64(n), "object", "objects"), nil
		}
		req.After = page.Next
	}
	return "more than " + words.Plural(int64(n), "object", "objects"), nil
}
