package s3

// The kinds of a bucket's documents.
const (
	KindACL       = "acl"
	KindPolicy    = "policy"
	KindCORS      = "cors"
	KindOwnership = "ownership"
	KindTags      = "tags"

	KindPublicAccess = "public-access"
)

// kinds are all of them.
var kinds = []string{KindACL, KindPolicy, KindCORS, KindOwnership, KindTags, KindPublicAccess}
