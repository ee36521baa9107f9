package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"

	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/versity/versitygw/auth"
	"github.com/versity/versitygw/s3api/utils"
	"github.com/versity/versitygw/s3err"

	"github.com/lethe-storage/lethe/s3"
)

// Operator does within this process what the root key can do by requests, with the same
// checks. Refusals are *s3.Error.
type Operator struct {
	backend *Backend
	root    auth.Account
}

// Operator returns the server's operator.
func (s *Server) Operator() *Operator {
	return &Operator{s.backend, auth.Account{Access: s.opt.Root.Access, Secret: s.opt.Root.Secret, Role: auth.RoleAdmin}}
}

// as returns the context of a request that the root key signed.
func (o *Operator) as(ctx context.Context) context.Context {
	ctx = context.WithValue(ctx, requestKey{}, &request{base: ctx})
	return rootContext{ctx, o.root}
}

// rootContext has the values that versitygw leaves in the context of a request.
type rootContext struct {
	context.Context
	root auth.Account
}

// Value returns the root account, or what the context has.
func (c rootContext) Value(key any) any {
	switch key {
	case localAccount:
		return c.root
	case localIsRoot:
		return true
	}
	return c.Context.Value(key)
}

// CreateBucket creates a bucket of the root key, with the settings of new buckets.
func (o *Operator) CreateBucket(ctx context.Context, name string) error {
	if !utils.IsValidBucketName(name) {
		return plainly(s3err.GetBucketErr(s3err.ErrInvalidBucketName, name))
	}
	return plainly(o.backend.CreateBucket(o.as(ctx), &awss3.CreateBucketInput{Bucket: &name}, nil))
}

// Policy returns a bucket's policy as JSON, empty if it has none.
func (o *Operator) Policy(ctx context.Context, bucket string) (string, error) {
	doc, err := o.backend.document(o.as(ctx), bucket, s3.KindPolicy, 0)
	var text bytes.Buffer
	if err == nil && doc != nil && json.Indent(&text, doc, "", "  ") != nil {
		return string(doc), nil
	}
	return text.String(), plainly(err)
}

// SetPolicy replaces a bucket's policy, and removes it if the text is empty.
func (o *Operator) SetPolicy(ctx context.Context, bucket, text string) error {
	ctx = o.as(ctx)
	if text == "" {
		return plainly(o.backend.DeleteBucketPolicy(ctx, bucket))
	}
	if _, err := o.backend.document(ctx, bucket, s3.KindPolicy, 0); err != nil { // there is such a bucket
		return plainly(err)
	}
	return plainly(o.backend.setPolicy(ctx, bucket, []byte(text)))
}

// CORS returns a bucket's rules for scripts of other origins, in the JSON of S3's command
// line; empty if there are none.
func (o *Operator) CORS(ctx context.Context, bucket string) (string, error) {
	doc, err := o.backend.document(o.as(ctx), bucket, s3.KindCORS, 0)
	if err != nil || doc == nil {
		return "", plainly(err)
	}
	return s3.CORSJSON(doc)
}

// SetCORS replaces those rules, by JSON or XML, and removes them if the text is empty.
func (o *Operator) SetCORS(ctx context.Context, bucket, text string) error {
	ctx = o.as(ctx)
	if text == "" {
		return plainly(o.backend.DeleteBucketCors(ctx, bucket))
	}
	doc, err := s3.CORSXML([]byte(text))
	if err != nil {
		return err
	}
	var rules auth.CORSConfiguration
	if err := xml.Unmarshal(doc, &rules); err != nil {
		return plainly(s3err.GetAPIError(s3err.ErrMalformedXML))
	}
	if err := rules.Validate(); err != nil {
		return plainly(err)
	}
	return plainly(o.backend.PutBucketCors(ctx, bucket, doc))
}

// plainly converts a refusal from versitygw's form.
func plainly(err error) error {
	var known s3err.S3Error
	if !errors.As(err, &known) {
		return err
	}
	e := known.BaseError()
	return &s3.Error{Code: e.Code, Message: e.Description, Status: known.StatusCode()}
}
