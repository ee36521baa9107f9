// Package blobtest tests backends and what stands on them: Run is the suite that
// every blob.Store passes; Faulty injects faults into one, Recorder tells the
// order of its effects, and Counting counts its calls.
package blobtest
