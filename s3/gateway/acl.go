package gateway

import (
	"bytes"
	"encoding/xml"
	"net/http"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/valyala/fasthttp"
	"github.com/versity/versitygw/auth"
	"github.com/versity/versitygw/s3err"

	"github.com/lethe-storage/lethe/meta"
	"github.com/lethe-storage/lethe/s3"
)

// The two groups of S3 that can be granted something: everybody, and everybody
// who signs.
const (
	allUsers           = "AllUsers"
	authenticatedUsers = "AuthenticatedUsers"
	groupURI           = "http://acs.amazonaws.com/groups/global/"
	schemaInstance     = "http://www.w3.org/2001/XMLSchema-instance"
)

// maxGrants is how many a list may have, as S3 has it.
const maxGrants = 100

// headerACL names a canned access control list.
const headerACL = "X-Amz-Acl"

// grantHeader grants one permission.
type grantHeader struct {
	name       string
	permission auth.Permission
}

var grantHeaders = []grantHeader{
	{"X-Amz-Grant-Read", auth.PermissionRead},
	{"X-Amz-Grant-Write", auth.PermissionWrite},
	{"X-Amz-Grant-Read-Acp", auth.PermissionReadAcp},
	{"X-Amz-Grant-Write-Acp", auth.PermissionWriteAcp},
	{"X-Amz-Grant-Full-Control", auth.PermissionFullControl},
}

// wish is the access control list that a request asks for, in headers or a
// form.
type wish struct {
	canned types.ObjectCannedACL
	grants []meta.Grant // of headers
}

// wished reads it from a request's headers.
func wished(h *fasthttp.RequestHeader) (w wish, err error) {
	w.canned = types.ObjectCannedACL(h.Peek(headerACL))
	for _, g := range grantHeaders {
		for _, value := range h.PeekAll(g.name) {
			list, err := headerGrants(string(value), g.permission)
			if err != nil {
				return wish{}, err
			}
			w.grants = append(w.grants, list...)
		}
	}
	if w.canned != "" && len(w.grants) > 0 {
		return wish{}, s3err.GetAPIError(s3err.ErrBothCannedAndHeaderGrants)
	}
	return w, nil
}

// wishedByForm reads it from a form's fields. A form's policy covers those alone:
// whoever holds one for a private object must not make it public by a header.
func wishedByForm(h *fasthttp.RequestHeader, fields map[string]string) (wish, error) {
	names := []string{headerACL}
	for _, g := range grantHeaders {
		names = append(names, g.name)
	}
	for _, name := range names {
		if len(h.PeekAll(name)) > 0 {
			return wish{}, s3err.InvalidArgumentError{
				Description:  "A form asks for an access control list in its field acl, which its policy covers, and not in a header.",
				ArgumentName: name, ArgumentValue: string(h.Peek(name)),
			}
		}
	}
	return wish{canned: types.ObjectCannedACL(strings.Clone(fields["acl"]))}, nil
}

// headerGrants reads the grantees of a header: id="..", uri="..", separated by
// commas.
func headerGrants(value string, p auth.Permission) (out []meta.Grant, err error) {
	for part := range strings.SplitSeq(value, ",") {
		kind, who, ok := strings.Cut(strings.TrimSpace(part), "=")
		who = strings.Trim(who, `"`)
		if !ok || who == "" {
			return nil, invalidGrantee(part)
		}
		g, err := grantTo(strings.ToLower(kind), who, p)
		if err != nil {
			return nil, err
		}
		out = append(out, g)
	}
	return out, nil
}

// grantTo makes a grant to an account (id) or a group (uri).
func grantTo(kind, who string, p auth.Permission) (meta.Grant, error) {
	group, ok := strings.CutPrefix(who, groupURI)
	switch {
	case kind == "id":
		return meta.Grant{Account: strings.Clone(who), Permission: string(p)}, nil
	case kind == "uri" && ok && (group == allUsers || group == authenticatedUsers):
		return meta.Grant{Group: strings.Clone(group), Permission: string(p)}, nil
	case kind == "emailaddress":
		return meta.Grant{}, s3err.APIError{
			Code: "UnresolvableGrantByEmailAddress", HTTPStatusCode: http.StatusBadRequest,
			Description: "The e-mail address that you provided does not match any account on record: accounts have none here. Name them by their ID.",
		}
	}
	return meta.Grant{}, invalidGrantee(who)
}

func invalidGrantee(who string) error {
	return s3err.InvalidArgumentError{
		Description:  `A grantee is id="an account", uri="` + groupURI + allUsers + `" or uri="` + groupURI + authenticatedUsers + `".`,
		ArgumentName: "Grantee", ArgumentValue: who,
	}
}

// policyDocument is S3's AccessControlPolicy.
type policyDocument struct {
	XMLName xml.Name     `xml:"AccessControlPolicy"`
	Owner   documentUser `xml:"Owner"`
	List    *struct {
		Grants []struct {
			Grantee    documentUser `xml:"Grantee"`
			Permission string       `xml:"Permission"`
		} `xml:"Grant"`
	} `xml:"AccessControlList"`
}

type documentUser struct {
	Type  string `xml:"http://www.w3.org/2001/XMLSchema-instance type,attr"`
	ID    string `xml:"ID"`
	URI   string `xml:"URI"`
	Email string `xml:"EmailAddress"`
}

// documentGrants reads a document; the object's owner cannot be changed by it.
func documentGrants(body []byte, owner string) ([]meta.Grant, error) {
	var doc policyDocument
	if err := xml.Unmarshal(body, &doc); err != nil || !s3.WellFormed(body) || doc.List == nil || doc.Owner.ID == "" {
		return nil, s3err.GetAPIError(s3err.ErrMalformedACL)
	}
	if doc.Owner.ID != owner {
		return nil, invalidID(doc.Owner.ID)
	}
	if len(doc.List.Grants) > maxGrants {
		return nil, s3err.GetAPIError(s3err.ErrMalformedACL)
	}
	out := []meta.Grant{}
	for _, g := range doc.List.Grants {
		if !slices.ContainsFunc(grantHeaders, func(h grantHeader) bool { return string(h.permission) == g.Permission }) {
			return nil, s3err.GetAPIError(s3err.ErrMalformedACL)
		}
		kind, who := granteeOf(g.Grantee)
		if who == "" {
			return nil, s3err.GetAPIError(s3err.ErrMalformedACL)
		}
		grant, err := grantTo(kind, who, auth.Permission(g.Permission))
		if err != nil {
			return nil, err
		}
		out = append(out, grant)
	}
	return out, nil
}

// granteeOf says how a grantee is named; one of no kind has no name.
func granteeOf(u documentUser) (kind, who string) {
	switch types.Type(u.Type) {
	case types.TypeGroup:
		return "uri", u.URI
	case types.TypeAmazonCustomerByEmail:
		return "emailaddress", u.Email
	case types.TypeCanonicalUser:
		return "id", u.ID
	}
	return "", ""
}

func invalidID(id string) error {
	return s3err.InvalidArgumentError{Description: "Invalid id", ArgumentName: "CanonicalUser/ID", ArgumentValue: id}
}

// canned are the grants of a canned access control list on an object of owner,
// written by writer.
func canned(list types.ObjectCannedACL, owner, writer string) ([]meta.Grant, error) {
	var out []meta.Grant
	everybody := func(group string, permissions ...auth.Permission) {
		for _, p := range permissions {
			out = append(out, meta.Grant{Group: group, Permission: string(p)})
		}
	}
	switch list {
	case types.ObjectCannedACLPrivate, types.ObjectCannedACLBucketOwnerFullControl:
	case types.ObjectCannedACLPublicRead:
		everybody(allUsers, auth.PermissionRead)
	case types.ObjectCannedACLPublicReadWrite:
		everybody(allUsers, auth.PermissionRead, auth.PermissionWrite)
	case types.ObjectCannedACLAuthenticatedRead:
		everybody(authenticatedUsers, auth.PermissionRead)
	case types.ObjectCannedACLBucketOwnerRead, types.ObjectCannedACLAwsExecRead:
		return nil, s3err.GetNotImplementedErr(headerACL, s3err.NmpAdditionalMessage(list))
	default:
		return nil, s3err.GetInvalidArgumentErr(s3err.InvalidArgCannedAcl, string(list))
	}
	for _, who := range slices.Compact([]string{writer, owner}) {
		if who != "" {
			out = append(out, meta.Grant{Account: who, Permission: string(auth.PermissionFullControl)})
		}
	}
	return out, nil
}

// aclXML writes an object's access control list as S3 does.
func aclXML(owner string, grants []meta.Grant) []byte {
	b := openList(owner)
	for _, g := range grants {
		b.grant(g, "")
	}
	return b.end()
}

// bucketListXML writes a bucket's list as S3 does; groups have an ID besides, as
// versitygw's have.
func bucketListXML(list auth.ACL) []byte {
	b := openList(list.Owner)
	for _, g := range list.Grantees {
		b.grant(grantsOf(auth.ACL{Grantees: []auth.Grantee{g}})[0], g.Access)
	}
	return b.end()
}

// listWriter writes an AccessControlPolicy document.
type listWriter struct{ bytes.Buffer }

func openList(owner string) *listWriter {
	b := &listWriter{}
	b.WriteString(xml.Header + `<AccessControlPolicy xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Owner>`)
	b.account(owner)
	b.WriteString("</Owner><AccessControlList>")
	return b
}

func (b *listWriter) element(name, text string) {
	b.WriteString("<" + name + ">")
	_ = xml.EscapeText(b, []byte(text)) // a bytes.Buffer takes everything
	b.WriteString("</" + name + ">")
}

// account names one; it has no name but its ID, and clients look for one.
func (b *listWriter) account(id string) {
	b.element("ID", id)
	b.element("DisplayName", id)
}

func (b *listWriter) grant(g meta.Grant, groupID string) {
	kind := types.TypeCanonicalUser
	if g.Group != "" {
		kind = types.TypeGroup
	}
	b.WriteString(`<Grant><Grantee xmlns:xsi="` + schemaInstance + `" xsi:type="` + string(kind) + `">`)
	switch {
	case g.Group == "":
		b.account(g.Account)
	case groupID != "":
		b.element("ID", groupID)
		fallthrough
	default:
		b.element("URI", groupURI+g.Group)
	}
	b.WriteString("</Grantee>")
	b.element("Permission", g.Permission)
	b.WriteString("</Grant>")
}

func (b *listWriter) end() []byte {
	b.WriteString("</AccessControlList></AccessControlPolicy>")
	return b.Bytes()
}
