package gateway

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gofiber/fiber/v3"
)

// Only the operation that versitygw routes to decides: of several
// sub-resources, and with a copy's source.
func TestOneOperationIsAuthorized(t *testing.T) {
	type decided struct {
		key     string
		settles bool
	}
	const source = "/b/source"
	for _, c := range []struct {
		target, copySource string
		second             decided // the second list that is read
	}{
		{"PUT /b/k?acl", source, decided{"k", true}},
		{"PUT /b/k?acl", "", decided{"k", true}},
		{"PUT /b/k?acl&uploadId=x", source, decided{"k", true}},
		{"PUT /b/k?acl&tagging", source, decided{}},
		{"PUT /b/k?retention", source, decided{}},
		{"PUT /b/k?partNumber=1", source, decided{}},
		{"PUT /b/k?uploadId=x&partNumber=1", source, decided{"source", false}},
		{"PUT /b/k", source, decided{"source", false}},
		{"PUT /b/k", "", decided{}},
		{"PUT /b?acl", source, decided{}},
		{"PUT /b/", source, decided{}},
		{"HEAD /b/k?tagging", "", decided{"k", false}},
		{"GET /b/k?tagging&acl", "", decided{}},
		{"GET /b/k?attributes&uploadId=x", "", decided{"k", false}},
		{"GET /b/k?uploadId=x", "", decided{}},
		{"GET /b/k", source, decided{"k", false}},
		{"DELETE /b/k?acl", "", decided{}},
		{"POST /b/k?acl", "", decided{}},
	} {
		var got decided
		app := fiber.New()
		look := func(ctx fiber.Ctx) error {
			r := request{web: ctx}
			r.decidedBy("b")
			got.key, got.settles = r.decidedBy("b")
			return nil
		}
		app.All("/:bucket", look)
		app.All("/:bucket/*", look)
		method, target, _ := strings.Cut(c.target, " ")
		r := httptest.NewRequestWithContext(t.Context(), method, target, http.NoBody)
		r.Header.Set("X-Amz-Copy-Source", c.copySource)
		resp, err := app.Test(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if got != c.second {
			t.Errorf("%s, source %q: %+v, want %+v", c.target, c.copySource, got, c.second)
		}
	}
}
