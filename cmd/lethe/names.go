package main

import (
	"strings"

	"github.com/lethe-storage/lethe/admin/api"
)

// place parses s3://bucket, s3://bucket/key or s3://bucket/prefix/; without s3:// the text is a
// bucket's name.
func place(text string) (bucket, key string, err error) {
	rest, uri := strings.CutPrefix(text, "s3://")
	if uri {
		bucket, key, _ = strings.Cut(rest, "/")
	} else {
		bucket = text
	}
	if bucket == "" || strings.Contains(bucket, "/") {
		return "", "", usageError("%q is not a place; write s3://bucket or s3://bucket/key", text)
	}
	return bucket, key, nil
}

// bucketName parses a bucket, as its name or as s3://bucket.
func bucketName(text string) (string, error) {
	bucket, key, err := place(text)
	if err == nil && key != "" {
		err = usageError("%q names an object or a prefix, not a bucket; write s3://%s", text, bucket)
	}
	return bucket, err
}

// parseObject parses s3://bucket/key.
func parseObject(text string) (api.ObjectName, error) {
	bucket, key, err := place(text)
	if err != nil || key == "" || !strings.HasPrefix(text, "s3://") {
		return api.ObjectName{}, usageError("%q is not an object; write s3://bucket/key", text)
	}
	return api.ObjectName{Bucket: bucket, Key: key}, nil
}

// heldPlace sets what a hold is on: s3://bucket, s3://bucket/key, or all keys with a prefix as
// s3://bucket/prefix/ or s3://bucket/prefix*. Flags may name key or prefix instead.
func heldPlace(text string, req *api.HoldRequest) error {
	bucket, key, err := place(text)
	if err != nil {
		return err
	}
	if key != "" && (req.Key != "" || req.Prefix != "") {
		return usageError("%q names a key or a prefix already; leave --key and --prefix out", text)
	}
	req.Bucket = bucket
	switch prefix, all := strings.CutSuffix(key, "*"); {
	case key == "":
	case all || strings.HasSuffix(key, "/"):
		req.Prefix = prefix
	default:
		req.Key = key
	}
	return nil
}
