// Package gateway serves S3 by github.com/versity/versitygw and the web server below
// it, and is the only package that knows either. Signatures, presigned URLs, chunked
// bodies, XML and the routes are theirs. Here are the server around them (listeners,
// TLS, limits, drain), what is put right in requests and responses, and the backend
// behind them, which translates between their types and ours.
//
// What a policy, an access control list or a key's list of buckets allows is decided
// in package authz. What S3 has of keys, tags, checksums, documents and dates, whoever
// serves it, is in package s3.
//
// What a request names is cloned at the boundary, because the web server reuses its
// memory, and every operation runs under a context of its own, because the web
// server's context ends only when the server does.
//
// Two places read or write a private field by reflection, each checked when the server
// is made: webServer in server.go, because versitygw keeps its web server to itself and
// cannot set its timeouts, and setBody in form.go, because fasthttp cannot replace a
// body's stream and keep the one that knows where the next request begins.
package gateway
