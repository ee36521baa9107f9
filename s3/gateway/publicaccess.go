package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"net/http"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/gofiber/fiber/v3"
	"github.com/versity/versitygw/auth"
	"github.com/versity/versitygw/metrics"
	"github.com/versity/versitygw/s3api/controllers"
	"github.com/versity/versitygw/s3err"

	"github.com/lethe-storage/lethe/meta"
	"github.com/lethe-storage/lethe/s3"
)

// publicAccess is a bucket's public access block: whatever access control lists
// and policies say, what it names is not public.
type publicAccess struct {
	XMLName xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ PublicAccessBlockConfiguration" json:"-"`
	// BlockPublicAcls refuses lists that grant something to a group.
	BlockPublicAcls bool `xml:"BlockPublicAcls" json:"blockAcls,omitempty"`
	// IgnorePublicAcls does not count what lists grant to groups.
	IgnorePublicAcls bool `xml:"IgnorePublicAcls" json:"ignoreAcls,omitempty"`
	// BlockPublicPolicy refuses policies that allow something to everybody.
	BlockPublicPolicy bool `xml:"BlockPublicPolicy" json:"blockPolicy,omitempty"`
	// RestrictPublicBuckets does not count what such a policy allows to others
	// than the bucket's owner.
	RestrictPublicBuckets bool `xml:"RestrictPublicBuckets" json:"restrict,omitempty"`
}

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
	block, ok := readPublicAccess(body)
	if !ok {
		return &controllers.Response{}, s3err.GetAPIError(s3err.ErrMalformedXML)
	}
	doc, err := json.Marshal(block)
	if err == nil {
		err = b.putDocument(ctx, bucket, s3.KindPublicAccess, doc)
	}
	return &controllers.Response{}, err
}

// readPublicAccess reads a block; S3's namespace, or none, will do.
func readPublicAccess(body []byte) (block publicAccess, ok bool) {
	d := xml.NewDecoder(bytes.NewReader(body))
	d.DefaultSpace = namespace
	err := d.Decode(&block)
	return block, err == nil && s3.WellFormed(body)
}

// getPublicAccess answers the block of a bucket.
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

// deletePublicAccess removes the block of a bucket; that there is none is no
// error.
func (b *Backend) deletePublicAccess(ctx context.Context, bucket string, _ []byte) (*controllers.Response, error) {
	err := b.putDocument(ctx, bucket, s3.KindPublicAccess, nil)
	return &controllers.Response{MetaOpts: &controllers.MetaOptions{Status: http.StatusNoContent}}, err
}

// publicAccess reads the block of a bucket.
func (b *Backend) publicAccess(ctx context.Context, bucket string) (block publicAccess, found bool, err error) {
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
func (b *Backend) unblockedGrants(ctx context.Context, bucket string, grants []meta.Grant) error {
	if !slices.ContainsFunc(grants, func(g meta.Grant) bool { return g.Group != "" }) {
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
	doc, err := auth.ParsePolicyDocument(policy)
	if err != nil {
		return b.fail(&op{req: requestOf(ctx), names: names{bucket: bucket}}, err)
	}
	if isPublic(doc) {
		return denied("The public access block of bucket %q refuses policies that allow something to everybody.", bucket)
	}
	return nil
}

// unignored leaves out of a list what is granted to groups, where the bucket does
// not count it.
func (b *Backend) unignored(ctx context.Context, bucket string, list auth.ACL) (auth.ACL, error) {
	isGroup := func(g auth.Grantee) bool { return g.Type == types.TypeGroup }
	if !slices.ContainsFunc(list.Grantees, isGroup) {
		return list, nil
	}
	block, _, err := b.publicAccess(ctx, bucket)
	if err == nil && block.IgnorePublicAcls {
		list.Grantees = slices.DeleteFunc(slices.Clone(list.Grantees), isGroup)
	}
	return list, err
}

// restricted are a policy's statements, or, where it is public and the bucket restricts
// it to its owner, those that deny something.
func (b *Backend) restricted(ctx context.Context, bucket string, p *parsedPolicy) ([]rule, error) {
	block, _, err := b.publicAccess(ctx, bucket)
	if err != nil || !block.RestrictPublicBuckets || !p.public {
		return p.rules, err
	}
	owner, err := b.bucketOwner(ctx, bucket)
	if err != nil {
		return nil, err
	}
	if acct, root := account(ctx); root || (acct.Access != "" && acct.Access == owner) {
		return p.rules, nil
	}
	return slices.DeleteFunc(slices.Clone(p.rules), func(r rule) bool { return r.allow }), nil
}
