// Package importer makes objects of the foreign keys on a backend: bytes that
// another program keeps there.
//
// A foreign key is read and stored as a new object, like every put: intent, bytes
// under a random name, digest, deduplication, commit. The foreign bytes are neither
// adopted nor changed. Adopting them in place would give the engine, which deletes
// by name, a name that is not random and that its owner may write again. Deleting
// them afterwards would race with their owner on every service without conditional
// deletes. So the importer cannot lose a byte: it never deletes, and never replaces
// an object. The cost is room for a second copy until the owner removes the first.
//
// An import can be repeated at any time: an object that carries the mark of the
// same bytes, or holds them, is skipped. What it does not do is keep references in
// step with an application: that is adoption (package adopt).
package importer
