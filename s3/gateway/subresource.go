package gateway

import (
	"net/http"
	"slices"

	"github.com/gofiber/fiber/v3"
	"github.com/versity/versitygw/s3err"
)

// verbs are the methods of a sub-resource.
type verbs []string

var (
	reads    = verbs{http.MethodGet}
	settings = verbs{http.MethodGet, http.MethodPut}
	removals = verbs{http.MethodGet, http.MethodPut, http.MethodDelete}
	actions  = verbs{http.MethodPost}
	// absent are those of operations that are not supported.
	absent = verbs{}
)

// The sub-resources of S3's API reference, with the methods that have an
// operation. Any other method would reach the bucket or the object itself: PUT
// of a key's "encryption" would replace the object by the document, and DELETE
// of a bucket's "versioning" the bucket.
var (
	ofBuckets = map[string]verbs{
		"abac": absent, "accelerate": settings, "acl": settings, "analytics": removals, "cors": removals,
		"delete": actions, "encryption": removals, "intelligent-tiering": removals, "inventory": removals,
		"lifecycle": removals, "location": reads, "logging": settings, "metadataConfiguration": absent,
		"metadataInventoryTable": absent, "metadataJournalTable": absent, "metadataTable": absent,
		"metrics": removals, "notification": settings, "object-lock": settings, "ownershipControls": removals,
		"policy": removals, "policyStatus": reads, "publicAccessBlock": removals, "replication": removals,
		"requestPayment": settings, "session": absent, "tagging": removals, "uploads": reads,
		"versioning": settings, "versions": reads, "website": removals,
	}
	ofObjects = map[string]verbs{
		"acl": settings, "attributes": reads, "encryption": absent, "legal-hold": settings, "renameObject": absent,
		"restore": actions, "retention": settings, "select": actions, "tagging": removals, "torrent": absent,
		// versitygw refuses GET, with the reason.
		"uploads": {http.MethodGet, http.MethodPost},
	}
)

// unruly refuses methods that a bucket's lifecycle rules do not have, before
// authentication and any lookup: these routes are ours, and everything else is
// denied there. HEAD of the bucket involves no rules, and scripts call it
// before.
func unruly(ctx fiber.Ctx, req *request) s3err.S3Error {
	if req.event.Bucket == "" || req.event.Key != "" || !ctx.Request().URI().QueryArgs().Has("lifecycle") ||
		slices.Contains(removals, req.event.Method) || req.event.Method == http.MethodHead || req.event.Method == http.MethodOptions {
		return nil
	}
	return s3err.APIError{Code: s3err.GetAPIError(s3err.ErrAccessDenied).Code, HTTPStatusCode: http.StatusForbidden,
		Description: "The lifecycle rules of a bucket can be read with GET, replaced with PUT and removed with DELETE, and with no other method."}
}

// misdirected refuses a method that a sub-resource does not have, before it
// reaches the parent of the sub-resource.
func misdirected(ctx fiber.Ctx, req *request) s3err.S3Error {
	known, kind := ofObjects, s3err.ResourceTypeObject
	switch {
	case req.event.Bucket == "" || req.event.Method == http.MethodHead || req.event.Method == http.MethodOptions:
		return nil
	case req.event.Key == "":
		known, kind = ofBuckets, s3err.ResourceTypeBucket
	}
	for name := range ctx.Request().URI().QueryArgs().All() {
		allowed, ok := known[string(name)]
		switch {
		case !ok || slices.Contains(allowed, req.event.Method):
		case len(allowed) == 0:
			return notKept("S3's operations on %q are not here.", string(name))
		default:
			return s3err.GetMethodNotAllowedErr(req.event.Method, kind, allowed)
		}
	}
	return nil
}
