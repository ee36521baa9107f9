package gateway

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gofiber/fiber/v3"
	"github.com/valyala/fasthttp"
	"github.com/versity/versitygw/auth"
	"github.com/versity/versitygw/s3api/utils"
)

// verifier admits reads and puts whose signature is right, in a fraction of the time that
// versitygw takes. It knows only requests that are their own canonical form. versitygw decides
// on any other one, and on any that is not admitted, and says why.
type verifier struct {
	root   auth.Account
	region string
	iam    auth.IAMService
	// last is the key by which a request was admitted last.
	last atomic.Pointer[signingKey]
}

// lookupTime bounds the verifier's look for a key, after which versitygw looks as well.
const lookupTime = time.Second

func newVerifier(root auth.Account, region string, iam auth.IAMService) *verifier {
	if keys, ok := iam.(*keyring); ok {
		quick := *keys
		quick.timeout = min(quick.timeout, lookupTime)
		iam = &quick
	}
	return &verifier{root: root, region: region, iam: iam}
}

// signingKey is the key that is derived from a secret for a day.
type signingKey struct {
	secret, day string
	key         []byte
}

const (
	signatureTime = "20060102T150405Z"
	unsignedBody  = "UNSIGNED-PAYLOAD"
	emptyBody     = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	// largestPut is the largest body that versitygw takes, in bytes.
	largestPut = 5 << 30
)

// admit tells versitygw who has signed the request, if that is certain.
func (v *verifier) admit(ctx fiber.Ctx) {
	s, ok := v.parse(ctx)
	if !ok {
		return
	}
	account := v.root
	if s.access != v.root.Access {
		var err error
		if account, err = v.iam.GetUserAccount(s.access); err != nil || account.Secret == "" {
			return
		}
	}
	key := v.key(account.Secret, s.day)
	want := hex.EncodeToString(mac(key.key, s.text))
	if subtle.ConstantTimeCompare([]byte(want), []byte(s.signature)) == 1 {
		v.last.Store(key)
		utils.ContextKeyAuthenticated.Set(ctx, true)
		utils.ContextKeyIsRoot.Set(ctx, s.access == v.root.Access)
		utils.ContextKeyAccount.Set(ctx, account)
		if ctx.Method() == fiber.MethodPut {
			utils.ContextKeyBodyReader.Set(ctx, signedBody(ctx.Request().BodyStream(), s.payload))
		}
	}
}

// signedBody returns a body that ends with versitygw's error unless it is the one that was signed.
func signedBody(body io.Reader, payload string) io.Reader {
	if payload == unsignedBody {
		return body
	}
	// It fails only for a kind of hash that it does not know.
	r, _ := utils.NewHashReader(body, payload, utils.HashTypeSha256Hex)
	return r
}

// signature is what a request says of its own.
type signature struct {
	access, day, signature string
	payload                string // the body's SHA-256, or unsignedBody
	text                   string // which is signed
}

// parse returns ok false for a request that versitygw has to judge.
func (v *verifier) parse(ctx fiber.Ctx) (s signature, ok bool) {
	h := &ctx.Request().Header
	date, path := string(h.Peek("X-Amz-Date")), ctx.Request().URI().PathOriginal()
	at, err := time.Parse(signatureTime, date)
	if err != nil || len(date) != len(signatureTime) || utils.ValidateDate(at) != nil || !simplePath(path) ||
		len(h.Peek("X-Amz-Security-Token")) > 0 || ctx.Locals(localPath) != nil {
		return s, false
	}
	if s.payload, ok = simpleBody(ctx); !ok {
		return s, false
	}
	s.day = date[:8]
	scope := s.day + "/" + v.region + "/s3/aws4_request"
	names, ok := s.parseAuthorization(string(h.Peek(fiber.HeaderAuthorization)), scope)
	if !ok {
		return s, false
	}
	query, ok := plainQuery(ctx.Request().URI().QueryArgs())
	if !ok {
		return s, false
	}
	text, ok := appendHeaders([]byte(string(h.Method())+"\n"+string(path)+"\n"+query+"\n"), h, names)
	if !ok {
		return s, false
	}
	text = append(text, "\n"+names+"\n"+s.payload...)
	sum := sha256.Sum256(text)
	s.text = "AWS4-HMAC-SHA256\n" + date + "\n" + scope + "\n" + hex.EncodeToString(sum[:])
	return s, true
}

// simpleBody returns the header that says what the body is. ok is false unless a put has a body
// of a length that S3 takes, which is no stream of chunks, and a read has none.
func simpleBody(ctx fiber.Ctx) (payload string, ok bool) {
	h := &ctx.Request().Header
	payload = string(h.Peek("X-Amz-Content-Sha256"))
	length, n := string(h.Peek(fiber.HeaderContentLength)), h.ContentLength()
	switch {
	case len(h.Peek(fiber.HeaderTransferEncoding)) > 0:
		return "", false
	case ctx.Method() != fiber.MethodPut:
		return payload, length == "" && (payload == unsignedBody || payload == emptyBody)
	}
	sum, err := hex.DecodeString(payload)
	return payload, (payload == unsignedBody || err == nil && len(sum) == sha256.Size) &&
		0 < n && int64(n) <= largestPut && length == strconv.Itoa(n) && ctx.Request().BodyStream() != nil
}

// parseAuthorization returns the names of the signed headers.
func (s *signature) parseAuthorization(header, scope string) (names string, ok bool) {
	rest, known := strings.CutPrefix(header, "AWS4-HMAC-SHA256 Credential=")
	s.access, rest, ok = strings.Cut(rest, "/"+scope+",")
	odd := func(c rune) bool { return c <= ' ' || c > '~' || strings.ContainsRune("/=,", c) }
	if !known || !ok || s.access == "" || strings.ContainsFunc(s.access, odd) || strings.HasPrefix(s.access, "ASIA") {
		return "", false
	}
	if rest, ok = strings.CutPrefix(strings.TrimPrefix(rest, " "), "SignedHeaders="); !ok {
		return "", false
	}
	names, rest, _ = strings.Cut(rest, ",")
	s.signature, ok = strings.CutPrefix(strings.TrimPrefix(rest, " "), "Signature=")
	return names, ok
}

// appendHeaders appends the signed headers in their canonical form. ok is false unless each of
// them is there once, their names are in order, and they are all that have to be signed.
func appendHeaders(text []byte, h *fasthttp.RequestHeader, names string) (_ []byte, ok bool) {
	last, needed, host := "", 0, false
	for name := range strings.SplitSeq(names, ";") {
		var value []byte
		switch all := h.PeekAll(name); {
		case name <= last:
			return nil, false
		case name == "host":
			value, host = h.Host(), true
		case !simpleName(name) || len(all) != 1:
			return nil, false
		default:
			value = all[0]
		}
		if !simpleValue(value) {
			return nil, false
		}
		if strings.HasPrefix(name, "x-amz-") {
			needed--
		}
		last = name
		text = append(append(append(append(text, name...), ':'), value...), '\n')
	}
	for name := range h.All() {
		if len(name) >= len("x-amz-") && strings.EqualFold(string(name[:len("x-amz-")]), "x-amz-") {
			needed++
		}
	}
	return text, host && needed == 0
}

// simpleNames are headers that SDKs sign, beside their own. The web server keeps them as they
// were sent, or versitygw sees them as it does.
var simpleNames = []string{
	"accept-encoding", "cache-control", "content-disposition", "content-encoding", "content-language", "content-length", "content-md5",
	"content-type", "expires", "if-match", "if-none-match", "range",
}

// simpleName reports whether a signed header is one of those.
func simpleName(name string) bool {
	for _, c := range name {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return strings.HasPrefix(name, "x-amz-") || strings.HasPrefix(name, "amz-sdk-") || slices.Contains(simpleNames, name)
}

// simpleValue reports whether a header's value is its own canonical form.
func simpleValue(v []byte) bool {
	for i, c := range v {
		if c < ' ' || c > '~' || c == ' ' && (i == 0 || i == len(v)-1 || v[i-1] == ' ') {
			return false
		}
	}
	return len(v) > 0
}

// simplePath reports whether a path is its own canonical form.
func simplePath(path []byte) bool {
	for _, c := range path {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '.', c == '_', c == '~', c == '/':
		default:
			return false
		}
	}
	return len(path) > 0
}

// key returns the signing key of a secret for a day.
func (v *verifier) key(secret, day string) *signingKey {
	if k := v.last.Load(); k != nil && k.secret == secret && k.day == day {
		return k
	}
	key := mac([]byte("AWS4"+secret), day)
	for _, part := range []string{v.region, "s3", "aws4_request"} {
		key = mac(key, part)
	}
	return &signingKey{secret, day, key}
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}
