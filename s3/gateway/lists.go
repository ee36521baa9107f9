package gateway

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/valyala/fasthttp"
	"github.com/versity/versitygw/auth"
	"github.com/versity/versitygw/s3err"

	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/s3/authz"
)

// The groups as versitygw writes them in a bucket's list; it knows the first one.
const (
	versityAllUsers           = "all-users"
	versityAuthenticatedUsers = "authenticated-users"
)

// groupID returns the ID of a group in versitygw's form, empty if it is not a
// group.
func groupID(group string) string {
	switch group {
	case "":
		return ""
	case authz.AuthenticatedUsers:
		return versityAuthenticatedUsers
	}
	return versityAllUsers
}

// parseList reads a bucket's list as versitygw writes it, the stored form.
func parseList(doc []byte) (authz.ACL, error) {
	acl, err := auth.ParseACL(doc)
	list := authz.ACL{Owner: acl.Owner}
	for _, g := range acl.Grantees {
		grant := ledger.Grant{Account: g.Access, Permission: string(g.Permission)}
		switch {
		case g.Type == types.TypeGroup && g.Access == versityAuthenticatedUsers:
			grant.Account, grant.Group = "", authz.AuthenticatedUsers
		case g.Type == types.TypeGroup:
			grant.Account, grant.Group = "", authz.AllUsers
		}
		list.Grants = append(list.Grants, grant)
	}
	return list, err
}

// writeList writes a list in versitygw's form.
func writeList(list authz.ACL) ([]byte, error) {
	acl := auth.ACL{Owner: list.Owner}
	for _, g := range list.Grants {
		to := auth.Grantee{Permission: auth.Permission(g.Permission), Access: g.Account, Type: types.TypeCanonicalUser}
		if g.Group != "" {
			to.Access, to.Type = groupID(g.Group), types.TypeGroup
		}
		acl.Grantees = append(acl.Grantees, to)
	}
	return json.Marshal(acl)
}

// headerACL names a canned access control list.
const headerACL = "X-Amz-Acl"

// grantHeader grants one permission.
type grantHeader struct {
	name       string
	permission string
}

var grantHeaders = []grantHeader{
	{"X-Amz-Grant-Read", authz.Read},
	{"X-Amz-Grant-Write", authz.Write},
	{"X-Amz-Grant-Read-Acp", authz.ReadACP},
	{"X-Amz-Grant-Write-Acp", authz.WriteACP},
	{"X-Amz-Grant-Full-Control", authz.FullControl},
}

// wished reads a wish from a request's headers.
func wished(h *fasthttp.RequestHeader) (w authz.RequestedACL, err error) {
	w.Canned = types.ObjectCannedACL(h.Peek(headerACL))
	for _, g := range grantHeaders {
		for _, value := range h.PeekAll(g.name) {
			list, err := authz.HeaderGrants(string(value), g.permission)
			if err != nil {
				return authz.RequestedACL{}, refusal(err)
			}
			w.Grants = append(w.Grants, list...)
		}
	}
	if w.Canned != "" && len(w.Grants) > 0 {
		return authz.RequestedACL{}, s3err.GetAPIError(s3err.ErrBothCannedAndHeaderGrants)
	}
	return w, nil
}

// wishedByForm reads a wish from a form's fields. A form's policy covers only
// those: with one for a private object, a header must not make it public.
func wishedByForm(h *fasthttp.RequestHeader, fields map[string]string) (authz.RequestedACL, error) {
	names := []string{headerACL}
	for _, g := range grantHeaders {
		names = append(names, g.name)
	}
	for _, name := range names {
		if len(h.PeekAll(name)) > 0 {
			return authz.RequestedACL{}, s3err.InvalidArgumentError{
				Description:  "A form asks for an access control list in its field acl, which its policy covers, and not in a header.",
				ArgumentName: name, ArgumentValue: string(h.Peek(name)),
			}
		}
	}
	return authz.RequestedACL{Canned: types.ObjectCannedACL(strings.Clone(fields["acl"]))}, nil
}

// canned returns the grants of a canned list, or refuses it as versitygw does.
func canned(list types.ObjectCannedACL, owner, writer string) ([]ledger.Grant, error) {
	grants, err := authz.Canned(list, owner, writer)
	switch {
	case errors.Is(err, authz.ErrUnsupportedCanned):
		err = s3err.GetNotImplementedErr(headerACL, s3err.NmpAdditionalMessage(list))
	case errors.Is(err, authz.ErrUnknownCanned):
		err = s3err.GetInvalidArgumentErr(s3err.InvalidArgCannedAcl, string(list))
	}
	return grants, err
}
