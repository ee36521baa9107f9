package gateway

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"net/http"

	"github.com/gofiber/fiber/v3"
	"github.com/versity/versitygw/auth"
	"github.com/versity/versitygw/metrics"
	"github.com/versity/versitygw/s3api/controllers"
	"github.com/versity/versitygw/s3err"

	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/s3"
	"github.com/lethe-storage/lethe/s3/authz"
)

var publicAccessActions = map[string]bucketAction{
	"PutPublicAccessBlock": {
		metrics.ActionPutPublicAccessBlock, auth.PutBucketPublicAccessBlockAction, auth.PermissionWrite, (*Backend).putPublicAccess,
	},
	"GetPublicAccessBlock": {
		metrics.ActionGetPublicAccessBlock, auth.GetBucketPublicAccessBlockAction, auth.PermissionRead, (*Backend).getPublicAccess,
	},
	"DeletePublicAccessBlock": {
		metrics.ActionDeletePublicAccessBlock, auth.PutBucketPublicAccessBlockAction, auth.PermissionWrite, (*Backend).deletePublicAccess,
	},
}

// putPublicAccess replaces the block of a bucket.
func (b *Backend) putPublicAccess(ctx context.Context, bucket string, body []byte) (*controllers.Response, error) {
	block, ok := authz.ParsePublicAccess(body)
	if !ok {
		return &controllers.Response{}, s3err.GetAPIError(s3err.ErrMalformedXML)
	}
	doc, err := json.Marshal(block)
	if err == nil {
		err = b.putDocument(ctx, bucket, s3.KindPublicAccess, doc)
	}
	return &controllers.Response{}, err
}

// getPublicAccess returns the block of a bucket.
func (b *Backend) getPublicAccess(ctx context.Context, bucket string, _ []byte) (*controllers.Response, error) {
	o, err := b.begin(ctx, need{bucket: bucket})
	defer o.cancel()
	if err != nil {
		return &controllers.Response{}, err
	}
	block, found, err := b.publicAccess(ctx, bucket)
	if err == nil && !found {
		err = s3err.APIError{
			Code: "NoSuchPublicAccessBlockConfiguration", HTTPStatusCode: http.StatusNotFound,
			Description: "The public access block configuration was not found",
		}
	}
	if err != nil {
		return &controllers.Response{}, err
	}
	kind := fiber.MIMEApplicationXML
	out, err := xml.Marshal(block)
	return &controllers.Response{Data: append([]byte(xml.Header), out...), Headers: map[string]*string{fiber.HeaderContentType: &kind}}, err
}

// deletePublicAccess removes the block of a bucket. A missing one is not an
// error.
func (b *Backend) deletePublicAccess(ctx context.Context, bucket string, _ []byte) (*controllers.Response, error) {
	err := b.putDocument(ctx, bucket, s3.KindPublicAccess, nil)
	return &controllers.Response{MetaOpts: &controllers.MetaOptions{Status: http.StatusNoContent}}, err
}

// publicAccess reads the block of a bucket.
func (b *Backend) publicAccess(ctx context.Context, bucket string) (block authz.PublicAccess, found bool, err error) {
	doc, err := b.document(ctx, bucket, s3.KindPublicAccess, 0)
	if err != nil || doc == nil {
		return block, false, err
	}
	if err := json.Unmarshal(doc, &block); err != nil {
		return block, false, b.fail(&op{req: requestOf(ctx), names: names{bucket: bucket}}, err)
	}
	return block, true, nil
}

// unblockedGrants refuses grants to groups where the bucket blocks them.
func (b *Backend) unblockedGrants(ctx context.Context, bucket string, grants []ledger.Grant) error {
	if !authz.ToGroups(grants) {
		return nil
	}
	block, _, err := b.publicAccess(ctx, bucket)
	if err == nil && block.BlockPublicAcls {
		return denied("The public access block of bucket %q refuses access control lists that grant something to everybody.", bucket)
	}
	return err
}

// unblockedPolicy refuses a public policy where the bucket blocks it.
func (b *Backend) unblockedPolicy(ctx context.Context, bucket string, policy []byte) error {
	block, _, err := b.publicAccess(ctx, bucket)
	if err != nil || !block.BlockPublicPolicy {
		return err
	}
	parsed := parsePolicy(policy)
	if parsed.Err != nil {
		return b.fail(&op{req: requestOf(ctx), names: names{bucket: bucket}}, parsed.Err)
	}
	if parsed.Public() {
		return denied("The public access block of bucket %q refuses policies that allow something to everybody.", bucket)
	}
	return nil
}

// unignored removes grants to groups from a list, where the bucket ignores
// them.
func (b *Backend) unignored(ctx context.Context, bucket string, list authz.ACL) (authz.ACL, error) {
	if !authz.ToGroups(list.Grants) {
		return list, nil
	}
	block, _, err := b.publicAccess(ctx, bucket)
	if err == nil && block.IgnorePublicAcls {
		list = list.WithoutGroups()
	}
	return list, err
}

// restricted returns a policy's statements, or, where it is public and the
// bucket restricts it to its owner, only its denials.
func (b *Backend) restricted(ctx context.Context, bucket string, p *authz.Policy) ([]authz.PolicyStatement, error) {
	block, _, err := b.publicAccess(ctx, bucket)
	if err != nil || !block.RestrictPublicBuckets || !p.Public() {
		return p.Statements, err
	}
	owner, err := b.bucketOwner(ctx, bucket)
	if err != nil {
		return nil, err
	}
	if acct, root := account(ctx); root || (acct.Access != "" && acct.Access == owner) {
		return p.Statements, nil
	}
	return p.Denials(), nil
}
