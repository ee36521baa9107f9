package gateway

import (
	"context"
	"encoding/xml"
	"net/http"
	"strings"

	"github.com/gofiber/fiber/v3"
	"github.com/versity/versitygw/auth"
	"github.com/versity/versitygw/metrics"
	"github.com/versity/versitygw/s3api/controllers"
	"github.com/versity/versitygw/s3api/utils"

	"github.com/lethe-storage/lethe/s3/authz"
)

// asksForPolicy reports whether the request reads the bucket's policy itself.
func (r *request) asksForPolicy() bool {
	return r.policyRead && r.web != nil && strings.Trim(r.web.Path(), "/") == r.web.Params("bucket")
}

// taggedPolicies handles policies that versitygw refuses for conditions of
// ours.
var taggedPolicies = bucketAction{
	metrics.ActionPutBucketPolicy, auth.PutBucketPolicyAction, auth.PermissionWrite, (*Backend).putConditioned,
}

// policyRefused reports whether versitygw refused a policy, after it had
// verified the request.
func (s *Server) policyRefused(ctx fiber.Ctx, req *request) bool {
	return req.event.Operation == "PutBucketPolicy" && req.routed != "" && req.event.Code == "MalformedPolicy" && utils.ContextKeyParsedAcl.IsSet(ctx)
}

// putConditioned has versitygw check a policy without our conditions, checks
// those, and stores it.
func (b *Backend) putConditioned(ctx context.Context, bucket string, body []byte) (*controllers.Response, error) {
	if err := b.setPolicy(ctx, bucket, body); err != nil {
		return &controllers.Response{}, err
	}
	return &controllers.Response{MetaOpts: &controllers.MetaOptions{Status: http.StatusNoContent}}, nil
}

func (b *Backend) setPolicy(ctx context.Context, bucket string, policy []byte) error {
	plain, err := authz.WithoutClauses(policy)
	if err == nil {
		err = auth.ValidatePolicyDocument(plain, bucket, b.accounts)
	}
	if err == nil {
		err = b.PutBucketPolicy(ctx, bucket, policy)
	}
	return b.fail(&op{req: requestOf(ctx), names: names{bucket: bucket}}, err)
}

// policyStatus returns whether the policy is public, instead of versitygw.
func (b *Backend) policyStatus(ctx context.Context, bucket string, policy []byte) error {
	parsed := b.policies.Of(bucket, policy)
	if parsed.Err != nil {
		return b.fail(&op{req: requestOf(ctx), names: names{bucket: bucket}}, parsed.Err)
	}
	status := struct {
		XMLName  xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ PolicyStatus"`
		IsPublic bool
	}{IsPublic: parsed.Public()}
	out, err := xml.Marshal(status)
	requestOf(ctx).document = append([]byte(xml.Header), out...)
	return err
}
