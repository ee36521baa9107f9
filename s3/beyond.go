package s3

import (
	"net/http"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/versity/versitygw/auth"
)

// What S3's access control lists grant is in its user guide, "Mapping of ACL
// permissions and access policy permissions": listing a bucket, reading, writing and
// deleting what is in it, and the lists themselves. Its settings, its end and the
// holds in it are for policies to allow. versitygw asks for READ and WRITE there too,
// with which whoever may write could make a policy that allows it everything.

// listedQueries are a bucket's sub-resources that lists grant, by method.
var listedQueries = map[string][]string{
	http.MethodGet:  {"acl", "location", "uploads", "versioning", "versions"},
	http.MethodPut:  {"acl"},
	http.MethodPost: {"delete"},
}

// beyondLists says that the request wants of the bucket what no list can grant.
func (r *request) beyondLists(bucket string) bool {
	if r.web == nil || r.web.Params("bucket") != bucket {
		return false // reads the source of a copy
	}
	method, q := r.web.Method(), r.web.Request().URI().QueryArgs()
	if key, ok := strings.CutPrefix(r.web.Path(), "/"+bucket+"/"); ok && key != "" {
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

// ownersAlone leaves of a list what it grants to its owner.
func ownersAlone(list auth.ACL) auth.ACL {
	list.Grantees = slices.DeleteFunc(slices.Clone(list.Grantees), func(g auth.Grantee) bool {
		return g.Type != types.TypeCanonicalUser || g.Access != list.Owner
	})
	return list
}
