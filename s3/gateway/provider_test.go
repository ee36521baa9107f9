package gateway_test

import (
	"reflect"
	"testing"

	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// providerReads are the calls of Terraform's provider for AWS each time it
// reads a bucket or a resource that configures one, by the name of the client's
// method: the code of the error that S3 documents for a bucket without it, or
// the client's view of the response.
var providerReads = map[string]any{
	"GetBucketPolicy":                    "NoSuchBucketPolicy",
	"GetBucketCors":                      "NoSuchCORSConfiguration",
	"GetBucketWebsite":                   "NoSuchWebsiteConfiguration",
	"GetBucketLifecycleConfiguration":    "NoSuchLifecycleConfiguration",
	"GetBucketReplication":               "ReplicationConfigurationNotFoundError",
	"GetBucketEncryption":                "ServerSideEncryptionConfigurationNotFoundError",
	"GetObjectLockConfiguration":         "ObjectLockConfigurationNotFoundError",
	"GetBucketTagging":                   "NoSuchTagSet",
	"GetPublicAccessBlock":               "NoSuchPublicAccessBlockConfiguration",
	"GetBucketVersioning":                awss3.GetBucketVersioningOutput{},
	"GetBucketAccelerateConfiguration":   awss3.GetBucketAccelerateConfigurationOutput{},
	"GetBucketLogging":                   awss3.GetBucketLoggingOutput{},
	"GetBucketNotificationConfiguration": awss3.GetBucketNotificationConfigurationOutput{},
	"GetBucketLocation":                  awss3.GetBucketLocationOutput{},
	"GetBucketRequestPayment":            awss3.GetBucketRequestPaymentOutput{Payer: types.PayerBucketOwner},
	"GetBucketOwnershipControls": awss3.GetBucketOwnershipControlsOutput{OwnershipControls: &types.OwnershipControls{
		Rules: []types.OwnershipControlsRule{{ObjectOwnership: types.ObjectOwnershipBucketOwnerEnforced}},
	}},
}

// Terraform's provider reads all of these of every bucket, and fails on an
// unknown response.
func TestWhatTerraformReads(t *testing.T) {
	s := newSite(t)
	for name, want := range providerReads {
		method := reflect.ValueOf(s.Client).MethodByName(name)
		in := reflect.New(method.Type().In(1).Elem())
		in.Elem().FieldByName("Bucket").Set(reflect.ValueOf(&s.bucket))
		out := method.Call([]reflect.Value{reflect.ValueOf(s.ctx), in})
		err, _ := out[1].Interface().(error)
		if code, ok := want.(string); ok {
			s.fails(err, 404, code)
			continue
		}
		s.must(err)
		got := out[0].Elem()
		got.FieldByName("ResultMetadata").SetZero()
		if !reflect.DeepEqual(got.Interface(), want) {
			t.Errorf("%s: %+v, want %+v", name, got.Interface(), want)
		}
	}
	acl, err := s.GetBucketAcl(s.ctx, &awss3.GetBucketAclInput{Bucket: &s.bucket})
	s.must(err)
	if acl.Owner == nil || len(acl.Grants) != 1 || acl.Grants[0].Permission != types.PermissionFullControl {
		t.Errorf("the access control list is %+v", acl)
	}
	head, err := s.HeadBucket(s.ctx, &awss3.HeadBucketInput{Bucket: &s.bucket})
	s.must(err)
	if head.BucketRegion == nil || *head.BucketRegion != region {
		t.Errorf("the bucket's region is %v", head.BucketRegion)
	}
}
