// Package gateway serves S3 by github.com/versity/versitygw and its web server,
// and is the only package that knows either. They do signatures, presigned
// URLs, chunked bodies, XML and routing. Here are the server around them
// (listeners, TLS, limits, drain), corrections of requests and responses, the
// backend, which translates between their types and ours, and a shorter way for
// plain reads and puts (plain.go), of which most reads are verified here
// (signature.go).
//
// Package authz evaluates policies, access control lists and the bucket lists
// of keys. Package s3 has S3's rules for keys, tags, checksums, documents and
// dates that do not depend on the library.
//
// Names in a request are cloned at the boundary, because the web server reuses
// its memory. Every operation has a context of its own, because the web
// server's context ends only with the server.
//
// Two places access a private field by reflection, each checked when the server
// is created: webServer in server.go, because versitygw hides its web server
// and cannot set its timeouts, and setBody in form.go, because fasthttp cannot
// replace a body's stream and keep the one that knows where the next request
// begins.
package gateway
