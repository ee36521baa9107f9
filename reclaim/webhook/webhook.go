// Package webhook sends events to targets by HTTP: one event a request, signed, without
// following redirects, and to private addresses only where that is allowed.
package webhook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim/routine"
)

// The headers of a request.
const (
	HeaderSignature = "Lethe-Signature" // t=SECONDS,v1=HEX, see Sign
	HeaderID        = "Lethe-Event-Id"  // the same in each repetition
	HeaderSequencer = "Lethe-Sequencer"
)

// Bounds, in bytes, of what is read of an answer, and of the text of an error: the ledger
// keeps that with each event, and net/http repeats an answer that is not HTTP.
const (
	maxAnswer = 64 << 10
	MaxError  = 200
)

// Target is where events go.
type Target struct {
	URL     string
	Secret  string        // signs; not empty
	Private bool          // its address may be private or loopback
	Timeout time.Duration // of a request, with its answer
}

// Sender sends events to one target. It is safe for concurrent use.
type Sender struct {
	to     Target
	client *http.Client
	region string
	clock  lethe.Clock
}

// New returns a sender; region is named in the events.
func New(to Target, region string, clock lethe.Clock) *Sender {
	return &Sender{to, &http.Client{
		Timeout:       to.Timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext: Dialer(to.Timeout, to.Private).DialContext, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 16, IdleConnTimeout: time.Minute,
			TLSHandshakeTimeout: to.Timeout, MaxResponseHeaderBytes: maxAnswer,
		},
	}, region, clock}
}

// Dialer connects to a target: to private and loopback addresses only if private says so.
func Dialer(timeout time.Duration, private bool) *net.Dialer {
	d := &net.Dialer{Timeout: timeout}
	if !private {
		d.Control = public // the name is resolved there: what is checked is what is dialled
	}
	return d
}

// errPrivate refuses an address.
var errPrivate = errors.New("its address is private or loopback, which is not allowed (private: true in events.targets allows it)")

// reserved are networks that the methods of netip.Addr do not name: shared addresses, and IPv4
// addresses within IPv6.
var reserved = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("64:ff9b::/96"), netip.MustParsePrefix("64:ff9b:1::/48"), netip.MustParsePrefix("2002::/16"), netip.MustParsePrefix("::/96"),
}

// public is a net.Dialer.Control that refuses addresses that are not public.
func public(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("address %s: %w", address, err)
	}
	ip := at.Addr().Unmap()
	if !ip.IsGlobalUnicast() || ip.IsPrivate() || slices.ContainsFunc(reserved, func(p netip.Prefix) bool { return p.Contains(ip.WithZone("")) }) {
		return errPrivate
	}
	return nil
}

// Sign returns the value of HeaderSignature: the time in seconds since 1970, and the
// HMAC-SHA-256 under the secret of that number, a dot and the body, in hex.
func Sign(secret string, at lethe.Time, body []byte) string {
	seconds := strconv.FormatInt(at.Time().Unix(), 10)
	h := hmac.New(sha256.New, []byte(secret))
	h.Write([]byte(seconds + "."))
	h.Write(body)
	return "t=" + seconds + ",v1=" + hex.EncodeToString(h.Sum(nil))
}

// Send sends an event, and returns nil if that answered with a status of 200 to
// 299. routine.ErrUnreached if it gave no answer, or 429, 502, 503 or 504. Errors name neither
// the URL nor the secret.
func (s *Sender) Send(ctx context.Context, e ledger.Event) error {
	body, err := e.Message(e.At, e.No, s.region)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.to.URL, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("%w: its URL is not valid", routine.ErrUnreached)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "lethe")
	req.Header.Set(HeaderID, e.ID(e.No))
	req.Header.Set(HeaderSequencer, e.Sequencer())
	req.Header.Set(HeaderSignature, Sign(s.to.Secret, s.clock.Now(), body))
	res, err := s.client.Do(req)
	if err != nil {
		var of *url.Error
		if errors.As(err, &of) {
			err = of.Err // without the URL
		}
		text := err.Error()
		return fmt.Errorf("%w: %s", routine.ErrUnreached, text[:min(len(text), MaxError)])
	}
	defer res.Body.Close()
	_, _ = io.CopyN(io.Discard, res.Body, maxAnswer) // so that the connection is used again
	return judge(res.StatusCode)
}

func judge(status int) error {
	switch {
	case status >= 200 && status < 300:
		return nil
	case status >= 300 && status < 400:
		return fmt.Errorf("it answered %d, and redirects are not followed", status)
	case status == http.StatusTooManyRequests:
		return fmt.Errorf("%w: it answered %d", routine.ErrBusy, status)
	case slices.Contains([]int{http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout}, status):
		return fmt.Errorf("%w: it answered %d", routine.ErrUnreached, status)
	}
	return fmt.Errorf("it answered %d", status)
}
