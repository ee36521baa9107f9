// Package paste serves text behind short links over HTTP. A paste is an object in a
// bucket of its own, and its key is the code in the link. So identical pastes share
// one content, and a paste expires, waits in the trash and is reclaimed like every
// object. Storing and deleting are done by package object.
//
// Submitted content is never executed: it is served as plain text or as an
// attachment, under a policy that allows no script.
package paste
