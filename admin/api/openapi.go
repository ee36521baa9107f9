package api

import (
	_ "embed"
	"slices"
)

// openAPI describes the API (OpenAPI 3.1). It is made of the table of routes and
// the types of their bodies: go test ./admin/api -run TestOpenAPI -update
//
//go:embed openapi.json
var openAPI []byte

// OpenAPI returns the description of the API, in JSON.
func OpenAPI() []byte { return slices.Clone(openAPI) }
