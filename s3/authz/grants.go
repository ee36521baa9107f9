package authz

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/s3"
)

// The two groups of S3 that can be granted something: everyone, and every
// authenticated account.
const (
	AllUsers           = "AllUsers"
	AuthenticatedUsers = "AuthenticatedUsers"
	groupURI           = "http://acs.amazonaws.com/groups/global/"
)

// The permissions that can be granted.
const (
	FullControl = "FULL_CONTROL"
	Read        = "READ"
	Write       = "WRITE"
	ReadACP     = "READ_ACP"
	WriteACP    = "WRITE_ACP"
)

var permissions = []string{FullControl, Read, Write, ReadACP, WriteACP}

// Canned lists that have no effect here.
var (
	ErrUnknownCanned     = errors.New("authz: no canned access control list has this name")
	ErrUnsupportedCanned = errors.New("authz: this canned access control list is not here")
)

// maxGrants is the most grants of a list, as in S3.
const maxGrants = 100

// HeaderGrants reads the grantees of a header: id="..", uri="..", separated by
// commas. It fails with an s3.Error.
func HeaderGrants(value, permission string) (out []ledger.Grant, err error) {
	for part := range strings.SplitSeq(value, ",") {
		kind, who, ok := strings.Cut(strings.TrimSpace(part), "=")
		who = strings.Trim(who, `"`)
		if !ok || who == "" {
			return nil, invalidGrantee(part)
		}
		g, err := grantTo(strings.ToLower(kind), who, permission)
		if err != nil {
			return nil, err
		}
		out = append(out, g)
	}
	return out, nil
}

// grantTo makes a grant to an account (id) or a group (uri).
func grantTo(kind, who, permission string) (ledger.Grant, error) {
	group, ok := strings.CutPrefix(who, groupURI)
	switch {
	case kind == "id":
		return ledger.Grant{Account: strings.Clone(who), Permission: permission}, nil
	case kind == "uri" && ok && (group == AllUsers || group == AuthenticatedUsers):
		return ledger.Grant{Group: strings.Clone(group), Permission: permission}, nil
	case kind == "emailaddress":
		return ledger.Grant{}, &s3.Error{
			Code: "UnresolvableGrantByEmailAddress", Status: http.StatusBadRequest,
			Message: "The e-mail address that you provided does not match any account on record: accounts have none here. Name them by their ID.",
		}
	}
	return ledger.Grant{}, invalidGrantee(who)
}

func invalidGrantee(who string) error {
	return s3.InvalidArgument("Grantee", who,
		`A grantee is id="an account", uri="`+groupURI+AllUsers+`" or uri="`+groupURI+AuthenticatedUsers+`".`)
}

// Canned returns the grants of a canned access control list on an object of
// owner, written by writer. An empty owner or writer gets no grant.
func Canned(list types.ObjectCannedACL, owner, writer string) ([]ledger.Grant, error) {
	var out []ledger.Grant
	toGroup := func(group string, permissions ...string) {
		for _, p := range permissions {
			out = append(out, ledger.Grant{Group: group, Permission: p})
		}
	}
	switch list {
	case types.ObjectCannedACLPrivate, types.ObjectCannedACLBucketOwnerFullControl:
	case types.ObjectCannedACLPublicRead:
		toGroup(AllUsers, Read)
	case types.ObjectCannedACLPublicReadWrite:
		toGroup(AllUsers, Read, Write)
	case types.ObjectCannedACLAuthenticatedRead:
		toGroup(AuthenticatedUsers, Read)
	case types.ObjectCannedACLBucketOwnerRead, types.ObjectCannedACLAwsExecRead:
		return nil, ErrUnsupportedCanned
	default:
		return nil, ErrUnknownCanned
	}
	for _, who := range slices.Compact([]string{writer, owner}) {
		if who != "" {
			out = append(out, ledger.Grant{Account: who, Permission: FullControl})
		}
	}
	return out, nil
}
