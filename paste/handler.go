package paste

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/budget"
)

// patience is how long a client may send or take nothing.
const patience = 30 * time.Second

// Handler serves pastes:
//
//	GET    /             how to use it, with a form
//	POST   /             makes a paste
//	PUT    / or /NAME    the same, as curl -T sends a file; the name is not kept
//	GET    /CODE         the paste: a page for browsers, else as /CODE/raw
//	GET    /CODE/raw     the paste as it was sent
//	POST   /CODE[/raw]   the same for a paste whose reads are counted: GET takes none
//	DELETE /CODE         deletes it, with its token
//	POST   /CODE/delete  the same for a form
type Handler struct {
	opt  Options
	root string // the path in Options.PublicURL, without a slash at its end
	mux  http.ServeMux
	held *budget.Budget // by the pastes that are being received
	// colours are those of the words of pastes that are shown.
	colours colours
}

// New makes a handler, and the bucket for its pastes if there is none. It fails if
// the bucket exists and was not made for pastes: its objects would become public.
func New(ctx context.Context, o Options) (*Handler, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := openBucket(ctx, o); err != nil {
		return nil, err
	}
	public, err := url.Parse(o.PublicURL)
	if err != nil {
		return nil, fmt.Errorf("paste: public URL: %w", err)
	}
	h := &Handler{opt: o, root: public.EscapedPath(), held: budget.New(o.Memory, o.Memory/2), colours: newColours()}
	for pattern, fn := range map[string]func(http.ResponseWriter, *visit) error{
		"GET /{$}":            h.help,
		"POST /{$}":           h.create,
		"PUT /{$}":            h.create,
		"PUT /{code}":         h.createNamed,
		"GET /{code}":         h.show,
		"GET /{code}/raw":     h.raw,
		"POST /{code}":        h.take,
		"POST /{code}/raw":    h.takeRaw,
		"DELETE /{code}":      h.remove,
		"POST /{code}/delete": h.removeByForm,
		"GET /robots.txt":     h.robots,
	} {
		h.mux.HandleFunc(pattern, h.serve(fn))
	}
	return h, nil
}

// visitKey finds the visit in a request's context.
type visitKey struct{}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := lethe.Awake{}.Now()
	header := w.Header()
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("X-Frame-Options", "DENY")
	header.Set("X-Robots-Tag", "noindex, nofollow")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Content-Security-Policy", policyNothing)
	rec := &recorder{ResponseWriter: w, control: http.NewResponseController(w)}
	v, err := h.visit(r)
	defer func() {
		h.opt.Events.request(RequestEvent{
			Method: r.Method, Path: r.URL.Path, Address: v.address, Status: rec.status,
			BytesOut: rec.bytes, Duration: lethe.Awake{}.Now().Sub(start),
		})
	}()
	if err == nil {
		err = h.admit(v)
	}
	if err != nil {
		h.fail(rec, v, err)
		return
	}
	v.Body = &idleTimeoutBody{v.Body, rec.control}
	ctx, cancel := outliving(r.Context())
	defer cancel()
	h.mux.ServeHTTP(rec, r.WithContext(context.WithValue(ctx, visitKey{}, v)))
}

// outliving returns a context that ends a while after ctx does. A client may close
// its sending half of the connection, which ends a request's context, and wait for
// the response.
func outliving(ctx context.Context) (context.Context, context.CancelFunc) {
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		late := time.NewTimer(patience)
		defer late.Stop()
		select {
		case <-late.C:
			cancel()
		case <-own.Done():
		}
	})
	return own, func() {
		stop()
		cancel()
	}
}

// admit refuses a client that is too fast.
func (h *Handler) admit(v *visit) error {
	if h.opt.Limiter == nil {
		return nil
	}
	wait, ok := h.opt.Limiter.Allow(v.limit)
	if ok {
		return nil
	}
	h.opt.Events.limited(v.address)
	return &problem{status: http.StatusTooManyRequests, text: "too many requests from your address; wait a moment", retry: max(wait, time.Second)}
}

// serve sends the errors of fn. The visit takes the request that the mux made,
// which has the code in the path.
func (h *Handler) serve(fn func(http.ResponseWriter, *visit) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v := r.Context().Value(visitKey{}).(*visit)
		v.Request = r
		err := h.guessed(v)
		if err == nil {
			err = fn(w, v)
			h.missed(v, err)
		}
		if err != nil {
			h.fail(w, v, err)
		}
	}
}

// guessed refuses a client that requested too many absent pastes: it is guessing
// codes.
func (h *Handler) guessed(v *visit) error {
	if h.opt.Misses == nil || v.PathValue("code") == "" {
		return nil
	}
	wait, spent := h.opt.Misses.Spent(v.limit)
	if !spent {
		return nil
	}
	h.opt.Events.limited(v.address)
	return &problem{status: http.StatusTooManyRequests, text: "too many requests from your address for pastes that are not there; wait a moment", retry: max(wait, time.Second)}
}

// missed counts requests for absent pastes; those for existing ones cost nothing.
func (h *Handler) missed(v *visit, err error) {
	missing := errors.Is(err, lethe.ErrNoSuchKey) || errors.Is(err, notFound)
	if h.opt.Misses != nil && missing && v.PathValue("code") != "" {
		h.opt.Misses.Allow(v.limit)
	}
}

func (h *Handler) robots(w http.ResponseWriter, _ *visit) error {
	writeText(w, http.StatusOK, "User-agent: *\nDisallow: /\n")
	return nil
}

// recorder records the status of a response, and gives up a client that takes
// nothing.
type recorder struct {
	http.ResponseWriter
	control *http.ResponseController
	status  int
	bytes   int64
}

// WriteHeader implements http.ResponseWriter.
func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
	// Without a body nothing else extends the deadline of an earlier response.
	_ = r.control.SetWriteDeadline(deadline())
	r.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (r *recorder) Write(p []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	if err := r.control.SetWriteDeadline(deadline()); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return 0, fmt.Errorf("paste: write deadline: %w", err)
	}
	n, err := r.ResponseWriter.Write(p)
	r.bytes += int64(n)
	return n, err
}

// idleTimeoutBody is a request body that fails when nothing comes.
type idleTimeoutBody struct {
	io.ReadCloser
	control *http.ResponseController
}

// Read implements io.Reader.
func (s *idleTimeoutBody) Read(p []byte) (int, error) {
	if err := s.control.SetReadDeadline(deadline()); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return 0, fmt.Errorf("paste: read deadline: %w", err)
	}
	n, err := s.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		// The rest is done by the server, at its own pace.
		_ = s.control.SetReadDeadline(time.Time{})
	}
	return n, err
}

func deadline() time.Time { return lethe.SystemClock{}.Now().Add(patience).Time() }
