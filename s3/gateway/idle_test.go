package gateway_test

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/lethe-storage/lethe/ledger"
)

// The metadata idle-ttl keeps an object after its last read, within what its bucket allows.
func TestIdleTime(t *testing.T) {
	s := newSite(t)
	s.put("k", "data", map[string]string{"Idle-Ttl": "7d"})
	out, err := s.HeadObject(s.ctx, &awss3.HeadObjectInput{Bucket: &s.bucket, Key: aws.String("k")})
	s.must(err)
	if text := aws.ToString(out.Expiration); !strings.Contains(text, `rule-id="idle-ttl"`) || out.Metadata["idle-ttl"] != "7d" {
		t.Errorf("%q, %v", text, out.Metadata)
	}
	s.put("both", "data", map[string]string{"Idle-Ttl": "7d", "Ttl": "1h"})
	out, err = s.HeadObject(s.ctx, &awss3.HeadObjectInput{Bucket: &s.bucket, Key: aws.String("both")})
	s.must(err)
	if text := aws.ToString(out.Expiration); !strings.Contains(text, `rule-id="ttl"`) {
		t.Errorf("the earlier of two ends: %q", text)
	}
	_, err = w.store.ConfigureBucket(s.ctx, s.bucket, ledger.BucketSettings{MaxIdle: 30 * 24 * time.Hour}, nil)
	s.must(err)
	for value, want := range map[string]string{
		"31d": "no longer than 30d after their last read", "59s": "shorter than a minute", "0": "is zero", "-1h": "is negative", "soon": "use a number with a unit",
	} {
		_, err := s.PutObject(s.ctx, &awss3.PutObjectInput{Bucket: &s.bucket, Key: aws.String("bad"), Body: strings.NewReader("x"), Metadata: map[string]string{"idle-ttl": value}})
		if err == nil || !strings.Contains(err.Error(), "InvalidArgument") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", value, err)
		}
	}
}
