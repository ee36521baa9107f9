// Package blobtest tests backends and their callers: Run is the suite that every
// blob.Store passes; Faulty injects faults into one, Recorder records the order of
// its effects, and Counting counts its calls. It has no backend of its own: memblob
// serves in tests.
package blobtest
