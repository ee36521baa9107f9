// Package s3 has what S3 asks of whoever serves it, whatever library carries the
// protocol: what a front needs of a store, the events that it tells of, strict readers
// of the documents that clients send, tags, times to live, tokens and names of listings,
// checksums, and the notes of what a request changed.
//
// Who may do what is decided in package authz. Requests and responses, and the
// operations behind them, are in package gateway, which alone knows the library.
package s3
