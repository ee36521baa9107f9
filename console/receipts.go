package console

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/internal/words"
	"github.com/lethe-storage/lethe/receipt"
)

// Bounds of a search: what a page shows, the segments of the chain that it reads, and how long
// it does so.
const (
	shownReceipts = 200
	readSegments  = 500
	searchTime    = time.Second
)

// search is what the page of the receipts shows.
type search struct {
	Bucket, Key, Since string
	Found              []receipt.Receipt
	Next               string    // the address of what follows; empty: all was read
	Until              time.Time // what came before was read; zero: unknown
	Problem            string
	Now                time.Time
}

// request returns what the address of a page asks for.
func (v *visit) request() (search, api.ReceiptRequest, error) {
	q := v.r.URL.Query()
	s := search{Bucket: q.Get("bucket"), Key: q.Get("key"), Since: strings.TrimSpace(q.Get("since")), Now: v.now.Time()}
	req := api.ReceiptRequest{Bucket: s.Bucket}
	if s.Since != "" {
		d, err := lethe.ParseTTL(s.Since)
		if err != nil {
			at, terr := time.Parse(time.RFC3339, s.Since)
			if terr != nil {
				return s, req, &api.Error{Code: "bad_request", Message: "write how long ago at most, such as 12h or 7d, or a time such as 2030-01-31T12:00:00Z"}
			}
			req.Since = at
		} else {
			req.Since = v.now.Add(-d).Time()
		}
	}
	req.After, _ = strconv.ParseInt(q.Get("after"), 10, 64)
	req.Batch, _ = strconv.ParseInt(q.Get("batch"), 10, 64)
	return s, req, nil
}

func (v *visit) receipts() (templ.Component, error) {
	s, req, err := v.request()
	command := []string{"receipts", "export"}
	if s.Bucket != "" {
		command = append(command, "--bucket", s.Bucket)
	}
	if !req.Since.IsZero() {
		command = append(command, "--since", req.Since.UTC().Format(time.RFC3339))
	}
	v.sameAs(command...)
	if err != nil {
		s.Problem = sentence(err.Error())
		return receiptsPage(v.frame(), s), nil
	}
	if err := v.matching(&s, req); err != nil {
		return nil, err
	}
	return receiptsPage(v.frame(), s), nil
}

// matching reads the receipts of objects that match, up to a page of them.
func (v *visit) matching(s *search, req api.ReceiptRequest) error {
	ctx, watch := v.as(), v.h.opt.Stopwatch
	for begun, n := watch.Now(), 0; n < readSegments && (n == 0 || watch.Now().Sub(begun) < searchTime); n++ {
		p, err := api.Call[api.ReceiptPage](ctx, v.h.admin, "receipts/list", req)
		if err != nil {
			return err
		}
		for _, r := range p.Receipts {
			if r.Kind == receipt.Object && strings.Contains(r.Key, s.Key) {
				s.Found = append(s.Found, r)
			}
		}
		if p.Next == 0 && p.NextBatch == 0 {
			return nil
		}
		if p.Seal != nil {
			s.Until = lethe.Time(p.Seal.Until).Time()
		}
		req.After, req.Batch = p.Next, p.NextBatch
		if len(s.Found) >= shownReceipts {
			break
		}
	}
	s.Next = link("/receipts", "bucket", s.Bucket, "key", s.Key, "since", s.Since,
		"after", strconv.FormatInt(req.After, 10), "batch", strconv.FormatInt(req.Batch, 10))
	return nil
}

// exportReceipts sends all receipts that match as lines of JSON.
func (h *Handler) exportReceipts(w http.ResponseWriter, r *http.Request) {
	v, ok := h.visit(w, r)
	if !ok {
		return
	}
	v.title = "Receipts"
	_, req, err := v.request()
	if err == nil {
		err = v.needs(api.Read)
	}
	if err != nil {
		v.fail(err)
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.Header().Set("Content-Disposition", `attachment; filename="receipts.jsonl"`)
	w.Header().Set("Content-Security-Policy", policyContent)
	if err := h.writeReceipts(v.as(), w, req); err != nil {
		panic(http.ErrAbortHandler) // the client must not take what it has for the whole
	}
}

func (h *Handler) writeReceipts(ctx context.Context, w http.ResponseWriter, req api.ReceiptRequest) error {
	out := json.NewEncoder(w)
	for {
		p, err := api.Call[api.ReceiptPage](ctx, h.admin, "receipts/list", req)
		if err != nil {
			return err
		}
		for _, r := range p.Receipts {
			if err := out.Encode(r); err != nil {
				return err
			}
		}
		if p.Next == 0 && p.NextBatch == 0 {
			return nil
		}
		req.After, req.Batch = p.Next, p.NextBatch
	}
}

func (h *Handler) receiptActions() []action {
	return []action{{"/receipts/verify", api.Read, func(*visit) string { return "/receipts" }, (*visit).verify}}
}

// verify recomputes the chain.
func (v *visit) verify() (note, error) {
	var req api.ChainRequest
	if head := strings.TrimSpace(v.r.PostForm.Get("head")); head != "" {
		seq, hash, _ := strings.Cut(head, ":")
		n, err := strconv.ParseInt(seq, 10, 64)
		if err != nil || hash == "" {
			return note{}, &api.Error{Code: "bad_request", Message: "a head is a number and a hash, such as 42:9f86d081 and so on"}
		}
		req = api.ChainRequest{Seq: n, Hash: hash}
	}
	c, err := api.Call[api.Chain](v.as(), v.h.admin, "receipts/verify", req)
	switch {
	case err != nil:
		return note{}, err
	case c.Broken != "":
		return note{Bad: true, Text: "The chain is broken: " + c.Broken}, nil
	}
	said := note{Text: "The chain is intact: " + words.Plural(c.Receipts, "receipt", "receipts") + " in " + words.Plural(c.Segments, "segment", "segments") + ", " +
		words.Plural(c.Unsealed, "receipt", "receipts") + " not sealed yet."}
	if c.Head.Seq > 0 {
		said.Text += " Its head, to be noted elsewhere:"
		said.Secret = strconv.FormatInt(c.Head.Seq, 10) + ":" + c.Head.Hash
	}
	return said, nil
}

// reasonText says why an object went.
func reasonText(r receipt.Receipt) string {
	switch r.Reason {
	case lethe.ReasonLifecycle:
		return "lifecycle rule " + r.Rule
	case lethe.ReasonExpiry:
		return "its time to live ended"
	case lethe.ReasonRead:
		return "it was read for the last time"
	case lethe.ReasonIdle:
		return "not read for its idle time"
	case lethe.ReasonEvicted:
		return "evicted from its full bucket"
	case lethe.ReasonOverwrite:
		return "replaced"
	case lethe.ReasonPurge:
		return "its time in the trash ended"
	case receipt.ReasonRestored:
		return "restored as a new version"
	}
	return "deleted"
}

// byWhom names who asked for a deletion.
func byWhom(r receipt.Receipt) string {
	switch {
	case r.By.Key != "":
		return r.By.Key
	case r.By.Run != "":
		return "run " + string(r.By.Run)
	}
	return "–"
}
