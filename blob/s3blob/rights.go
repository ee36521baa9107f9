package s3blob

import (
	"errors"
	"fmt"

	"github.com/aws/smithy-go"
)

// right is a permission that a request requires of an access key.
type right struct {
	action   string // of a policy
	onBucket bool   // else on the objects in it
}

// rights are those by the names of requests.
var rights = map[string]right{
	"ListObjectsV2":                   {"s3:ListBucket", true},
	"HeadBucket":                      {"s3:ListBucket", true},
	"ListObjectVersions":              {"s3:ListBucketVersions", true},
	"GetBucketVersioning":             {"s3:GetBucketVersioning", true},
	"GetObjectLockConfiguration":      {"s3:GetBucketObjectLockConfiguration", true},
	"GetBucketLifecycleConfiguration": {"s3:GetLifecycleConfiguration", true},
	"ListMultipartUploads":            {"s3:ListBucketMultipartUploads", true},
	"ListParts":                       {"s3:ListMultipartUploadParts", false},
	"AbortMultipartUpload":            {"s3:AbortMultipartUpload", false},
	"HeadObject":                      {"s3:GetObject", false},
	"GetObject":                       {"s3:GetObject", false},
	"GetObjectTagging":                {"s3:GetObjectTagging", false},
	"PutObject":                       {"s3:PutObject", false},
	"CreateMultipartUpload":           {"s3:PutObject", false},
	"UploadPart":                      {"s3:PutObject", false},
	"CompleteMultipartUpload":         {"s3:PutObject", false},
	"CopyObject":                      {"s3:PutObject and s3:GetObject", false},
	"UploadPartCopy":                  {"s3:PutObject and s3:GetObject", false},
	"DeleteObject":                    {"s3:DeleteObject", false},
	"DeleteObjects":                   {"s3:DeleteObject", false},
}

// allow returns which permission a denied request needs, and on what.
func (s *Store) allow(v verdict) string {
	name := "DeleteObjects" // of which one key was denied
	var operation *smithy.OperationError
	if errors.As(v.err, &operation) {
		name = operation.Operation()
	}
	r, ok := rights[name]
	if !ok {
		return fmt.Sprintf("the access key may not do this in bucket %s (%s); allow it", s.o.Bucket, name)
	}
	on := "arn:aws:s3:::" + s.o.Bucket
	if !r.onBucket {
		on += "/" + s.o.Prefix + "*"
	}
	text := fmt.Sprintf("the access key may not do this; allow it %s on %s in the policy of its user or of the bucket", r.action, on)
	if name == "HeadObject" {
		text += fmt.Sprintf(" (and s3:ListBucket on arn:aws:s3:::%s, without which this is also the response for an object that does not exist)", s.o.Bucket)
	}
	return text
}
