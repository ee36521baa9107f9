package paste

import (
	"io"
	"net/http"

	"github.com/lethe-storage/lethe/internal/words"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/object"
)

// A paste whose reads are counted is read by POST alone. Messengers, crawlers and mail
// filters follow links by GET, and would take the reads of those for whom it is.

// ask answers a GET or HEAD of such a paste, which takes no read: with a page whose buttons
// do, or with a refusal that says how.
func (h *Handler) ask(w http.ResponseWriter, v *visit, o ledger.Object) error {
	setEnds(w, o)
	switch {
	case v.browser:
		// The page may show the delete token.
		render(w, http.StatusOK, askPage(v.root+"/", h.shown(v, o)))
	case v.Method == http.MethodHead:
		describe(w, o)
		w.WriteHeader(http.StatusOK)
	default:
		return &problem{
			status: http.StatusMethodNotAllowed, allow: "DELETE, HEAD, POST",
			text: "this paste can be read " + words.Times(o.ReadsLeft) + ": curl -X POST " + v.base + "/" + o.Key + " reads it",
		}
	}
	return nil
}

// take reads a paste whose reads are counted: a page for browsers, else as takeRaw.
func (h *Handler) take(w http.ResponseWriter, v *visit) error {
	return h.taken(v, func(rd *object.Reader) error {
		if !v.browser || !isShownWhole(rd.Object) {
			h.handOut(w, v, rd)
			return nil
		}
		data, err := io.ReadAll(rd.Body)
		if err != nil {
			return err
		}
		s := h.shown(v, rd.Object)
		s.Lines = lines(data)
		s.Parts = h.colours.of(v.Context(), s.Type, s.Lines)
		setEnds(w, rd.Object)
		render(w, http.StatusOK, pastePage(v.root+"/", s))
		return nil
	})
}

// takeRaw reads it as it was sent.
func (h *Handler) takeRaw(w http.ResponseWriter, v *visit) error {
	return h.taken(v, func(rd *object.Reader) error {
		h.handOut(w, v, rd)
		return nil
	})
}

// taken takes a read, and gives it to do.
func (h *Handler) taken(v *visit, do func(*object.Reader) error) error {
	o, err := h.find(v)
	if err != nil {
		return err
	}
	if !o.Counted() {
		return &problem{status: http.StatusMethodNotAllowed, text: "this paste is read by GET, as often as you like", allow: "DELETE, GET, HEAD"}
	}
	rd, err := h.opt.Store.Get(v.Context(), object.GetRequest{Bucket: h.opt.Bucket, Key: o.Key, Check: sameVersion(o)})
	if err != nil {
		return err
	}
	defer rd.Body.Close()
	return do(rd)
}

// handOut sends a paste as it was sent.
func (h *Handler) handOut(w http.ResponseWriter, v *visit, rd *object.Reader) {
	describe(w, rd.Object)
	h.send(w, v, rd)
}

// isShownWhole reports whether the page of a paste shows all of it.
func isShownWhole(o ledger.Object) bool { return !isBinary(o) && o.Size <= maxShown }

// askPage asks whether a paste is to be read now; home is the link to the form.
func askPage(home string, s *shown) []byte {
	return inFrame(s.Code, func(m *markup) {
		s.head(m, home)
		s.yours(m)
		m.add(`<div class="box">
<p><strong>This paste can be read %s.</strong> Opening it takes one read; with the last one it is gone for good.</p>
`, words.Times(s.ReadsLeft))
		if s.Whole {
			m.add(`<form class="inline" method="post" action="%s">
<button class="main">Show it</button>
<button formaction="%s/raw">Download it</button>
`, s.Page, s.Page)
		} else {
			m.add(`<form class="inline" method="post" action="%s/raw">
<button class="main">Download it</button>
`, s.Page)
		}
		m.add("</form>\n</div>\n")
		s.deletion(m)
	})
}
