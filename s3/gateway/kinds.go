package gateway

// The kinds of a bucket's documents.
const (
	kindACL       = "acl"
	kindPolicy    = "policy"
	kindCORS      = "cors"
	kindOwnership = "ownership"
	kindTags      = "tags"

	kindPublicAccess = "public-access"
)

// kinds are all of them.
var kinds = []string{kindACL, kindPolicy, kindCORS, kindOwnership, kindTags, kindPublicAccess}
