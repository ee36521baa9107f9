// Package api is the operators' API as its callers see it: the table of routes with its
// OpenAPI document, the types of requests and responses, the errors that clients can
// distinguish, and Client. A long call returns a stream of lines, each an Event. It
// imports values and contracts only, so that a command line or a console links it without
// the store. What serves the routes lives in package service.
package api
