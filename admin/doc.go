// Package admin is the operator's surface: Service answers and acts, Handler
// offers it as JSON over HTTP, Client asks it. The command uses the same handler
// whether a server runs or not: over the admin socket, or within its own process
// through Local. What takes long answers a stream of lines, each an Event.
package admin
