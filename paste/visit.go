package paste

import (
	"net/http"
	"net/netip"
	"regexp"
	"strings"

	"github.com/lethe-storage/lethe/internal/budget"
	"github.com/lethe-storage/lethe/internal/forwarded"
)

// visit is a request with what was derived from it.
type visit struct {
	*http.Request
	address string          // the client's IP address
	limit   string          // the key by which its rate and its memory are limited
	held    *budget.Account // of memory for what is received
	base    string          // begins links; no slash at its end
	root    string          // the path in base; begins links within the site
	browser bool            // wants HTML
	json    bool            // wants JSON
}

// hostForm restricts the Host header to the form of a host.
var hostForm = regexp.MustCompile(`^[A-Za-z0-9.:_\[\]-]+$`)

func (h *Handler) visit(r *http.Request) (*visit, error) {
	accept := strings.Join(r.Header.Values("Accept"), ",")
	v := &visit{Request: r, base: h.opt.PublicURL, root: h.root, browser: strings.Contains(accept, "text/html")}
	v.json = !v.browser && strings.Contains(accept, "application/json")
	scheme := h.behindProxy(v)
	if v.base != "" {
		return v, nil
	}
	if !hostForm.MatchString(r.Host) {
		return v, badRequest("the Host header is not that of a URL")
	}
	v.base = scheme + "://" + r.Host
	return v, nil
}

// behindProxy finds the client's address and scheme.
func (h *Handler) behindProxy(v *visit) (scheme string) {
	scheme = "http"
	if v.TLS != nil {
		scheme = "https"
	}
	at, err := netip.ParseAddrPort(v.RemoteAddr)
	if err != nil {
		v.address, v.limit = v.RemoteAddr, v.RemoteAddr
		return scheme
	}
	client := forwarded.Client(at.Addr(), v.Header.Values("X-Forwarded-For"), h.opt.TrustedProxies)
	if forwarded.Trusts(h.opt.TrustedProxies, at.Addr()) {
		if proto := v.Header.Get("X-Forwarded-Proto"); proto == "http" || proto == "https" {
			scheme = proto
		}
	}
	v.address, v.limit = client.String(), forwarded.Group(client).String()
	return scheme
}
