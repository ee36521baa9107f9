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

// Role says what a caller may do. Each role includes those before it.
type Role string

// The roles.
const (
	// Read sees names, sizes, states and settings; it changes nothing.
	Read Role = "read"
	// Operate lets work go on or stand still; no byte and no object ends by it that
	// would not have ended by itself.
	Operate Role = "operate"
	// Destroy ends objects and bytes, decides what ends them, opens what a guard has
	// closed, and gives access to others.
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

// allows says whether a caller of role r may do what needs the other.
func (r Role) allows(needed Role) bool { return r.rank() >= needed.rank() && needed.rank() > 0 }

// Route is one call of the API, as Routes lists it. Each is a POST with a JSON
// body, which may be empty, so that no page can make a browser call it; one
// without a request is a GET.
type Route struct {
	Name    string // the path after Prefix
	Role    Role   // what its caller needs
	Summary string // one sentence
	// Changes says that it changes something: each call leaves an audit line.
	Changes bool
	// Stream says that it answers lines, each an Event, the last with its result.
	Stream bool
	// Request and Response are the types of the bodies, the response of a stream that
	// of its result; nil: no JSON.
	Request, Response reflect.Type
	// Media is the type of an answer that is no JSON.
	Media string
	// Query are the parameters that it takes in its address, by what they mean; any
	// other is refused.
	Query map[string]string

	serve func(*Service) http.HandlerFunc
}

// pattern is the route as http.ServeMux has it.
func (r Route) pattern() string {
	if r.Request == nil {
		return "GET " + Prefix + r.Name
	}
	return "POST " + Prefix + r.Name
}

// misplaced refuses parameters in the address of a call that takes none of that
// name: what is asked stands in the body, and a parameter that was passed over
// would widen what was meant: ErrBadRequest.
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

// method is a method of Service with one answer.
type method[Req, Res any] func(*Service, context.Context, Req) (Res, error)

// work is a method of Service that reports while it works.
type work[Req, Res any] func(*Service, context.Context, Req, func(Event)) (Res, error)

// state answers what a request is about as it is now, for audit lines. It holds no
// secrets. Nil: there is nothing before it, and the answer is what is there after.
type state[Req any] func(*Service, context.Context, Req) (any, error)

// asks is a route that changes nothing.
func asks[Req, Res any](name string, role Role, summary string, fn method[Req, Res]) Route {
	return Route{
		Name: name, Role: role, Summary: summary, Request: reflect.TypeFor[Req](), Response: reflect.TypeFor[Res](),
		serve: func(s *Service) http.HandlerFunc {
			return call(func(ctx context.Context, req Req) (Res, error) { return fn(s, ctx, req) })
		},
	}
}

// changes is a route that changes what its state shows: the audit line of a call
// has the state before and after it.
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

// reports is a route that changes nothing and tells how far it is.
func reports[Req, Res any](name string, role Role, summary string, fn work[Req, Res]) Route {
	r := asks[Req, Res](name, role, summary, nil)
	r.Stream = true
	r.serve = func(s *Service) http.HandlerFunc {
		return stream(func(ctx context.Context, req Req, emit func(Event)) (Res, error) { return fn(s, ctx, req, emit) })
	}
	return r
}

// works is a route that changes something and tells how far it is: the audit line
// of a call has its result.
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

// stated is a state for an audit line; one that cannot be read is told as such.
func stated[Req any](s *Service, ctx context.Context, req Req, shown state[Req]) any {
	v, err := shown(s, ctx, req)
	if err != nil {
		e, _ := told(err)
		return e
	}
	return v
}
