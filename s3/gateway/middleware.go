package gateway

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gofiber/fiber/v3"
	"github.com/valyala/fasthttp"
	"github.com/versity/versitygw/auth"
	"github.com/versity/versitygw/s3api/utils"
	"github.com/versity/versitygw/s3err"
	"github.com/versity/versitygw/s3response"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/forwarded"
	"github.com/lethe-storage/lethe/s3"
	"github.com/lethe-storage/lethe/s3/authz"
)

// maxDocument bounds bodies that are read into memory, in bytes. A completion
// of 10,000 parts and a deletion of 1,000 long keys fit.
const maxDocument = 8 << 20

// rooms are lower bounds for the bodies of some queries, in bytes.
var rooms = map[string]int64{
	"policy": authz.MaxPolicy,
	"acl":    64 << 10, "cors": 64 << 10, "tagging": s3.MaxTagDocument, "ownershipControls": 4 << 10, "publicAccessBlock": 4 << 10,
	"lifecycle": 1 << 20, "notification": 512 << 10, "retention": 4 << 10, "legal-hold": 4 << 10, "versioning": 4 << 10,
}

// retryAfter is the delay, in seconds, after which an unavailable service may
// be retried. Most outages are short, and clients double their delays.
const retryAfter = "1"

// bodied are the queries whose PUT body at a key's address is a document, not
// an object. versitygw takes the body of any other for an object.
var bodied = []string{"acl", "legal-hold", "retention", "tagging"}

// serve wraps every request, before and after versitygw.
func (s *Server) serve(ctx fiber.Ctx) (err error) {
	req, start := &request{web: ctx}, lethe.Awake{}.Now()
	ctx.Locals(requestKey{}, req)
	s.behindProxy(ctx)
	s.describe(ctx, req)
	req.base, req.ended = s.opt.Events.Begun(s.backend.opt.Base,
		strings.Clone(ctx.Get("Traceparent")), strings.Clone(ctx.Get("Tracestate")))
	defer func() {
		if p := recover(); p != nil {
			(&op{req: req}).failed(fmt.Errorf("s3: panic: %v", p))
			err = refuse(ctx, s3err.GetAPIError(s3err.ErrInternalError))
		}
		s.finish(ctx, req, start)
	}()
	if e := s.check(ctx, req); e != nil {
		req.event.Code = e.BaseError().Code
		return refuse(ctx, e)
	}
	restore, e := s.openForm(ctx, req)
	defer restore()
	if e != nil {
		req.event.Code = e.BaseError().Code
		return refuse(ctx, e)
	}
	readChunks(ctx, req)
	defer s.charge(ctx, req)()
	err = s.answer(ctx, req)
	if req.starved() {
		// The result of the partial body is discarded.
		e := s3err.GetAPIError(s3err.ErrSlowDown)
		req.event.Code = e.Code
		return refuse(ctx, e)
	}
	return err
}

// answer runs a request through versitygw, or handles what that refuses.
func (s *Server) answer(ctx fiber.Ctx, req *request) error {
	if err := ctx.Next(); err != nil {
		return err
	}
	if err := s.readAgain(ctx, req); err != nil {
		return err
	}
	if withISODates(ctx, req) {
		if err := s.deleteAgain(ctx, req); err != nil {
			return err
		}
	}
	if e := misread(ctx, req); e != nil {
		req.event.Code = e.BaseError().Code
		return refuse(ctx, e)
	}
	if a, ok := s.ours(ctx, req); ok {
		return s.act(ctx, req, a)
	}
	return s.owned(ctx, req)
}

// misread returns S3's error where versitygw returns an invalid request: for a
// deletion that is not an XML document.
func misread(ctx fiber.Ctx, req *request) s3err.S3Error {
	if req.event.Operation != "DeleteObjects" || req.event.Code != s3err.GetAPIError(s3err.ErrInvalidRequest).Code {
		return nil
	}
	if err := xml.Unmarshal(ctx.BodyRaw(), &s3response.DeleteObjects{}); err != nil {
		return s3err.GetAPIError(s3err.ErrMalformedXML)
	}
	return nil
}

// describe records what the request is, in strings of its own.
func (s *Server) describe(ctx fiber.Ctx, req *request) {
	id, _ := utils.EnsureRequestIDs(ctx)
	q := ctx.Request().URI().QueryArgs()
	bucket, key := s.split(ctx)
	req.event = s3.RequestEvent{
		ID: strings.Clone(id), Method: strings.Clone(ctx.Method()), Address: strings.Clone(ctx.IP()),
		Bucket: bucket, Key: key, BytesIn: int64(ctx.Request().Header.ContentLength()),
	}
	get := req.event.Method == http.MethodGet
	req.policyStatus = get && key == "" && q.Has("policyStatus")
	req.policyRead = get && (q.Has("policy") || q.Has("policyStatus"))
	req.urlEncode = get && string(q.Peek("encoding-type")) == "url"
	kind, _, _ := mime.ParseMediaType(ctx.Get(fiber.HeaderContentType))
	// For any query: versitygw takes a POST that is not a deletion for a form.
	req.form = req.event.Method == http.MethodPost && key == "" && kind == fiber.MIMEMultipartForm && !q.Has("delete")
}

// split parses bucket and key from path and host, for events and limits;
// authorisation uses versitygw's own parsing.
func (s *Server) split(ctx fiber.Ctx) (bucket, key string) {
	path := string(ctx.Request().URI().PathOriginal())
	if plain, err := url.PathUnescape(path); err == nil {
		path = plain
	}
	path = strings.TrimPrefix(path, "/")
	if s.opt.Domain != "" {
		if host, _, ok := strings.Cut(string(ctx.Request().Host()), "."+s.opt.Domain); ok && host != "" {
			return strings.Clone(host), path
		}
	}
	bucket, key, _ = strings.Cut(path, "/")
	return bucket, key
}

// methods are those of S3.
var methods = []string{http.MethodGet, http.MethodHead, http.MethodPut, http.MethodPost, http.MethodDelete, http.MethodOptions}

// check refuses what can be refused without authentication.
func (s *Server) check(ctx fiber.Ctx, req *request) s3err.S3Error {
	if e := unruly(ctx, req); e != nil {
		return e
	}
	if !slices.Contains(methods, req.event.Method) && !(s.opt.accounts != nil && req.event.Method == http.MethodPatch) {
		return s3err.GetMethodNotAllowedErr(req.event.Method, s3err.ResourceTypeObject, methods)
	}
	path, err := url.PathUnescape(string(ctx.Request().URI().PathOriginal()))
	if err != nil || !utf8.ValidString(path) || strings.ContainsRune(path, 0) {
		return s3err.GetAPIError(s3err.ErrInvalidURI)
	}
	if e := misdirected(ctx, req); e != nil {
		return e
	}
	if e := signedTwice(ctx); e != nil {
		return e
	}
	if e := unkept(ctx, req); e != nil {
		return e
	}
	if source := ctx.Request().Header.PeekAll("X-Amz-Copy-Source"); len(source) > 1 || (len(source) == 1 && len(source[0]) == 0) {
		return s3err.GetInvalidArgumentErr(s3err.InvalidArgCopySource, "")
	}
	if _, ok := s.addresses.Allow(limitedBy(req.event.Address)); !ok {
		s.opt.Events.Limited("address", req.event.Address)
		return s3err.GetAPIError(s3err.ErrSlowDown)
	}
	return bodyLength(ctx, req)
}

// limitedBy returns the key by which a client's address is rate limited.
func limitedBy(address string) string {
	a, err := netip.ParseAddr(address)
	if err != nil {
		return address
	}
	return forwarded.Group(a).String()
}

// bodyLength refuses bodies by their declared length. The web server takes a
// body without a length for none: such an upload would make an empty object.
func bodyLength(ctx fiber.Ctx, req *request) s3err.S3Error {
	n, object := req.event.BytesIn, streams(ctx, req)
	switch {
	case object && n == 0 && !saysLength(ctx.Request().Header.RawHeaders()):
		return s3err.GetAPIError(s3err.ErrMissingContentLength)
	case req.form || object:
		return nil
	case n > documentRoom(ctx):
		return s3err.GetMaxMessageLengthExceeded(documentRoom(ctx))
	case n == -1:
		return s3err.GetAPIError(s3err.ErrMissingContentLength)
	}
	return nil
}

// documentRoom returns how long the request's body may be.
func documentRoom(ctx fiber.Ctx) int64 {
	room := int64(maxDocument)
	for name := range ctx.Request().URI().QueryArgs().All() {
		if least, ok := rooms[string(name)]; ok {
			room = min(room, least)
		}
	}
	return room
}

// onceSigned are the headers of a signature that are ambiguous if repeated.
var onceSigned = []string{"Authorization", "X-Amz-Date", "X-Amz-Content-Sha256", "X-Amz-Security-Token", "X-Amz-Decoded-Content-Length"}

// signedTwice refuses a request that repeats one of them, or is signed both in
// its header and in its address.
func signedTwice(ctx fiber.Ctx) s3err.S3Error {
	h, q := &ctx.Request().Header, ctx.Request().URI().QueryArgs()
	for _, name := range onceSigned {
		if len(h.PeekAll(name)) > 1 {
			return s3err.InvalidArgumentError{Description: "The header stands there more than once: send it once.", ArgumentName: name}
		}
	}
	if ctx.Get("Authorization") != "" && (q.Has("X-Amz-Signature") || q.Has("X-Amz-Algorithm") || q.Has("Signature")) {
		return s3err.InvalidArgumentError{
			Description:  "Only one auth mechanism allowed; only the X-Amz-Algorithm query parameter, Signature query string parameter or the Authorization header should be specified",
			ArgumentName: "Authorization",
		}
	}
	return nil
}

// saysLength looks for a Content-Length in a raw header: the web server adds a
// missing one.
func saysLength(raw []byte) bool {
	for line := range bytes.Lines(raw) {
		if name, _, _ := bytes.Cut(line, []byte(":")); strings.EqualFold(string(name), fiber.HeaderContentLength) {
			return true
		}
	}
	return false
}

// streams reports whether the request's body is an object's or a part's, which
// is never held in memory.
func streams(ctx fiber.Ctx, req *request) bool {
	return req.event.Method == http.MethodPut && req.event.Key != "" && ctx.Get("X-Amz-Copy-Source") == "" &&
		!slices.ContainsFunc(bodied, ctx.Request().URI().QueryArgs().Has)
}

// refuse writes an error in S3's form.
func refuse(ctx fiber.Ctx, e s3err.S3Error) error {
	id, host := utils.EnsureRequestIDs(ctx)
	ctx.Response().Reset()
	ctx.Response().Header.SetContentType(fiber.MIMEApplicationXML)
	return ctx.Status(e.StatusCode()).Send(e.XMLBody(id, host))
}

// finish completes the response and reports the request, at once or at the end
// of its body.
func (s *Server) finish(ctx fiber.Ctx, req *request, start lethe.Time) {
	resp := ctx.Response()
	req.web = nil
	for _, f := range req.failures {
		f.ID, f.Operation = req.event.ID, req.event.Operation
		s.opt.Events.Failure(f)
	}
	if req.event.BytesIn == -1 || req.starved() {
		// The rest of the body must not be read as a request.
		resp.Header.SetConnectionClose()
	}
	if status := resp.StatusCode(); req.expires != "" && status < http.StatusMultipleChoices {
		resp.Header.Set(s3.HeaderExpiration, req.expires)
	}
	if req.readsLeft != "" {
		resp.Header.Set(s3.HeaderReadsLeft, req.readsLeft)
		// Whatever a query or the object asks for: a cache would serve it uncounted.
		resp.Header.Set(fiber.HeaderCacheControl, "no-store")
	}
	if resp.StatusCode() == http.StatusServiceUnavailable && len(resp.Header.Peek(fiber.HeaderRetryAfter)) == 0 {
		resp.Header.Set(fiber.HeaderRetryAfter, retryAfter)
	}
	if acct, ok := utils.ContextKeyAccount.Get(ctx).(auth.Account); ok {
		req.event.Requester = strings.Clone(acct.Access)
	}
	req.event.Status = resp.StatusCode()
	ready := lethe.Awake{}.Now().Sub(start) - time.Duration(req.received.Load())
	report := func(n int64) {
		req.event.BytesOut, req.event.Duration = n, lethe.Awake{}.Now().Sub(start)
		req.event.Served = ready + req.fetched
		s.opt.Events.Request(req.event)
		req.ended(req.event)
	}
	exposeRuled(ctx, req)
	req.amend(resp)
	keepLines(&resp.Header)
	switch {
	case req.streaming && resp.IsBodyStream():
		req.end = report
	case resp.IsBodyStream():
		report(-1)
	default:
		report(int64(len(resp.Body())))
	}
}

// keepLines replaces control characters in header values that clients chose by
// spaces. The web server replaces only line breaks, and many readers refuse a
// response with another one.
func keepLines(h *fasthttp.ResponseHeader) {
	var broken [][2][]byte
	for name, value := range h.All() {
		if slices.ContainsFunc(value, control) {
			broken = append(broken, [2][]byte{bytes.Clone(name), bytes.Clone(value)})
		}
	}
	for _, line := range broken {
		for i, c := range line[1] {
			if control(c) {
				line[1][i] = ' '
			}
		}
		h.SetBytesKV(line[0], line[1])
	}
}

func control(c byte) bool { return c < ' ' && c != '\t' || c == 0x7f }

// recorder receives the operation of each request from versitygw.
type recorder struct{}

// Send records the operation and its error.
func (recorder) Send(ctx fiber.Ctx, err error, action string, _ int64, _ int) {
	req, ok := ctx.Locals(requestKey{}).(*request)
	if !ok {
		return
	}
	if op, found := strings.CutPrefix(action, "s3_"); found {
		req.event.Operation = op
		req.routed = strings.Clone(ctx.Params("bucket"))
	}
	if known, ok := err.(s3err.S3Error); ok {
		req.event.Code = strings.Clone(known.BaseError().Code)
	} else if err != nil {
		req.event.Code = s3err.GetAPIError(s3err.ErrInternalError).Code
	}
}

// Close does nothing.
func (recorder) Close() {}

// behindProxy replaces a trusted proxy's address by the client's.
func (s *Server) behindProxy(ctx fiber.Ctx) {
	// The address of an earlier request on this connection is still set.
	ctx.RequestCtx().SetRemoteAddr(nil)
	peer, err := netip.ParseAddr(ctx.IP())
	if err != nil || !forwarded.Trusts(s.opt.TrustedProxies, peer) {
		return
	}
	var lines []string
	for _, line := range ctx.Request().Header.PeekAll(fiber.HeaderXForwardedFor) {
		lines = append(lines, string(line))
	}
	client := forwarded.Client(peer, lines, s.opt.TrustedProxies)
	if client == peer.Unmap() {
		return
	}
	ctx.RequestCtx().SetRemoteAddr(net.TCPAddrFromAddrPort(netip.AddrPortFrom(client, 0)))
}
