package gateway

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/textproto"
	"reflect"
	"regexp"
	"strings"

	"github.com/gofiber/fiber/v3"
	"github.com/valyala/fasthttp"
	"github.com/versity/versitygw/auth"
	"github.com/versity/versitygw/s3api/middlewares"
	"github.com/versity/versitygw/s3err"

	"github.com/lethe-storage/lethe/s3"
)

// maxForm bounds what precedes the file in an uploaded form, in bytes, as in
// S3: it is held in memory before authentication.
const maxForm = 20 << 10

// errFormTooLarge is S3's error for a larger one.
var errFormTooLarge = s3err.APIError{
	Code: "MaxPostPreDataLengthExceeded", HTTPStatusCode: http.StatusBadRequest,
	Description: "Your POST request fields preceding the upload file were too large.",
}

// formOf returns the form that versitygw parsed.
func formOf(ctx context.Context) (form middlewares.PostObjectResult, ok bool) {
	form, ok = ctx.Value(localForm).(middlewares.PostObjectResult)
	return form, ok
}

// errFormHash refuses the digest of a form's body: checking it would need the
// whole body in memory.
var errFormHash = s3err.APIError{
	Code: "InvalidRequest", HTTPStatusCode: http.StatusBadRequest,
	Description: "A form has no X-Amz-Content-Sha256: leave the header out.",
}

// openForm reads a form up to its file and puts that part before the body
// again, so that versitygw, which sets no bound, reads it from there. The
// caller calls restore after the response.
func (s *Server) openForm(ctx fiber.Ctx, req *request) (restore func(), e s3err.S3Error) {
	restore = func() {}
	if req.form && ctx.Get("X-Amz-Content-Sha256") != "" {
		return restore, errFormHash
	}
	stream := ctx.Request().BodyStream()
	_, params, err := mime.ParseMediaType(ctx.Get(fiber.HeaderContentType))
	boundary := strings.TrimSpace(params["boundary"]) // in the form of versitygw's parser
	if !req.form || stream == nil || err != nil || boundary == "" {
		return restore, nil
	}
	f := formReader{r: bufio.NewReader(stream), boundary: boundary}
	if e := f.run(); e != nil {
		return restore, e
	}
	req.filename = f.filename
	setBody(ctx.Request(), io.MultiReader(bytes.NewReader(f.head), f.r))
	return func() { setBody(ctx.Request(), stream) }, nil
}

// bodyField is the private field of a request that has its body's stream. The
// web server cannot replace the stream and keep the first, which knows where
// the next request begins.
const bodyField = "bodyStream"

// setBody replaces the stream of the request's body, and does not close the
// previous one.
func setBody(r *fasthttp.Request, to io.Reader) {
	field := reflect.ValueOf(r).Elem().FieldByName(bodyField)
	reflect.NewAt(field.Type(), field.Addr().UnsafePointer()).Elem().Set(reflect.ValueOf(to))
}

// bodySettable checks that this version of the web server keeps a body's stream
// where setBody looks for it.
func bodySettable() error {
	field, ok := reflect.TypeFor[fasthttp.Request]().FieldByName(bodyField)
	if !ok || field.Type != reflect.TypeFor[io.Reader]() {
		return errors.New("s3: this version of fasthttp keeps a request's body elsewhere: use the one that go.mod names")
	}
	return nil
}

// formReader reads a form's fields, up to the start of its file. It accepts
// only what versitygw's parser reads in the same way: on a disagreement about
// the file's start, that parser would hold the file in memory as a field. Some
// clients give each field a file name, which would make the first the file:
// only the field "file" is one, as on S3. The head keeps its length, which the
// file's is computed from.
type formReader struct {
	r        *bufio.Reader
	boundary string

	head     []byte
	begun    bool            // the first boundary was read
	headers  map[string]bool // of the field; nil inside its value
	file     bool
	filename string
}

// run reads the head, or refuses it.
func (f *formReader) run() s3err.S3Error {
	for {
		line, e := f.next()
		if e != nil {
			return e
		}
		done, ok := f.line(line)
		if !ok {
			return malformedForm()
		}
		if done {
			return nil
		}
	}
}

func malformedForm() s3err.S3Error { return s3err.GetAPIError(s3err.ErrMalformedPOSTRequest) }

// next reads a whole line.
func (f *formReader) next() ([]byte, s3err.S3Error) {
	at := len(f.head)
	for {
		part, err := f.r.ReadSlice('\n')
		f.head = append(f.head, part...)
		switch {
		case len(f.head) > maxForm:
			return nil, errFormTooLarge
		case err == nil:
			return f.head[at:], nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, malformedForm()
		}
	}
}

// line processes one line; done: the rest is the file, or nothing.
func (f *formReader) line(raw []byte) (done, ok bool) {
	line, ok := bytes.CutSuffix(raw, []byte("\r\n"))
	if !ok || bytes.IndexByte(line, '\r') >= 0 {
		return false, false
	}
	text, boundary := string(line), "--"+f.boundary
	switch {
	case f.headers == nil && text == boundary:
		f.begun, f.headers = true, map[string]bool{}
	case f.headers == nil:
		return text == boundary+"--", f.begun
	case text == "":
		ok = f.headers[fiber.HeaderContentDisposition]
		f.headers = nil
		return f.file, ok
	default:
		return false, f.header(raw)
	}
	return false, true
}

// header processes one header of a field. A repeated one is refused.
func (f *formReader) header(line []byte) bool {
	name, value, ok := strings.Cut(string(line), ":")
	name = textproto.CanonicalMIMEHeaderKey(strings.TrimSpace(name))
	if !ok || f.headers[name] {
		return false
	}
	f.headers[name] = true
	return name != fiber.HeaderContentDisposition || f.field(line, value)
}

var filenameParameter = regexp.MustCompile(`(?i)(;\s*filenam)e(\*?\s*=)`)

// field reads a field's name, and blanks the file name unless it is the file.
func (f *formReader) field(line []byte, value string) bool {
	params := disposition(value)
	if strings.ToLower(params["name"]) == "file" {
		f.file, f.filename = true, params["filename"]
		return true
	}
	copy(line, filenameParameter.ReplaceAll(line, []byte("${1}_$2")))
	_, value, _ = strings.Cut(string(line), ":")
	hidden := disposition(value)
	_, shown := hidden["filename"]
	return !shown && params["name"] != "" && hidden["name"] == params["name"]
}

// disposition reads the parameters of a field's Content-Disposition; nil if it
// is not one.
func disposition(value string) map[string]string {
	kind, params, err := mime.ParseMediaType(strings.TrimSpace(value))
	if err != nil || kind != "form-data" {
		return nil
	}
	return params
}

// filenameVariable is replaced by the file's name in a form's key.
const filenameVariable = "${filename}"

// expandKey inserts the file's name into the key of a form. Only the part after
// the last slash is used: browsers may send the whole path.
func expandKey(ctx context.Context, req *request) {
	form, ok := formOf(ctx)
	if !ok || req.filename == "" {
		return
	}
	name := req.filename[strings.LastIndexAny(req.filename, `/\`)+1:]
	form.Fields["key"] = strings.ReplaceAll(form.Fields["key"], filenameVariable, name)
}

// mayPost authorises the object and the tags of a form by the bucket's policy:
// versitygw has checked only the bucket.
func (b *Backend) mayPost(ctx context.Context, o *op) error {
	form, _ := formOf(ctx)
	if err := unkeptFields(form.Fields); err != nil {
		return err
	}
	acct, root := account(ctx)
	policy, err := b.document(ctx, o.names.bucket, s3.KindPolicy, 0)
	if root || err != nil || policy == nil || o.req.web == nil {
		return err
	}
	wants := []auth.Action{auth.PutObjectAction}
	if form.Fields["tagging"] != "" {
		wants = append(wants, auth.PutObjectTaggingAction)
	}
	return o.req.withFormsACL(ctx, func() error {
		if acct.Access != "" {
			return auth.VerifyAccess(o.req.web, b, auth.AccessOptions{
				AclPermission: auth.PermissionWrite, Acc: acct, Bucket: o.names.bucket, Object: o.names.key, Actions: wants, Iam: b.accounts,
			})
		}
		for _, action := range wants {
			if err := auth.VerifyPublicAccess(o.req.web, b, action, auth.PermissionWrite, o.names.bucket, o.names.key); err != nil {
				return err
			}
		}
		return nil
	})
}

// withFormsACL presents a form's field acl as the header of that name while ask
// evaluates a policy. A form may not have the header itself.
func (r *request) withFormsACL(ctx context.Context, ask func() error) error {
	form, _ := formOf(ctx)
	list := form.Fields["acl"]
	if list == "" {
		return ask()
	}
	h := &r.web.Request().Header
	if len(h.PeekAll(headerACL)) > 0 {
		return s3err.GetAPIError(s3err.ErrAccessDenied)
	}
	h.Set(headerACL, list)
	defer h.Del(headerACL)
	return ask()
}
