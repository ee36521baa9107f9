package admin

import (
	_ "embed"
	"net/http"
)

// openAPI describes the API (OpenAPI 3.1). It is made of the table of routes and
// the types of their bodies: go test ./admin -run TestOpenAPI -update
//
//go:embed openapi.json
var openAPI []byte

func openAPIRoutes() []Route {
	return []Route{{
		Name: "openapi.json", Role: Read, Summary: "This API, in OpenAPI 3.1", Media: "application/json",
		serve: func(*Service) http.HandlerFunc {
			return func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				// A client that has disconnected needs no response.
				_, _ = w.Write(openAPI)
			}
		},
	}}
}
