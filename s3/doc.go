// Package s3 has what the S3 protocol requires, independent of the library that
// carries it: the store interface that a front needs, events, strict readers of
// clients' documents, tags, times to live, tokens and names of listings,
// checksums, and records of what a request changed.
//
// Authorisation is in package authz. Requests, responses and the operations
// behind them are in package gateway, the only package that knows the library.
package s3
