// Package importer makes objects of what somebody else keeps on a backend.
//
// A foreign key is read and put as a new object, by the way that every put goes:
// intent, bytes under a name of our own, digest, deduplication, commit. Its own
// bytes are neither taken over nor touched. Adopting them in place would give a
// name that is not random, and that its owner may write again, to an engine that
// deletes by name (design: "a blob's name is random, and is never used twice");
// deleting them afterwards would race with their owner on every service without
// conditional deletes. So the importer has no way to lose a byte: it never
// deletes, and never replaces an object. What it costs is room for a second copy
// until the owner removes the first.
//
// An import can be repeated at any time: an object that carries the mark of the very
// bytes, or that holds them, is passed over.
package importer
