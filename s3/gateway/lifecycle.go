package gateway

import (
	"context"
	"errors"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/gofiber/fiber/v3"
	"github.com/versity/versitygw/auth"
	"github.com/versity/versitygw/metrics"
	"github.com/versity/versitygw/s3api/controllers"
	"github.com/versity/versitygw/s3api/middlewares"
	"github.com/versity/versitygw/s3api/utils"
	"github.com/versity/versitygw/s3err"

	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/lifecycle"
	"github.com/lethe-storage/lethe/s3/authz"
)

// byS3 is the author of rules that were set here.
const byS3 = "s3"

// bucketAction is a bucket operation that versitygw does not implement.
type bucketAction struct {
	name       string // versitygw's
	action     auth.Action
	permission auth.Permission
	do         func(b *Backend, ctx context.Context, bucket string, body []byte) (*controllers.Response, error)
}

var lifecycleActions = map[string]bucketAction{
	"PutBucketLifecycleConfiguration": {
		metrics.ActionPutBucketLifecycleConfiguration, auth.PutLifecycleConfigurationAction, auth.PermissionWrite, (*Backend).putLifecycle,
	},
	"GetBucketLifecycleConfiguration": {
		metrics.ActionGetBucketLifecycleConfiguration, auth.GetLifecycleConfigurationAction, auth.PermissionRead, (*Backend).getLifecycle,
	},
	"DeleteBucketLifecycle": {
		metrics.ActionDeleteBucketLifecycle, auth.PutLifecycleConfigurationAction, auth.PermissionWrite, (*Backend).deleteLifecycle,
	},
}

// ours returns the operation if versitygw, which does not implement it, let the
// request pass: it verified the signature and read the bucket's access control
// list. All other operations are versitygw's.
func (s *Server) ours(ctx fiber.Ctx, req *request) (a bucketAction, ok bool) {
	if s.listRefused(ctx, req) {
		return bucketLists, true
	}
	if s.policyRefused(ctx, req) {
		return taggedPolicies, true
	}
	for _, known := range []map[string]bucketAction{lifecycleActions, notificationActions, publicAccessActions, unconfiguredActions} {
		if a, ok = known[req.event.Operation]; ok {
			break
		}
	}
	return a, ok && req.routed != "" && req.event.Code == s3err.GetAPIError(s3err.ErrNotImplemented).Code &&
		utils.ContextKeyParsedAcl.IsSet(ctx)
}

// act runs what versitygw refused, under its rules: access control list, policy
// and the key's bucket list authorise it.
func (s *Server) act(ctx fiber.Ctx, req *request, a bucketAction) error {
	req.event.Code = ""
	ctx.Response().Reset()
	return controllers.ProcessController(ctx, func(ctx fiber.Ctx) (*controllers.Response, error) {
		if err := s.mayRule(ctx, req.routed, a); err != nil {
			return &controllers.Response{}, err
		}
		if a.action == auth.PutLifecycleConfigurationAction && ctx.Method() == http.MethodPut {
			if err := middlewares.VerifyChecksums(false, true, true)(ctx); err != nil {
				return &controllers.Response{}, err
			}
		}
		return a.do(s.backend, ctx.RequestCtx(), req.routed, ctx.BodyRaw())
	}, a.name, &controllers.Services{MetricsManager: recorder{}})
}

// mayRule authorises by the bucket's access control list and policy.
func (s *Server) mayRule(ctx fiber.Ctx, bucket string, a bucketAction) error {
	acl, _ := utils.ContextKeyParsedAcl.Get(ctx).(auth.ACL)
	acct, _ := utils.ContextKeyAccount.Get(ctx).(auth.Account)
	root, _ := utils.ContextKeyIsRoot.Get(ctx).(bool)
	return auth.VerifyAccess(ctx, s.backend, auth.AccessOptions{
		Acl: acl, AclPermission: a.permission, IsRoot: root, Acc: acct, Bucket: bucket,
		Actions: []auth.Action{a.action}, IsPublicRequest: utils.ContextKeyPublicBucket.IsSet(ctx), Iam: s.iam,
	})
}

// putLifecycle replaces the rules of a bucket.
func (b *Backend) putLifecycle(rctx context.Context, bucket string, body []byte) (*controllers.Response, error) {
	o, err := b.begin(rctx, need{bucket: bucket, access: authz.Setting})
	defer o.cancel()
	if err != nil {
		return &controllers.Response{}, err
	}
	if least := o.req.web.Get(headerLeastTransition); least != "" && least != leastTransition {
		return &controllers.Response{}, notKept("Objects are not moved to other storage classes, so that %s can only be %s.", headerLeastTransition, leastTransition)
	}
	rules, err := lifecycle.Parse(body)
	if err == nil {
		err = b.setRules(o, ledger.RulesChange{Bucket: bucket, Into: o.bucket, Rules: rules, By: byS3})
	}
	return &controllers.Response{Headers: map[string]*string{headerLeastTransition: to(leastTransition)}}, b.fail(o, lifecycleError(err))
}

// headerLeastTransition is the smallest object that a rule moves to another
// storage class, which no rule does here. Its default is returned all the same:
// Terraform waits until it reads what it has set.
const (
	headerLeastTransition = "X-Amz-Transition-Default-Minimum-Object-Size"
	leastTransition       = string(types.TransitionDefaultMinimumObjectSizeAllStorageClasses128k)
)

// getLifecycle returns the rules of a bucket, wherever they were set.
func (b *Backend) getLifecycle(rctx context.Context, bucket string, _ []byte) (*controllers.Response, error) {
	o, err := b.begin(rctx, need{bucket: bucket})
	defer o.cancel()
	if err != nil {
		return &controllers.Response{}, err
	}
	found, err := b.store.Rules.Rules(o.ctx, bucket)
	if err == nil {
		err = b.stillMeant(o)
	}
	if err == nil && len(found.Rules) == 0 {
		err = s3err.APIError{
			Code: "NoSuchLifecycleConfiguration", Description: "The lifecycle configuration does not exist", HTTPStatusCode: http.StatusNotFound,
		}
	}
	if err != nil {
		return &controllers.Response{}, b.fail(o, err)
	}
	return &controllers.Response{Data: found.Rules.XML(), Headers: map[string]*string{
		fiber.HeaderContentType: to(fiber.MIMEApplicationXML), headerLeastTransition: to(leastTransition),
	}}, nil
}

// deleteLifecycle removes the rules of a bucket. Missing rules are not an
// error.
func (b *Backend) deleteLifecycle(rctx context.Context, bucket string, _ []byte) (*controllers.Response, error) {
	o, err := b.begin(rctx, need{bucket: bucket, access: authz.Setting})
	defer o.cancel()
	if err != nil {
		return &controllers.Response{}, err
	}
	err = b.setRules(o, ledger.RulesChange{Bucket: bucket, Into: o.bucket, By: byS3})
	return &controllers.Response{MetaOpts: &controllers.MetaOptions{Status: http.StatusNoContent}}, b.fail(o, lifecycleError(err))
}

// lifecycleError returns S3's error for rules that are refused.
func lifecycleError(err error) error {
	var refused *lifecycle.Error
	switch {
	case errors.Is(err, ledger.ErrRulesConfigured):
		return s3err.APIError{Code: "OperationAborted", HTTPStatusCode: http.StatusConflict,
			Description: "The lifecycle rules of this bucket are set in the server's configuration and can only be read here. Change them there."}
	case errors.As(err, &refused):
		status := http.StatusBadRequest
		if refused.Code == "NotImplemented" {
			status = http.StatusNotImplemented
		}
		return s3err.APIError{Code: refused.Code, Description: refused.Message, HTTPStatusCode: status}
	}
	return err
}
