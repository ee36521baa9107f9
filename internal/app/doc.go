// Package app is the lethe process put together: Store opens a data folder and
// wires ledger, backends, cache, objects and engine; App adds everything that
// listens. The command and the end-to-end tests run the same App. It decides
// nothing about objects or deletions; adoption has internal/app/adoption.
package app
