package console

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/a-h/templ"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/object"
)

// subject is what the page of an object shows.
type subject struct {
	api.Explanation
	Life    []event
	Own     bool // a hold of the key itself is set, which can be released here
	Legal   bool
	Preview preview
}

// name is that of an object in the address of a page, or of what a form calls: fields
// of forms would change line ends in keys.
func (v *visit) name() api.ObjectName {
	q := v.r.URL.Query()
	return api.ObjectName{Bucket: q.Get("bucket"), Key: q.Get("key")}
}

func (v *visit) object() (templ.Component, error) {
	if typed := strings.TrimSpace(v.r.URL.Query().Get("name")); typed != "" {
		return v.find(typed), nil
	}
	n := v.name()
	if n.Bucket == "" && n.Key == "" {
		return findPage(v.frame(), ""), nil
	}
	e, err := v.h.admin.Explain(v.as(), n)
	if err != nil {
		return nil, err
	}
	v.search, v.title, v.live = s3Name(n.Bucket, n.Key), s3Name(n.Bucket, n.Key), 5
	v.sameAs("explain", s3Name(n.Bucket, n.Key))
	s := subject{Explanation: e, Life: lifeOf(e)}
	for _, h := range e.Holds {
		s.Own = s.Own || h.Scope == "object"
		s.Legal = s.Legal || h.Scope == "legal"
	}
	if e.Object != nil && e.Visible && v.may(contentRole) && !v.refreshes() {
		s.Preview = preview{Kind: "none", Text: "Its reads are counted, and showing it here would take one."}
		if e.Object.ReadsLeft == nil {
			s.Preview = v.preview(n)
		}
	}
	return objectPage(v.frame(), s), nil
}

// find leads from what was typed to its page.
func (v *visit) find(typed string) templ.Component {
	bucket, key, _ := strings.Cut(strings.TrimPrefix(typed, "s3://"), "/")
	to := objectURL(bucket, key)
	switch {
	case bucket == "":
		v.search = typed
		return findPage(v.frame(), "Write s3://bucket/key.")
	case key == "" || strings.HasSuffix(key, "/"):
		to = folderURL(bucket, key)
	}
	http.Redirect(v.w, v.r, to, http.StatusSeeOther)
	return nil
}

// objectActions are what can be done about an object, all of which leads back to it.
func (h *Handler) objectActions() []action {
	back := func(v *visit) string { return objectURL(v.name().Bucket, v.name().Key) }
	return []action{
		{"/object/hold", api.Operate, back, (*visit).hold},
		{"/object/release", api.Destroy, back, (*visit).release},
		{"/object/ttl", api.Destroy, back, (*visit).setTTL},
		{"/object/delete", api.Destroy, back, (*visit).delete},
		{"/object/restore", api.Operate, back, (*visit).restore},
		{"/object/share", contentRole, back, (*visit).share},
	}
}

func (v *visit) hold() (note, error) {
	n := v.name()
	_, err := api.Call[api.HoldInfo](v.as(), v.h.admin, "holds/add", api.HoldRequest{Bucket: n.Bucket, Key: n.Key, Reason: v.r.PostForm.Get("reason")})
	return note{Text: "It is held: nobody can delete, replace or expire it."}, err
}

func (v *visit) release() (note, error) {
	n := v.name()
	_, err := api.Call[api.None](v.as(), v.h.admin, "holds/remove", api.HoldRequest{Bucket: n.Bucket, Key: n.Key, Legal: v.r.PostForm.Get("legal") != ""})
	return note{Text: "The hold was released. What was due meanwhile goes with the next pass."}, err
}

func (v *visit) setTTL() (note, error) {
	req, form := api.TTLRequest{ObjectName: v.name()}, v.r.PostForm
	if form.Get("clear") == "" {
		req.TTL, req.Idle = strings.TrimSpace(form.Get("ttl")), strings.TrimSpace(form.Get("idle"))
		if req.TTL == "" && req.Idle == "" {
			return note{}, &api.Error{Code: "bad_request", Message: "say how long it is to live from now, or after its last read, such as 12h or 30d"}
		}
	}
	o, err := api.Call[api.ObjectInfo](v.as(), v.h.admin, "ttl/set", req)
	switch {
	case err != nil:
		return note{}, err
	case o.DueAt.IsZero():
		return note{Text: "It has no end any more."}, nil
	case o.Held:
		return note{Text: "It would end " + stamp(o.DueAt) + ", but a hold keeps it."}, nil
	}
	return note{Text: "It ends " + stamp(o.DueAt) + "."}, nil
}

// deletion is how a deletion stands in audit lines.
type deletion struct {
	api.ObjectName
	Version lethe.ID `json:"version"`
}

// delete deletes the version that the page showed, and no other.
func (v *visit) delete() (said note, err error) {
	n, version := v.name(), lethe.ID(v.r.PostForm.Get("version"))
	if version == "" {
		return note{}, &api.Error{Code: "bad_request", Message: "the form does not say which version is to be deleted"}
	}
	ctx := v.as()
	err = v.h.opt.Operators.Do(ctx, "console/delete", api.Destroy, deletion{n, version}, func() error {
		list, err := v.h.opt.Objects.Delete(ctx, object.DeleteRequest{
			Bucket: n.Bucket, Items: []ledger.DeleteItem{{Key: n.Key, If: ledger.Precondition{IfID: version}}},
		})
		if err == nil && len(list) > 0 {
			err = list[0].Err
		}
		return err
	})
	return note{Text: "It was deleted."}, err
}

func (v *visit) restore() (note, error) {
	req := api.RestoreRequest{ID: v.r.PostForm.Get("entry"), Overwrite: v.r.PostForm.Get("overwrite") != ""}
	_, err := api.Call[api.ObjectInfo](v.as(), v.h.admin, "trash/restore", req)
	return note{Text: "It was restored from the trash."}, err
}

// longestLink is how long a link to an object can be valid in S3.
const longestLink = 7 * 24 * time.Hour

// share makes a link that whoever has it can use.
func (v *visit) share() (note, error) {
	n := v.name()
	if n.Bucket == "" || n.Key == "" || strings.Contains(n.Bucket, "/") {
		return note{}, &api.Error{Code: "bad_request", Message: "an object has a bucket and a key"}
	}
	if e, err := v.h.admin.Explain(v.as(), n); err == nil && e.Object != nil && e.Object.ReadsLeft != nil {
		return note{}, &api.Error{Code: "reads_counted", Message: "its reads are counted, and the preview of a messenger would take one: share it as a paste"}
	}
	valid, err := lethe.ParseTTL(v.r.PostForm.Get("valid"))
	if err != nil || valid < time.Second || valid > longestLink {
		return note{}, &api.Error{Code: "bad_request", Message: "a link is valid for up to 7d"}
	}
	ctx, url := v.as(), ""
	shared := struct {
		api.ObjectName
		Valid string `json:"valid"`
	}{n, lethe.FormatTTL(valid)}
	err = v.h.opt.Operators.Do(ctx, "console/share", contentRole, shared, func() (err error) {
		url, err = v.h.opt.Links.presigned(ctx, n, valid, v.now)
		return err
	})
	return note{Text: fmt.Sprintf("Whoever has this link can read the object, for %s. It is signed by the root key, and cannot be taken back.", lethe.FormatTTL(valid)), Secret: url}, err
}
