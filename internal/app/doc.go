// Package app is the lethe process put together: Store opens a data folder and
// wires ledger, backends, cache, objects and engine; App adds everything that
// listens. The command and the end-to-end tests run the same App. It decides
// nothing about objects or deletions; adoption has internal/app/adoption.
//
// store.go and app.go have the order of construction, as pictures. ledger.go, datadir*.go,
// backends.go, cache.go and engine.go open the parts of a Store; s3front.go, pastes.go,
// admin.go, console.go and metrics.go what an App listens with. observer*.go make log lines,
// audit lines and metrics of events; tracing.go and span*.go make spans.
package app
