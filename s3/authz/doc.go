// Package authz authorises requests: by the bucket list of an access key, by
// access control lists of buckets and objects, by a bucket's policy and its
// conditions, and by its public access block. It reads these documents
// strictly, and refuses what would have no effect.
//
// It does not know requests or responses: it reads the values of conditions
// from a Request. Package gateway looks documents up and passes decisions to
// its library. A refusal is an s3.Error.
package authz
