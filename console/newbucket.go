package console

import (
	"errors"
	"net/url"
	"strconv"
	"strings"

	"github.com/a-h/templ"
	"github.com/dustin/go-humanize"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/s3"
)

// newBucket is the form of a bucket that is to be made.
type newBucket struct {
	Typed    url.Values
	Problem  string   // why it was refused; empty: it was not
	Commands []string // the same in a shell
}

func (h *Handler) newBucket(typed url.Values, problem string) newBucket {
	return newBucket{Typed: typed, Problem: problem, Commands: []string{
		h.awsCommand("s3", "mb", "s3://NAME"), h.opt.Command("buckets", "set", "NAME", "--default-ttl", "30d", "--undo", "7d", "--quota", "10GiB"),
	}}
}

// bucketEdits are what is set of buckets by forms that are shown again while they are refused.
func (h *Handler) bucketEdits() []edit {
	made := func(v *visit) string { return folderURL(strings.TrimSpace(v.r.PostForm.Get("name")), "") }
	set := func(v *visit) string { return folderURL(v.r.URL.Query().Get("name"), "") }
	return []edit{
		{action{"/bucket/settings", api.Destroy, set, (*visit).setBucket}, (*visit).settingsAgain},
		{action{"/buckets/make", api.Destroy, made, (*visit).makeBucket}, (*visit).bucketsAgain},
		{action{"/bucket/policy", api.Destroy, (*visit).documentsURL, (*visit).setPolicy}, (*visit).policyAgain},
		{action{"/bucket/cors", api.Destroy, (*visit).documentsURL, (*visit).setCORS}, (*visit).corsAgain},
	}
}

// bucketsAgain shows the list with the form as it was typed.
func (v *visit) bucketsAgain(problem string) (templ.Component, error) {
	list, err := api.Call[[]api.Bucket](v.as(), v.h.admin, "buckets/list", api.None{})
	v.nav, v.title = "/buckets", "Buckets"
	v.sameAs("buckets", "list")
	return bucketsPage(v.frame(), list, v.h.newBucket(v.r.PostForm, problem)), err
}

// makeBucket makes a bucket with the settings of the form; those of empty fields are as the
// configuration has them for new buckets.
func (v *visit) makeBucket() (note, error) {
	req, err := settingsOf(v.r.PostForm, "")
	if err != nil {
		return note{}, err
	}
	req.Name = strings.TrimSpace(v.r.PostForm.Get("name"))
	ctx := v.as()
	err = v.h.opt.Operators.Do(ctx, "console/bucket", api.Destroy, req, func() error {
		return ofS3(v.h.opt.Buckets.CreateBucket(ctx, req.Name))
	})
	if err != nil || req == (api.BucketChange{Name: req.Name}) {
		return note{Text: "The bucket was made."}, err
	}
	if _, err = api.Call[api.Bucket](ctx, v.h.admin, "buckets/set", req); err != nil {
		return note{Bad: true, Text: "The bucket was made without these settings: " + sentence(v.told(err))}, nil
	}
	return note{Text: "The bucket was made."}, nil
}

// ofS3 returns a refusal of S3 in the form of the admin API, and any other error as it is.
func ofS3(err error) error {
	var e *s3.Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Code {
	case "NoSuchBucket":
		return &api.Error{Code: "no_such_bucket", Message: e.Message}
	case "BucketAlreadyOwnedByYou", "BucketAlreadyExists":
		return &api.Error{Code: "bad_request", Message: "there is a bucket of this name already"}
	case "InvalidBucketName":
		return &api.Error{Code: "bad_request", Message: "a name has 3 to 63 lower-case letters, digits, hyphens and dots"}
	}
	return &api.Error{Code: "bad_request", Message: e.Message}
}

// settingsOf reads the settings of a bucket from a form. An empty field is the text that stands
// for it; if that is empty, too, the setting is left as it is.
func settingsOf(form url.Values, empty string) (api.BucketChange, error) {
	var req api.BucketChange
	for field, to := range map[string]**string{"default_ttl": &req.DefaultTTL, "max_ttl": &req.MaxTTL, "undo": &req.Undo, "default_idle": &req.DefaultIdle, "max_idle": &req.MaxIdle} {
		text := orElse(form.Get(field), empty)
		if text == "" {
			continue
		}
		if _, err := lethe.ParseTTL(text); text != "none" && err != nil {
			return req, &api.Error{Code: "bad_request", Message: err.Error()}
		}
		*to = &text
	}
	if text := orElse(form.Get("quota"), empty); text != "" {
		n, err := uint64(0), error(nil)
		if text != "none" {
			n, err = humanize.ParseBytes(text)
		}
		if err != nil || n > 1<<62 {
			return req, &api.Error{Code: "bad_request", Message: strconv.Quote(text) + " is no size; write one such as 10GiB"}
		}
		bytes := int64(n)
		req.QuotaBytes = &bytes
	}
	if text := form.Get("when_full"); text != "" {
		req.WhenFull = &text
	}
	if text := orElse(form.Get("objects"), empty); text != "" {
		n, err := int64(0), error(nil)
		if text != "none" {
			n, err = strconv.ParseInt(text, 10, 64)
		}
		if err != nil || n < 0 {
			return req, &api.Error{Code: "bad_request", Message: strconv.Quote(text) + " is no number of objects"}
		}
		req.QuotaObjects = &n
	}
	return req, nil
}

func orElse(text, empty string) string {
	if text = strings.TrimSpace(text); text == "" {
		return empty
	}
	return text
}
