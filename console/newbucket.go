package console

import (
	"errors"
	"net/url"
	"strings"

	"github.com/a-h/templ"

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
