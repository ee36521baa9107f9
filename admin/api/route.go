package api

import "reflect"

// Prefix is the prefix of every call's path.
const Prefix = "/admin/api/"

// Role is the rights of a caller. Each role includes those before it.
type Role string

// Roles.
const (
	// Read sees names, sizes, states and settings; it changes nothing.
	Read Role = "read"
	// Operate pauses and resumes work; it deletes no byte and no object that
	// would not have been deleted anyway.
	Operate Role = "operate"
	// Destroy deletes objects and bytes, changes what deletes them, releases
	// what a deletion limit stopped, and gives access to others.
	Destroy Role = "destroy"
)

// rank orders the roles; 0 is none.
func (r Role) rank() int {
	switch r {
	case Read:
		return 1
	case Operate:
		return 2
	case Destroy:
		return 3
	}
	return 0
}

// Allows reports whether a caller of role r may do what needs the other.
func (r Role) Allows(needed Role) bool { return r.rank() >= needed.rank() && needed.rank() > 0 }

// Route is one call of the API, as Routes lists it. Each is a POST with a JSON
// body, which may be empty, so that no web page can make a browser call it. One
// without a request is a GET.
type Route struct {
	Name    string // the path after Prefix
	Role    Role   // the role that its caller needs
	Summary string // one sentence
	// Changes reports that it changes something: each call leaves an audit
	// line.
	Changes bool
	// Stream reports that its response is lines, each an Event, the last with
	// the result.
	Stream bool
	// Request and Response are the types of the bodies, for a stream the type
	// of its result; nil if not JSON.
	Request, Response reflect.Type
	// Media is the type of a response that is not JSON.
	Media string
	// Query are the query parameters that it takes, with their meaning; any
	// other is refused.
	Query map[string]string
}

// asks returns a route that changes nothing.
func asks[Req, Res any](name string, role Role, summary string) Route {
	return Route{Name: name, Role: role, Summary: summary, Request: reflect.TypeFor[Req](), Response: reflect.TypeFor[Res]()}
}

// changes returns a route that changes something.
func changes[Req, Res any](name string, role Role, summary string) Route {
	r := asks[Req, Res](name, role, summary)
	r.Changes = true
	return r
}

// reports returns a route that changes nothing and reports progress.
func reports[Req, Res any](name string, role Role, summary string) Route {
	r := asks[Req, Res](name, role, summary)
	r.Stream = true
	return r
}

// works returns a route that changes something and reports progress.
func works[Req, Res any](name string, role Role, summary string) Route {
	r := reports[Req, Res](name, role, summary)
	r.Changes = true
	return r
}
