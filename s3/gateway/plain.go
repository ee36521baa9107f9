package gateway

import (
	"cmp"
	"errors"
	"net/http"
	"slices"

	"github.com/gofiber/fiber/v3"
	"github.com/valyala/fasthttp"
)

// objectPath is versitygw's route of objects.
const objectPath = "/:bucket/*"

// route leads plain reads and puts of objects to versitygw's handlers of them, which are the last
// of up to twenty: all before them look for a query or a header that plain ones do not have.
func (s *Server) route(app *fiber.App) error {
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPut} {
		var first, last *fiber.Route
		for _, r := range slices.Concat(app.Stack()...) {
			if r.Method == method && r.Path == objectPath {
				first, last = cmp.Or(first, r), r
			}
		}
		if first == nil {
			return errors.New("s3: this version of versitygw has other routes: use the one that go.mod names")
		}
		act := last.Handlers[len(last.Handlers)-1]
		first.Handlers = slices.Concat([]fiber.Handler{func(ctx fiber.Ctx) error {
			if !plain(ctx) {
				return ctx.Next()
			}
			if s.verifier != nil {
				s.verifier.admit(ctx)
			}
			return act(ctx)
		}}, first.Handlers)
	}
	return nil
}

// plain reports whether a request has no query and copies nothing.
func plain(ctx fiber.Ctx) bool {
	_, ok := plainQuery(ctx.Request().URI().QueryArgs())
	return ok && len(ctx.Request().Header.Peek("X-Amz-Copy-Source")) == 0
}

// plainOperations are the names of operations that SDKs put into the query.
var plainOperations = []string{"GetObject", "HeadObject", "PutObject"}

// plainQuery returns the canonical form of a query that says nothing: none, or the name
// of the operation.
func plainQuery(q *fasthttp.Args) (canonical string, ok bool) {
	if q.Len() == 0 {
		return "", true
	}
	name := string(q.Peek("x-id"))
	return "x-id=" + name, q.Len() == 1 && slices.Contains(plainOperations, name)
}
