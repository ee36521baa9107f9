package gateway

import (
	"net/http"
	"slices"
	"strings"
)

// What S3's access control lists grant is in its user guide, "Mapping of ACL
// permissions and access policy permissions": listing a bucket, authz.Reading, authz.Writing and
// deleting what is in it, and the lists themselves. Its settings, its end and the
// holds in it are for policies to allow. versitygw asks for READ and WRITE there too,
// with which whoever may write could make a policy that allows it everything.

// listedQueries are a bucket's sub-resources that lists grant, by method.
var listedQueries = map[string][]string{
	http.MethodGet:  {"acl", "location", "uploads", "versioning", "versions"},
	http.MethodPut:  {"acl"},
	http.MethodPost: {"delete"},
}

// ungrantable says that the request wants what no list can grant, of the bucket that
// it is addressed to; what a copy wants of its source is to read it.
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
