package config

import (
	"strings"
	"time"

	"github.com/lethe-storage/lethe/internal/yamlfile"
)

// S3 is a bucket of an S3 service, of a backend of kind s3.
type S3 struct {
	Endpoint      string   `yaml:"endpoint"` // empty: AWS
	Region        string   `yaml:"region"`
	Bucket        string   `yaml:"bucket"`
	Prefix        string   `yaml:"prefix"` // before every name; empty or ending in a slash
	AccessKey     string   `yaml:"access_key"`
	SecretKey     Secret   `yaml:"secret_key"`
	SecretKeyFile string   `yaml:"secret_key_file"`
	PathStyle     bool     `yaml:"path_style"`
	CAFile        string   `yaml:"ca_file"`   // PEM, beside the system's
	Timeout       Duration `yaml:"timeout"`   // of a request without a body
	PartSize      Size     `yaml:"part_size"` // of larger blobs' multipart uploads
	MaxBatch      int      `yaml:"max_batch"` // keys per DeleteObjects
	Concurrency   int      `yaml:"concurrency"`
}

// Fill implements yamlfile.Filled.
func (b *Backend) Fill() { b.S3 = defaultS3() }

func defaultS3() S3 {
	return S3{Region: "us-east-1", PathStyle: true, Timeout: Duration(30 * time.Second), PartSize: 16 * mib, MaxBatch: maxBatch, Concurrency: 16}
}

// The limits of a bucket of an S3 service.
const (
	minS3Part   = 5 * mib // S3's smallest part but the last, in bytes
	maxS3Prefix = 512     // bytes
)

func (s S3) validate(p *Problems, key string) {
	p.check(s.Endpoint == "" || isBaseURL(s.Endpoint), key+".endpoint",
		"is no address of an S3 service; use a URL such as https://s3.example.org, without user, ? and #, or none for AWS")
	p.check(regionForm.MatchString(s.Region), key+".region", "%q does not do; use a name such as us-east-1", yamlfile.Brief(s.Region))
	p.check(bucketForm.MatchString(s.Bucket) && !strings.Contains(s.Bucket, ".."), key+".bucket",
		"%q is no name of a bucket; name the bucket that holds the bytes, and nothing else", yamlfile.Brief(s.Bucket))
	p.check(s.Prefix == "" || len(s.Prefix) <= maxS3Prefix && strings.HasSuffix(s.Prefix, "/") && !strings.HasPrefix(s.Prefix, "/") &&
		!strings.Contains(s.Prefix, "//"), key+".prefix", "%q does not do; use none, or one such as lethe/ with a slash at its end", yamlfile.Brief(s.Prefix))
	p.check(s.SecretKey.IsZero() || s.SecretKeyFile == "", key+".secret_key_file", "is set as well as secret_key; leave one of them out")
	secret := !s.SecretKey.IsZero() || s.SecretKeyFile != ""
	p.check(secret == (s.AccessKey != ""), key+".access_key",
		"only one of access_key and secret_key is set; set both, or none to take those of the environment (AWS_ACCESS_KEY_ID, profiles, roles)")
	p.check(s.Timeout >= Duration(time.Second), key+".timeout", "is %s; use at least 1s, such as 30s", s.Timeout)
	p.check(s.PartSize >= minS3Part && s.PartSize <= 512*mib, key+".part_size", "is %s; use 5MiB to 512MiB: up to 16 are held in memory", s.PartSize)
	p.check(s.MaxBatch >= 1 && s.MaxBatch <= maxBatch, key+".max_batch", "is %d; use 1 to %d", s.MaxBatch, maxBatch)
	p.check(s.Concurrency >= 1 && s.Concurrency <= maxConnections, key+".concurrency", "is %d; use 1 to %d", s.Concurrency, maxConnections)
}
