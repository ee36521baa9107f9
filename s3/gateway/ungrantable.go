package gateway

import (
	"net/http"
	"slices"
	"strings"
)

// S3's access control lists grant what is in its user guide, "Mapping of ACL
// permissions and access policy permissions": listing a bucket, reading,
// writing and deleting objects, and the lists themselves. A bucket's settings,
// its deletion and the holds in it are for policies to allow. versitygw checks
// READ and WRITE there too, so that a writer could set a policy that allows
// everything.

// listedQueries are a bucket's sub-resources that lists can grant, by method.
var listedQueries = map[string][]string{
	http.MethodGet:  {"acl", "location", "uploads", "versioning", "versions"},
	http.MethodPut:  {"acl"},
	http.MethodPost: {"delete"},
}

// ungrantable reports whether the request needs what no list can grant, on the
// bucket that it addresses; a copy only reads its source.
func (r *request) ungrantable() bool {
	if r.web == nil {
		return false
	}
	method, q := r.web.Method(), r.web.Request().URI().QueryArgs()
	if _, key, _ := strings.Cut(strings.TrimPrefix(r.web.Path(), "/"), "/"); key != "" {
		return method == http.MethodPut && (q.Has("legal-hold") || q.Has("retention"))
	}
	switch {
	case method == http.MethodHead:
		return false
	case method == http.MethodDelete, method == http.MethodPut && !q.Has("acl"):
		return true
	}
	for name := range q.All() {
		if _, known := ofBuckets[string(name)]; known && !slices.Contains(listedQueries[method], string(name)) {
			return true
		}
	}
	return false
}
