package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/a-h/templ"

	"github.com/lethe-storage/lethe/admin/api"
)

// documents is what the page of a bucket's policy and CORS rules shows.
type documents struct {
	Bucket       string
	Policy, CORS editor
}

// editor is a text that can be changed.
type editor struct {
	Text    string
	Problem string   // why the text was refused; empty: it was not
	Command []string // the same in a shell: get, put, delete
	Example string
}

func (v *visit) documents() (templ.Component, error) {
	d, err := v.documentsNow()
	return documentsPage(v.frame(), d), err
}

// documentsNow reads what is in use.
func (v *visit) documentsNow() (documents, error) {
	name := v.r.URL.Query().Get("name")
	if _, err := v.bucketNamed(name); err != nil {
		return documents{}, err
	}
	d := documents{Bucket: name, Policy: editor{Example: policyExample(name)}, CORS: editor{Example: corsExample}}
	v.nav, v.title = "/buckets", "Policy and CORS of "+name
	ctx := v.as()
	err := v.h.opt.Operators.Do(ctx, "console/documents", api.Read, nil, func() (err error) {
		if d.Policy.Text, err = v.h.opt.Buckets.Policy(ctx, name); err == nil {
			d.CORS.Text, err = v.h.opt.Buckets.CORS(ctx, name)
		}
		return ofS3(err)
	})
	for _, do := range []string{"get", "put", "delete"} {
		policy, cors := []string{"s3api", do + "-bucket-policy", "--bucket", name}, []string{"s3api", do + "-bucket-cors", "--bucket", name}
		if do == "put" {
			policy, cors = append(policy, "--policy", "file://policy.json"), append(cors, "--cors-configuration", "file://cors.json")
		}
		d.Policy.Command = append(d.Policy.Command, v.h.awsCommand(policy...))
		d.CORS.Command = append(d.CORS.Command, v.h.awsCommand(cors...))
	}
	return d, err
}

func (v *visit) documentsURL() string {
	return link("/bucket/documents", "name", v.r.URL.Query().Get("name"))
}

// documentChange is how a change of a document stands in audit lines. An empty text removes
// it.
type documentChange struct {
	Bucket string `json:"bucket"`
	Text   string `json:"text"`
}

// set makes the change. Of JSON that cannot be read it says where.
func (c documentChange) set(ctx context.Context, by func(ctx context.Context, bucket, text string) error) error {
	var doc any
	var wrong *json.SyntaxError
	if err := json.Unmarshal([]byte(c.Text), &doc); errors.As(err, &wrong) && !strings.HasPrefix(c.Text, "<") && c.Text != "" {
		before := c.Text[:min(max(int(wrong.Offset)-1, 0), len(c.Text))]
		line, column := strings.Count(before, "\n")+1, utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])+1
		return &api.Error{Code: "bad_request", Message: fmt.Sprintf("this is not JSON at line %d, column %d: %s", line, column, wrong)}
	}
	return ofS3(by(ctx, c.Bucket, c.Text))
}

func (c documentChange) said(used, removed string) string {
	if c.Text == "" {
		return removed
	}
	return used
}

func (v *visit) setPolicy() (note, error) {
	ctx, c := v.as(), v.documentChange()
	err := v.h.opt.Operators.Do(ctx, "console/policy", api.Destroy, c, func() error {
		return c.set(ctx, v.h.opt.Buckets.SetPolicy)
	})
	return note{Text: c.said("The policy is in use.", "The bucket has no policy any more.")}, err
}

func (v *visit) setCORS() (note, error) {
	ctx, c := v.as(), v.documentChange()
	err := v.h.opt.Operators.Do(ctx, "console/cors", api.Destroy, c, func() error {
		return c.set(ctx, v.h.opt.Buckets.SetCORS)
	})
	return note{Text: c.said("The rules are in use.", "The bucket has no CORS rules any more.")}, err
}

func (v *visit) documentChange() documentChange {
	return documentChange{v.r.URL.Query().Get("name"), strings.TrimSpace(v.r.PostForm.Get("text"))}
}

// policyAgain shows the page with the policy as it was typed.
func (v *visit) policyAgain(problem string) (templ.Component, error) {
	d, err := v.documentsNow()
	d.Policy.Text, d.Policy.Problem = v.r.PostForm.Get("text"), problem
	return documentsPage(v.frame(), d), err
}

// corsAgain shows the page with the rules as they were typed.
func (v *visit) corsAgain(problem string) (templ.Component, error) {
	d, err := v.documentsNow()
	d.CORS.Text, d.CORS.Problem = v.r.PostForm.Get("text"), problem
	return documentsPage(v.frame(), d), err
}

// policyExample lets everyone read a folder of the bucket.
func policyExample(bucket string) string {
	return `{
  "Version": "2012-10-17",
  "Statement": [
    {
      "Effect": "Allow",
      "Principal": "*",
      "Action": "s3:GetObject",
      "Resource": "arn:aws:s3:::` + bucket + `/public/*"
    }
  ]
}`
}

// corsExample lets pages of one site read objects.
const corsExample = `{
  "CORSRules": [
    {
      "AllowedOrigins": ["https://www.example.org"],
      "AllowedMethods": ["GET", "HEAD"],
      "ExposeHeaders": ["ETag"],
      "MaxAgeSeconds": 3600
    }
  ]
}`
