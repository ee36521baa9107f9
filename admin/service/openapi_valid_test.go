package service_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	schema "github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/admin/service"
)

// openAPIFile names the description among the schemas.
const openAPIFile = "openapi.json"

// fields are a JSON object.
type fields = map[string]any

// described are the schemas of the description, in the dialect of OpenAPI 3.1 (JSON
// Schema 2020-12).
type described struct {
	t   *testing.T
	c   *schema.Compiler
	doc fields
}

func newDescribed(t *testing.T) *described {
	t.Helper()
	doc, err := schema.UnmarshalJSON(bytes.NewReader(api.OpenAPI()))
	if err != nil {
		t.Fatal(err)
	}
	c := schema.NewCompiler()
	c.DefaultDraft(schema.Draft2020)
	if err := c.AddResource(openAPIFile, doc); err != nil {
		t.Fatal(err)
	}
	return &described{t, c, doc.(fields)}
}

// at compiles the schema at a place of the description.
func (d *described) at(place ...string) *schema.Schema {
	d.t.Helper()
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	for i, p := range place {
		place[i] = escape.Replace(p)
	}
	s, err := d.c.Compile(openAPIFile + "#/" + strings.Join(place, "/"))
	if err != nil {
		d.t.Fatalf("%v: %v", place, err)
	}
	return s
}

// TestAnswersAreAsDescribed checks that the responses of a server on every
// route, success or not, match the description.
func TestAnswersAreAsDescribed(t *testing.T) {
	srv := httptest.NewServer(service.Handler(newService(t), service.Access{Open: "test"}))
	defer srv.Close()
	d := newDescribed(t)
	for name := range d.doc["components"].(fields)["schemas"].(fields) {
		d.at("components", "schemas", name)
	}
	bodies := map[string]string{
		"tokens/add": `{"name":"watcher","role":"read","ttl":"90d"}`, "keys/add": `{"buckets":["photos"]}`, "backends/hold": `{"id":"main"}`,
	}
	for _, r := range api.Routes() {
		if r.Stream || r.Response == nil || r.Request == nil {
			continue
		}
		for _, body := range []string{"{}", bodies[r.Name]} {
			code, answer := send(t, srv.URL, r.Name, body)
			s := d.at("components", "schemas", "Failure")
			if code == http.StatusOK {
				s = d.at("paths", api.Prefix+r.Name, "post", "responses", "200", "content", "application/json", "schema")
			}
			v, err := schema.UnmarshalJSON(strings.NewReader(answer))
			if err == nil {
				err = s.Validate(v)
			}
			if err != nil {
				t.Errorf("%s answers %d %s: %v", r.Name, code, answer, err)
			}
			if bodies[r.Name] != "" && body != "{}" && code != http.StatusOK {
				t.Errorf("%s: %d %s", r.Name, code, answer)
			}
		}
	}
}
