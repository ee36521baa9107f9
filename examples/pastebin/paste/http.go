package paste

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"
)

// HandlerConfig says what a Handler accepts.
type HandlerConfig struct {
	// Secret is what the keys of owners are made with. Instances that serve the same
	// pastes have the same.
	Secret []byte
	// MaxSize is the size of the largest paste, in bytes (default 1 MiB).
	MaxSize int64
	// TTL is that of pastes for which none is asked (default 30 days).
	TTL time.Duration
	// Log takes errors that are not the client's (default: slog.Default).
	Log *slog.Logger
}

// Handler serves pastes over HTTP:
//
//	GET    /                  how to use it
//	POST   /?ttl=1h           makes a paste of the body; ttl=never keeps it
//	GET    /CODE              the paste
//	PUT    /CODE              gives it another content
//	PUT    /CODE/ttl?ttl=1h   makes it expire an hour from now
//	DELETE /CODE              deletes it
//
// POST answers with the code and the key of the owner, which the last three demand
// as "Authorization: Bearer KEY".
type Handler struct {
	store *Store
	c     HandlerConfig
	mux   http.ServeMux
}

// NewHandler makes a handler of the pastes in the store. It fails without a secret.
func NewHandler(s *Store, c HandlerConfig) (*Handler, error) {
	if len(c.Secret) < 16 {
		return nil, errors.New("the secret for the owners' keys has less than 16 bytes")
	}
	c.MaxSize = cmp.Or(c.MaxSize, 1<<20)
	c.TTL = cmp.Or(c.TTL, 30*24*time.Hour)
	c.Log = cmp.Or(c.Log, slog.Default())
	h := &Handler{store: s, c: c}
	for pattern, serve := range map[string]func(http.ResponseWriter, *http.Request) error{
		"GET /{$}":        h.usage,
		"POST /{$}":       h.create,
		"GET /{code}":     h.read,
		"PUT /{code}":     h.owned(h.replace),
		"PUT /{code}/ttl": h.owned(h.extend),
		"DELETE /{code}":  h.owned(h.remove),
	} {
		h.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if err := serve(w, r); err != nil {
				h.fail(w, r, err)
			}
		})
	}
	return h, nil
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store") // a copy elsewhere would outlive the paste
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; sandbox")
	h.mux.ServeHTTP(w, r)
}

func (h *Handler) usage(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	fmt.Fprintf(w, "Store text:  curl --data-binary @FILE 'http://%s/?ttl=24h'\nRead it:     curl http://%s/CODE\n", r.Host, r.Host)
	return nil
}

// refusal is an error that is the client's.
type refusal struct {
	status int
	text   string
}

// Error implements error.
func (r *refusal) Error() string { return r.text }

// answer is what a client is told of a paste.
type answer struct {
	Code      string     `json:"code"`
	ExpiresAt *time.Time `json:"expires_at"` // null: never
	OwnerKey  string     `json:"owner_key,omitempty"`
}

func (h *Handler) create(w http.ResponseWriter, r *http.Request) error {
	ttl := h.c.TTL
	if r.URL.Query().Has("ttl") {
		var err error
		if ttl, err = askedTTL(r); err != nil {
			return err
		}
	}
	body, err := h.body(w, r)
	if err != nil {
		return err
	}
	p, err := h.store.Create(r.Context(), body, ttl)
	if err != nil {
		return err
	}
	w.Header().Set("Location", "/"+p.Code)
	return write(w, http.StatusCreated, answer{p.Code, p.ExpiresAt, h.ownerKey(p.Code)})
}

func (h *Handler) read(w http.ResponseWriter, r *http.Request) error {
	_, body, err := h.store.Read(r.Context(), r.PathValue("code"))
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write(body) // a client that went away needs no answer
	return nil
}

func (h *Handler) replace(w http.ResponseWriter, r *http.Request) error {
	body, err := h.body(w, r)
	if err != nil {
		return err
	}
	p, err := h.store.Replace(r.Context(), r.PathValue("code"), body)
	if err != nil {
		return err
	}
	return write(w, http.StatusOK, answer{Code: p.Code, ExpiresAt: p.ExpiresAt})
}

func (h *Handler) extend(w http.ResponseWriter, r *http.Request) error {
	ttl, err := askedTTL(r)
	if err != nil {
		return err
	}
	p, err := h.store.Extend(r.Context(), r.PathValue("code"), ttl)
	if err != nil {
		return err
	}
	return write(w, http.StatusOK, answer{Code: p.Code, ExpiresAt: p.ExpiresAt})
}

func (h *Handler) remove(w http.ResponseWriter, r *http.Request) error {
	if err := h.store.Delete(r.Context(), r.PathValue("code")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// owned lets only the owner of the paste through.
func (h *Handler) owned(serve func(http.ResponseWriter, *http.Request) error) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		key, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if !ok {
			w.Header().Set("WWW-Authenticate", "Bearer")
			return &refusal{http.StatusUnauthorized, "send the key of the owner: Authorization: Bearer KEY"}
		}
		if !hmac.Equal([]byte(key), []byte(h.ownerKey(r.PathValue("code")))) {
			return &refusal{http.StatusForbidden, "this is not the key of the owner"}
		}
		return serve(w, r)
	}
}

// ownerKey is derived from the code, so that it need not be stored.
func (h *Handler) ownerKey(code string) string {
	mac := hmac.New(sha256.New, h.c.Secret)
	mac.Write([]byte(code))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func (h *Handler) body(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, h.c.MaxSize))
	if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) {
		return nil, &refusal{http.StatusRequestEntityTooLarge, fmt.Sprintf("a paste has at most %d bytes", h.c.MaxSize)}
	}
	if err != nil {
		return nil, &refusal{http.StatusBadRequest, "the body did not arrive whole"}
	}
	return body, nil
}

// askedTTL returns the time to live in the query, 0 for never.
func askedTTL(r *http.Request) (time.Duration, error) {
	asked := r.URL.Query().Get("ttl")
	if asked == "never" {
		return 0, nil
	}
	ttl, err := time.ParseDuration(asked)
	if err != nil || ttl < time.Millisecond {
		return 0, &refusal{http.StatusBadRequest, fmt.Sprintf(`ttl=%q is not understood; write a time such as 90s, 12h or 720h, or "never"`, asked)}
	}
	return ttl, nil
}

func write(w http.ResponseWriter, status int, a answer) error {
	text, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("answer: %w", err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n')) // a client that went away needs no answer
	return nil
}

// fail answers with the error. What is not the client's fault is logged, and the
// client learns no more than what to do.
func (h *Handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	var refused *refusal
	status, text := http.StatusServiceUnavailable, "the service cannot do this at the moment; try again"
	switch {
	case errors.As(err, &refused):
		status, text = refused.status, refused.text
	case errors.Is(err, ErrNotFound):
		status, text = http.StatusNotFound, "there is no such paste, or it has expired"
	case errors.Is(err, ErrEmpty):
		status, text = http.StatusBadRequest, "the paste is empty; send its text as the body"
	case errors.Is(err, context.Canceled) && r.Context().Err() != nil:
		return // the client went away
	case errors.Is(err, ErrBytesMissing):
		status, text = http.StatusInternalServerError, "the bytes of this paste are damaged or missing"
		fallthrough
	default:
		h.c.Log.Error("request failed", "method", r.Method, "path", r.URL.Path, "error", err)
	}
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	http.Error(w, text, status)
}
