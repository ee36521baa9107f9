// Package paste serves text behind short links over HTTP. A paste is an object
// in a bucket of its own, its key is the code in the link; so identical pastes
// share one content, and a paste ends, waits in the trash and gives its bytes
// back as every object does.
//
// Nothing that was sent is ever run: it is answered as plain text or as an
// attachment, under a policy that allows no script.
package paste
