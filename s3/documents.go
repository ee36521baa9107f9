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

// Namespace is that of S3's documents in XML.
const Namespace = "http://s3.amazonaws.com/doc/2006-03-01/"
