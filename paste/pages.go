package paste

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/words"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/object"
)

// maxShown is how much of a paste its page shows, in bytes; the rest is behind a
// link.
const maxShown = 256 << 10

//go:embed pages.css help.txt
var files embed.FS

var (
	help  = text("help.txt")
	style = text("pages.css")
	// policyPage allows only the page's own style and forms.
	policyPage = "default-src 'none'; style-src 'sha256-" + digest(style) + "'; form-action 'self'; base-uri 'none'; " +
		"frame-ancestors 'none'; sandbox allow-forms allow-same-origin allow-downloads"
)

func text(name string) string {
	data, err := files.ReadFile(name)
	if err != nil {
		panic(err) // it is part of the program
	}
	return string(data)
}

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// render writes a page.
func render(w http.ResponseWriter, status int, page []byte) {
	header := w.Header()
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Content-Security-Policy", policyPage)
	header.Set("Content-Length", strconv.Itoa(len(page)))
	w.WriteHeader(status)
	// An error means that the client has left.
	_, _ = w.Write(page)
}

// help shows how pastes are made.
func (h *Handler) help(w http.ResponseWriter, v *visit) error {
	w.Header().Set("Vary", "Accept")
	w.Header().Set("Cache-Control", "no-cache")
	a := &advice{Base: v.base, Size: sizeText(h.opt.MaxSize), Default: ttlText(h.opt.DefaultTTL), Longest: "no limit"}
	if h.opt.MaxTTL > 0 {
		a.Longest = ttlText(h.opt.MaxTTL)
	}
	if v.browser {
		render(w, http.StatusOK, helpPage(v.root+"/", a))
		return nil
	}
	writeText(w, http.StatusOK, strings.NewReplacer(
		"BASE", a.Base, "SIZE", a.Size, "DEFAULT", a.Default, "LONGEST", a.Longest).Replace(help))
	return nil
}

// ttlText writes a time to live for people; zero is unlimited.
func ttlText(d time.Duration) string {
	if d == 0 {
		return "forever"
	}
	return lethe.FormatTTL(d)
}

// page shows a paste to a browser.
func (h *Handler) page(w http.ResponseWriter, v *visit) error {
	o, err := h.find(v)
	if err != nil {
		return err
	}
	if o.Counted() {
		return h.ask(w, v, o)
	}
	s := h.shown(v, o)
	if !s.Binary {
		data, err := h.beginning(v, o)
		if err != nil {
			return err
		}
		s.Lines = lines(data)
		s.Parts = h.colours.of(v.Context(), s.Type, s.Lines)
		s.Cut, s.Shown = int64(len(data)) < o.Size, sizeText(int64(len(data)))
	}
	// The page may show the delete token.
	w.Header().Set("Cache-Control", "no-store")
	setEnds(w, o)
	render(w, http.StatusOK, pastePage(v.root+"/", s))
	return nil
}

func (h *Handler) shown(v *visit, o ledger.Object) *shown {
	s := &shown{
		Code: o.Key, URL: v.base + "/" + o.Key, Page: v.root + "/" + o.Key,
		Size: sizeText(o.Size), Type: o.Attrs.User[metaType], Binary: isBinary(o),
	}
	if s.ReadsLeft, s.Whole = o.ReadsLeft, isShownWhole(o); o.Counted() {
		s.Reads = "can be read " + words.Times(o.ReadsLeft) + " more"
		if o.ReadsLeft == ledger.AllRead {
			s.Reads = "read for the last time: it is gone now"
		}
	}
	if due := o.End(); due != 0 {
		s.Expires = due.Time().Format("2 January 2006, 15:04:05 UTC")
		s.ExpiresISO = due.Time().Format(time.RFC3339)
		s.Left = leftText(due.Sub(h.opt.Clock.Now()))
		if due == o.IdleAt {
			s.Idle = lethe.FormatTTL(o.IdleFor)
		}
	}
	if c, err := v.Cookie(tokenCookie); err == nil && tokenMatches(c.Value, o.Attrs.User[metaToken]) {
		s.Token = c.Value
	}
	return s
}

// leftText writes the remaining time of a paste, in its two largest units.
func leftText(d time.Duration) string {
	for _, unit := range []time.Duration{24 * time.Hour, time.Hour, time.Minute} {
		if d >= 2*unit {
			return "in " + lethe.FormatTTL(d.Truncate(unit))
		}
	}
	return "in " + lethe.FormatTTL(max(d.Truncate(time.Second), time.Second))
}

// beginning reads as much of a text as its page shows, up to the end of a line if
// there is one.
func (h *Handler) beginning(v *visit, o ledger.Object) ([]byte, error) {
	req := object.GetRequest{Bucket: h.opt.Bucket, Key: o.Key, Check: sameVersion(o)}
	if o.Size > maxShown {
		req.Range = &object.Range{Length: maxShown}
	}
	rd, err := h.opt.Store.Get(v.Context(), req)
	if err != nil {
		return nil, err
	}
	defer rd.Body.Close()
	data, err := io.ReadAll(rd.Body)
	if err != nil || o.Size <= maxShown {
		return data, err
	}
	if end := bytes.LastIndexByte(data, '\n'); end >= 0 {
		return data[:end+1], nil
	}
	for len(data) > 0 && !utf8.Valid(data) {
		data = data[:len(data)-1]
	}
	return data, nil
}

// lines splits a text; an end of line at its end begins no further one.
func lines(data []byte) []string {
	data = bytes.TrimSuffix(data, []byte("\n"))
	var out []string
	for part := range bytes.SplitSeq(data, []byte("\n")) {
		out = append(out, string(bytes.TrimSuffix(part, []byte("\r"))))
	}
	return out
}
