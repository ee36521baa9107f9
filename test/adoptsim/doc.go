// Package adoptsim runs the real routines of package adopt over an application in memory:
// its database (memadopt), its bucket, its cache, and the application itself, which
// uses names again at the worst moment. Every effect on one of them is a step at which
// the actor that makes it parks; exactly one actor runs at a time, and a seed decides
// who goes on, which fault its step meets, and how far the clock moves. What has to
// hold is checked after every step, and once more when all is quiet.
//
// A run is a pure function of its Config: run twice it gives the same trace hash.
//
// actor.go has the coroutines, world.go the schedule, seam.go the steps and their
// faults, workers.go and apps.go the actors, oracle.go what has to hold, ending.go the
// quiet end. Other sites have files of their own; paired*.go are copies of a database beside one bucket.
package adoptsim
