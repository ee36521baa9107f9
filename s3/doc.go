// Package s3 is the S3 front: the S3 protocol over an object.Store. Signatures,
// presigned URLs, chunked bodies, XML, access control lists and policies are
// carried by github.com/versity/versitygw; this package is the backend behind
// it, the access keys, and the server around it (listeners, TLS, limits, times
// to live in requests and responses, drain).
//
// What a request names is cloned at the boundary, because the web server below
// reuses its memory, and every operation runs under a context of its own, because
// the web server's context ends only when the server does.
package s3
