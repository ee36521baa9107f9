// Package authz decides who may do what: by the list of buckets of an access key, by
// access control lists of buckets and objects, by the policy of a bucket and its
// conditions, and by a bucket's public access block. It reads these documents strictly,
// and refuses what nothing would honour.
//
// It knows neither requests nor responses: what a condition is held against it asks of a
// Request. Looking documents up, and telling the gateway's library what was decided, is
// package gateway's part. A refusal is an s3.Error.
package authz
