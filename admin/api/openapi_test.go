package api_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/invopop/jsonschema"

	"github.com/lethe-storage/lethe/admin/api"
)

var update = flag.Bool("update", false, "write openapi.json")

const openAPIFile = "openapi.json"

// fields are a JSON object that is written with its names in order.
type fields = map[string]any

// TestOpenAPI compares the description with the table of routes and the types
// of their bodies.
func TestOpenAPI(t *testing.T) {
	want := describe(t)
	if *update {
		if err := os.WriteFile(openAPIFile, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(openAPIFile)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, have) {
		t.Error("admin/api/openapi.json is not what the routes say: go test ./admin/api -run TestOpenAPI -update")
	}
}

// describe returns the description of the table of routes.
func describe(t *testing.T) []byte {
	t.Helper()
	s := newSchemas(t)
	paths := fields{}
	for _, r := range api.Routes() {
		method := "post"
		if r.Request == nil {
			method = "get"
		}
		paths[api.Prefix+r.Name] = fields{method: s.operation(r)}
	}
	s.of(reflect.TypeFor[api.Event]())
	s.defs["Failure"] = fields{"type": "object", "required": []string{"error"}, "additionalProperties": false,
		"properties": fields{"error": s.of(reflect.TypeFor[api.Error]())}}
	text, err := json.MarshalIndent(fields{
		"openapi": "3.1.0",
		"info": fields{"title": "Lethe admin API", "version": "1", "license": fields{"name": "Apache-2.0", "identifier": "Apache-2.0"},
			"description": "What operators ask and do. See docs/admin.md."},
		"servers":    []fields{{"url": "/"}},
		"security":   []fields{{"token": []string{}}, {}},
		"paths":      paths,
		"components": fields{"schemas": s.defs, "responses": s.failures(), "securitySchemes": fields{"token": fields{"type": "http", "scheme": "bearer", "description": "A token of \"lethe token add\"; through the socket none is needed."}}},
	}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(text, '\n')
}

// schemas collects the schemas of types by name.
type schemas struct {
	t    *testing.T
	r    *jsonschema.Reflector
	defs fields
}

func newSchemas(t *testing.T) *schemas {
	r := &jsonschema.Reflector{Anonymous: true, Namer: func(t reflect.Type) string {
		if pkg := path.Base(t.PkgPath()); pkg != "api" && t.Name() != "" {
			return strings.ToUpper(pkg[:1]) + pkg[1:] + t.Name()
		}
		return t.Name()
	}}
	// It takes the folder's path for the end of the package's.
	t.Chdir("../..")
	for _, room := range []string{"admin/api", "ledger", "cache", "receipt", "reclaim/plan"} {
		if err := r.AddGoComments("github.com/lethe-storage/lethe", room, jsonschema.WithFullComment()); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir("admin/api")
	return &schemas{t, r, fields{}}
}

// of adds the schemas that a type needs, and returns its own.
func (s *schemas) of(t reflect.Type) any {
	s.t.Helper()
	text, err := json.Marshal(s.r.ReflectFromType(t))
	if err != nil {
		s.t.Fatal(err)
	}
	text = bytes.ReplaceAll(text, []byte("#/$defs/"), []byte("#/components/schemas/"))
	var one fields
	if err := json.Unmarshal(text, &one); err != nil {
		s.t.Fatal(err)
	}
	defs, _ := one["$defs"].(fields)
	for name, def := range defs {
		if old, known := s.defs[name]; known && !reflect.DeepEqual(old, def) {
			s.t.Fatalf("two types are called %s", name)
		}
		s.defs[name] = def
	}
	delete(one, "$defs")
	delete(one, "$schema")
	return one
}

func (s *schemas) operation(r api.Route) fields {
	about := fmt.Sprintf("Needs the role `%s`.", r.Role)
	if r.Changes {
		about += " Leaves an audit line."
	}
	answer := fields{"description": "Done."}
	switch {
	case r.Stream:
		answer["description"] = "Lines of JSON, each an Event: progress and findings, and last the result, of the schema x-result, or the error."
		answer["content"] = fields{"application/x-ndjson": fields{"schema": s.of(reflect.TypeFor[api.Event]()), "x-result": s.of(r.Response)}}
	case r.Response != nil:
		answer["content"] = fields{"application/json": fields{"schema": s.of(r.Response)}}
	case r.Media == "application/json":
		answer["content"] = fields{r.Media: fields{"schema": fields{"type": "object"}}}
	default:
		answer["content"] = fields{r.Media: fields{}}
	}
	out := fields{
		"operationId": strings.ReplaceAll(strings.ReplaceAll(r.Name, "/", "-"), ".", "-"), "summary": r.Summary, "description": about,
		"tags": []string{strings.Split(r.Name, "/")[0]}, "x-role": r.Role, "x-audited": r.Changes,
		"responses": fields{"200": answer, "401": ref("Refused"), "403": ref("Refused"), "429": ref("Refused"), "default": ref("Failed")},
	}
	if len(r.Query) > 0 {
		var list []fields
		for _, name := range slices.Sorted(maps.Keys(r.Query)) {
			list = append(list, fields{"name": name, "in": "query", "description": r.Query[name], "schema": fields{"type": "string"}})
		}
		out["parameters"] = list
	}
	if r.Request != nil {
		out["requestBody"] = fields{"required": false, "content": fields{"application/json": fields{"schema": s.of(r.Request)}}}
	}
	return out
}

func ref(response string) fields { return fields{"$ref": "#/components/responses/" + response} }

func (s *schemas) failures() fields {
	body := fields{"application/json": fields{"schema": fields{"$ref": "#/components/schemas/Failure"}}}
	return fields{
		"Refused": fields{"description": "The caller is not known, may not do this, or failed too often.", "content": body},
		"Failed":  fields{"description": "It was not done; the code says why.", "content": body},
	}
}
