// Package admin is the operators' API: Service implements it, Handler serves it
// as JSON over HTTP, Client calls it. Commands use the same handler with and
// without a server: over the admin socket, or within their own process through
// Local. Long calls return a stream of lines, each an Event. What the store
// does is decided in the packages below; here are names, checks, roles and
// audit lines.
package admin
