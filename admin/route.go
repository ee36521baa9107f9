package admin

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

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

// allows reports whether a caller of role r may do what needs the other.
func (r Role) allows(needed Role) bool { return r.rank() >= needed.rank() && needed.rank() > 0 }

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

	serve func(*Service) http.HandlerFunc
}

// pattern is the route for http.ServeMux.
func (r Route) pattern() string {
	if r.Request == nil {
		return "GET " + Prefix + r.Name
	}
	return "POST " + Prefix + r.Name
}

// misplaced refuses query parameters that the call does not take: arguments
// belong in the body, and ignoring a parameter could widen the call. It fails
// with ErrBadRequest.
func (r Route) misplaced(query string) error {
	given, err := url.ParseQuery(query)
	if err != nil {
		return fmt.Errorf("%w: the address: %w", ErrBadRequest, err)
	}
	var unknown []string
	for name := range given {
		if _, ok := r.Query[name]; !ok {
			unknown = append(unknown, strconv.Quote(name))
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	slices.Sort(unknown)
	takes := "no parameters"
	if len(r.Query) > 0 {
		takes = "only " + strings.Join(slices.Sorted(maps.Keys(r.Query)), ", ")
	}
	return fmt.Errorf("%w: %s takes %s in its address, not %s: what is asked stands in the JSON body of the request, and nothing was done",
		ErrBadRequest, r.Name, takes, strings.Join(unknown, ", "))
}

// method is a method of Service with one result.
type method[Req, Res any] func(*Service, context.Context, Req) (Res, error)

// work is a method of Service that reports while it works.
type work[Req, Res any] func(*Service, context.Context, Req, func(Event)) (Res, error)

// state returns the present state of what a request is about, for audit lines.
// It holds no secrets. If nil, there is no state before, and the result is the
// state after.
type state[Req any] func(*Service, context.Context, Req) (any, error)

// asks returns a route that changes nothing.
func asks[Req, Res any](name string, role Role, summary string, fn method[Req, Res]) Route {
	return Route{
		Name: name, Role: role, Summary: summary, Request: reflect.TypeFor[Req](), Response: reflect.TypeFor[Res](),
		serve: func(s *Service) http.HandlerFunc {
			return call(func(ctx context.Context, req Req) (Res, error) { return fn(s, ctx, req) })
		},
	}
}

// changes returns a route that changes something. Its audit lines have the
// state before and after.
func changes[Req, Res any](name string, role Role, summary string, fn method[Req, Res], shown state[Req]) Route {
	r := asks(name, role, summary, fn)
	r.Changes = true
	r.serve = func(s *Service) http.HandlerFunc {
		return call(func(ctx context.Context, req Req) (Res, error) {
			c := s.begin(ctx, name, req)
			if shown != nil {
				c.before = stated(s, ctx, req, shown)
			}
			res, err := fn(s, ctx, req)
			switch {
			case shown != nil:
				c.after = stated(s, context.WithoutCancel(ctx), req, shown)
			case err == nil:
				c.after = res
			}
			c.end(err)
			return res, err
		})
	}
	return r
}

// reports returns a route that changes nothing and reports progress.
func reports[Req, Res any](name string, role Role, summary string, fn work[Req, Res]) Route {
	r := asks[Req, Res](name, role, summary, nil)
	r.Stream = true
	r.serve = func(s *Service) http.HandlerFunc {
		return stream(func(ctx context.Context, req Req, emit func(Event)) (Res, error) { return fn(s, ctx, req, emit) })
	}
	return r
}

// works returns a route that changes something and reports progress. Its audit
// lines have the result.
func works[Req, Res any](name string, role Role, summary string, fn work[Req, Res]) Route {
	r := reports(name, role, summary, fn)
	r.Changes = true
	r.serve = func(s *Service) http.HandlerFunc {
		return stream(func(ctx context.Context, req Req, emit func(Event)) (Res, error) {
			c := s.begin(ctx, name, req)
			res, err := fn(s, ctx, req, emit)
			c.after = res
			c.end(err)
			return res, err
		})
	}
	return r
}

// stated returns a state for an audit line, or that it cannot be read.
func stated[Req any](s *Service, ctx context.Context, req Req, shown state[Req]) any {
	v, err := shown(s, ctx, req)
	if err != nil {
		e, _ := httpError(err)
		return e
	}
	return v
}
