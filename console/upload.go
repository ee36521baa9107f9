package console

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/internal/words"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/object"
)

// maxField bounds a field of the form, in bytes.
const maxField = 4 << 10

// intake is an upload by a form: its fields come before its files.
type intake struct {
	bucket, prefix string
	token          string
	ttl, idle      time.Duration
	stored         int
}

// upload stores the files of a form as they arrive.
func (h *Handler) upload(w http.ResponseWriter, r *http.Request) {
	v, ok := h.visit(w, r)
	if !ok {
		return
	}
	q := r.URL.Query()
	in := &intake{bucket: q.Get("name"), prefix: q.Get("prefix")}
	back := folderURL(in.bucket, in.prefix)
	form, err := r.MultipartReader()
	if err != nil {
		v.went(back, note{}, &api.Error{Code: "bad_request", Message: "the form has no files"})
		return
	}
	err = v.take(form, in)
	if errors.Is(err, staleForm) {
		v.title = "Upload"
		v.fail(err)
		return
	}
	v.went(back, note{Text: words.Plural(int64(in.stored), "file was stored", "files were stored")}, err)
}

// take reads the form. The first field has to be the session's token.
func (v *visit) take(form *multipart.Reader, in *intake) error {
	for {
		p, err := form.NextPart()
		if errors.Is(err, io.EOF) {
			if in.stored == 0 {
				return &api.Error{Code: "bad_request", Message: "no file was chosen"}
			}
			return nil
		}
		if err != nil {
			return fmt.Errorf("the upload broke off: %w", err)
		}
		if p.FileName() == "" {
			err = in.field(p)
		} else if !v.session.owns(in.token) {
			return staleForm
		} else {
			err = v.store(in, p)
		}
		if err != nil {
			return err
		}
	}
}

// field reads a field that comes before the files.
func (in *intake) field(p *multipart.Part) error {
	value, err := io.ReadAll(io.LimitReader(p, maxField))
	if err != nil {
		return fmt.Errorf("the upload broke off: %w", err)
	}
	switch text := strings.TrimSpace(string(value)); {
	case p.FormName() == "csrf":
		in.token = text
	case p.FormName() == "ttl" && text != "":
		if in.ttl, err = lethe.ParseTTL(text); err != nil {
			return &api.Error{Code: "bad_request", Message: err.Error()}
		}
	case p.FormName() == "idle" && text != "":
		if in.idle, err = lethe.ParseIdleTTL(text); err != nil {
			return &api.Error{Code: "bad_request", Message: err.Error()}
		}
	}
	return nil
}

// uploaded is how an upload stands in audit lines.
type uploaded struct {
	api.ObjectName
	TTL  string `json:"ttl,omitempty"`
	Idle string `json:"idle,omitempty"`
}

// permitted is the body of an upload. Its end is that of the operator's permission, too: a long
// upload of one who may not store any more is not stored.
type permitted struct {
	io.Reader
	v *visit
}

// Read implements io.Reader.
func (p *permitted) Read(b []byte) (int, error) {
	n, err := p.Reader.Read(b)
	if !errors.Is(err, io.EOF) {
		return n, err
	}
	now, lost := p.v.h.opt.Operators.Present(p.v.r.Context(), p.v.session.operator, p.v.from)
	switch {
	case lost != nil:
		return n, lost
	case !now.Role.Allows(contentRole):
		return n, forbidden(contentRole)
	}
	return n, err
}

// store stores one file. It replaces what has its name.
func (v *visit) store(in *intake, p *multipart.Part) error {
	n := api.ObjectName{Bucket: in.bucket, Key: in.prefix + p.FileName()}
	told := uploaded{ObjectName: n}
	if in.ttl > 0 {
		told.TTL = lethe.FormatTTL(in.ttl)
	}
	if in.idle > 0 {
		told.Idle = lethe.FormatTTL(in.idle)
	}
	ctx := v.as()
	return v.h.opt.Operators.Do(ctx, "console/upload", contentRole, told, func() error {
		_, err := v.h.opt.Objects.Put(context.WithoutCancel(ctx), object.PutRequest{
			Bucket: n.Bucket, Key: n.Key, Body: &permitted{p, v}, Size: -1, TTL: in.ttl, Idle: in.idle, Attrs: ledger.Attrs{ContentType: p.Header.Get("Content-Type")},
		})
		if err == nil {
			in.stored++
		}
		return err
	})
}
