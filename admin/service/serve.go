package service

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

	"github.com/lethe-storage/lethe/admin/api"
)

// pattern is a route for http.ServeMux.
func pattern(r api.Route) string {
	if r.Request == nil {
		return "GET " + api.Prefix + r.Name
	}
	return "POST " + api.Prefix + r.Name
}

// misplaced refuses query parameters that the call does not take: arguments
// belong in the body, and ignoring a parameter could widen the call. It fails
// with ErrBadRequest.
func misplaced(r api.Route, query string) error {
	given, err := url.ParseQuery(query)
	if err != nil {
		return fmt.Errorf("%w: the address: %w", api.ErrBadRequest, err)
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
		api.ErrBadRequest, r.Name, takes, strings.Join(unknown, ", "))
}

// method is a method of Service with one result.
type method[Req, Res any] func(*Service, context.Context, Req) (Res, error)

// work is a method of Service that reports while it works.
type work[Req, Res any] func(*Service, context.Context, Req, func(api.Event)) (Res, error)

// state returns the present state of what a request is about, for audit lines.
// It holds no secrets. If nil, there is no state before, and the result is the
// state after.
type state[Req any] func(*Service, context.Context, Req) (any, error)

// served is how a route is served. Its types and properties are those that the route has
// in package api.
type served struct {
	request, response reflect.Type
	stream, changes   bool
	serve             func(s *Service, route string) http.HandlerFunc
}

// asked serves a route that changes nothing.
func asked[Req, Res any](fn method[Req, Res]) served {
	return served{
		request: reflect.TypeFor[Req](), response: reflect.TypeFor[Res](),
		serve: func(s *Service, _ string) http.HandlerFunc {
			return call(func(ctx context.Context, req Req) (Res, error) { return fn(s, ctx, req) })
		},
	}
}

// changed serves a route that changes something. Its audit lines have the state
// before and after.
func changed[Req, Res any](fn method[Req, Res], shown state[Req]) served {
	r := asked(fn)
	r.changes = true
	r.serve = func(s *Service, route string) http.HandlerFunc {
		return call(func(ctx context.Context, req Req) (Res, error) {
			c := s.begin(ctx, route, req)
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

// reported serves a route that changes nothing and reports progress.
func reported[Req, Res any](fn work[Req, Res]) served {
	return served{
		request: reflect.TypeFor[Req](), response: reflect.TypeFor[Res](), stream: true,
		serve: func(s *Service, _ string) http.HandlerFunc {
			return stream(func(ctx context.Context, req Req, emit func(api.Event)) (Res, error) { return fn(s, ctx, req, emit) })
		},
	}
}

// dry is a request that may ask to change nothing.
type dry interface{ Dry() bool }

// worked serves a route that changes something and reports progress. Its audit
// lines have the result. A dry run is no change, and leaves none.
func worked[Req, Res any](fn work[Req, Res]) served {
	r := reported(fn)
	r.changes = true
	r.serve = func(s *Service, route string) http.HandlerFunc {
		return stream(func(ctx context.Context, req Req, emit func(api.Event)) (Res, error) {
			if d, ok := any(req).(dry); ok && d.Dry() {
				return fn(s, ctx, req, emit)
			}
			c := s.begin(ctx, route, req)
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
