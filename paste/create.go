package paste

import (
	"bytes"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/object"
)

// The user metadata of a paste. An object without a token hash is no paste, and is
// not shown.
const (
	metaToken = "paste-token-sha256"
	metaType  = "paste-type"
)

// The content types that pastes are stored and served with.
const (
	textType   = "text/plain; charset=utf-8"
	binaryType = "application/octet-stream"
)

// Headers of responses.
const (
	headerToken  = "X-Delete-Token"
	headerSunset = "Sunset" // RFC 8594: when the paste will be gone
	headerReads  = "X-Reads-Left"
)

// creation is the response to the maker of a paste.
type creation struct {
	Code        string  `json:"code"`
	URL         string  `json:"url"`
	RawURL      string  `json:"raw_url"`
	ExpiresAt   *string `json:"expires_at"` // RFC 3339, null: never
	DeleteToken string  `json:"delete_token"`
	Size        int64   `json:"size"`                 // bytes
	ReadsLeft   int64   `json:"reads_left,omitempty"` // absent: they are not counted
	Idle        string  `json:"idle,omitempty"`       // how long it is kept after its last read; absent: that does not matter
}

func (h *Handler) create(w http.ResponseWriter, v *visit) error {
	v.held = h.held.Account(v.limit)
	defer v.held.Close()
	s, err := h.readSubmission(v)
	if err != nil {
		return err
	}
	o, token, err := h.put(v, s)
	if err != nil {
		return err
	}
	at := v.base + "/" + o.Key
	w.Header().Set("Location", at)
	w.Header().Set(headerToken, token)
	w.Header().Set("Cache-Control", "no-store")
	setEnds(w, o)
	switch {
	case v.browser:
		// Within the site: the policy of the page with the form allows no other.
		w.Header().Set("Location", v.root+"/"+o.Key)
		http.SetCookie(w, v.cookie(o.Key, token, int(tokenKept.Seconds())))
		w.WriteHeader(http.StatusSeeOther)
	case v.json:
		c := creation{Code: o.Key, URL: at, RawURL: at + "/raw", DeleteToken: token, Size: o.Size, ReadsLeft: o.ReadsLeft}
		if due := o.End(); due != 0 {
			text := due.Time().Format(time.RFC3339Nano)
			c.ExpiresAt = &text
		}
		if o.IdleFor > 0 {
			c.Idle = lethe.FormatTTL(o.IdleFor)
		}
		writeJSON(w, http.StatusCreated, c)
	default:
		writeText(w, http.StatusCreated, at+"\n")
	}
	return nil
}

// createNamed is create for a file under its name, which must not look like an
// attempt to change an existing paste.
func (h *Handler) createNamed(w http.ResponseWriter, v *visit) error {
	if _, err := h.find(v); err == nil {
		return &problem{status: http.StatusMethodNotAllowed, text: "a paste cannot be changed; send a new one to " + v.base, allow: "DELETE, GET, HEAD"}
	}
	return h.create(w, v)
}

// setEnds sets the headers for when a paste ends, in whole seconds, and how often it can
// be read before.
func setEnds(w http.ResponseWriter, o ledger.Object) {
	if due := o.End(); due != 0 {
		w.Header().Set(headerSunset, due.Time().Format(http.TimeFormat))
	}
	if o.Counted() {
		w.Header().Set(headerReads, strconv.FormatInt(max(o.ReadsLeft, 0), 10))
		w.Header().Set("Cache-Control", "no-store")
	}
}

// put stores a paste under its alias or under a free code. The store refuses a code
// that is taken, and another is drawn.
func (h *Handler) put(v *visit, s submission) (o ledger.Object, token string, err error) {
	if token, err = draw(h.opt.Random, tokenLength); err != nil {
		return o, "", err
	}
	taken := &problem{status: http.StatusConflict, text: "the alias " + s.alias + " is taken; choose another"}
	if s.alias != "" {
		// Before the bytes are sent: the put itself decides.
		switch _, err := h.opt.Store.Head(v.Context(), object.GetRequest{Bucket: h.opt.Bucket, Key: s.alias}); {
		case err == nil:
			return o, "", taken
		case !errors.Is(err, lethe.ErrNoSuchKey):
			return o, "", err
		}
	}
	req := h.putRequest(s, token)
	for try := 1; ; try++ {
		if req.Key = s.alias; s.alias == "" {
			if req.Key, err = draw(h.opt.Random, codeLength); err != nil {
				return o, "", err
			}
		}
		req.Body = bytes.NewReader(s.content)
		res, err := h.opt.Store.Put(v.Context(), req)
		switch {
		case err == nil:
			return res.Object, token, nil
		case !errors.Is(err, lethe.ErrPreconditionFailed):
			return o, "", err
		case s.alias != "":
			return o, "", taken
		case try == maxDraws:
			return o, "", err
		}
	}
}

func (h *Handler) putRequest(s submission, token string) object.PutRequest {
	digest, etag := sha256.Sum256(s.content), md5.Sum(s.content)
	req := object.PutRequest{
		Bucket: h.opt.Bucket, Size: int64(len(s.content)),
		// The time that it takes must not tell what others have pasted.
		Send:   true,
		SHA256: hex.EncodeToString(digest[:]), MD5: hex.EncodeToString(etag[:]),
		Attrs: ledger.Attrs{ContentType: binaryType, User: map[string]string{metaToken: hashed(token)}},
		TTL:   s.ttl, Reads: s.reads, Idle: s.idle, If: ledger.Precondition{IfNoneMatch: "*"},
	}
	if utf8.Valid(s.content) && bytes.IndexByte(s.content, 0) < 0 {
		req.Attrs.ContentType = textType
	}
	if s.label != "" {
		req.Attrs.User[metaType] = s.label
	}
	return req
}

// tokenCookie holds the delete token of the paste that a form made, for the page
// that the browser is redirected to. It is sent to no other paste and visible to no
// script.
const tokenCookie = "lethe-delete"

// tokenKept is how long the browser shows the token.
const tokenKept = time.Hour

func (v *visit) cookie(code, token string, age int) *http.Cookie {
	return &http.Cookie{
		Name: tokenCookie, Value: token, Path: v.root + "/" + code, MaxAge: age,
		Secure: strings.HasPrefix(v.base, "https:"), HttpOnly: true, SameSite: http.SameSiteStrictMode,
	}
}
