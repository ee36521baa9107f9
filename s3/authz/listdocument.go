package authz

import (
	"bytes"
	"encoding/xml"
	"net/http"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/s3"
)

// schemaInstance is the namespace of the types of grantees.
const schemaInstance = "http://www.w3.org/2001/XMLSchema-instance"

// listDocument is S3's AccessControlPolicy.
type listDocument struct {
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

// malformedList returns S3's error for an invalid document.
func malformedList() error {
	return &s3.Error{
		Code: "MalformedACLError", Status: http.StatusBadRequest,
		Message: "The XML you provided was not well-formed or did not validate against our published schema.",
	}
}

// DocumentGrants reads a document. It cannot change the owner. It fails with an
// s3.Error.
func DocumentGrants(body []byte, owner string) ([]ledger.Grant, error) {
	var doc listDocument
	if err := xml.Unmarshal(body, &doc); err != nil || !s3.WellFormed(body) || doc.List == nil || doc.Owner.ID == "" {
		return nil, malformedList()
	}
	if doc.Owner.ID != owner {
		return nil, InvalidID(doc.Owner.ID)
	}
	if len(doc.List.Grants) > maxGrants {
		return nil, malformedList()
	}
	out := []ledger.Grant{}
	for _, g := range doc.List.Grants {
		if !slices.Contains(permissions, g.Permission) {
			return nil, malformedList()
		}
		kind, who := granteeOf(g.Grantee)
		if who == "" {
			return nil, malformedList()
		}
		grant, err := grantTo(kind, who, g.Permission)
		if err != nil {
			return nil, err
		}
		out = append(out, grant)
	}
	return out, nil
}

// granteeOf returns the kind and the id of a grantee, empty if it has no valid
// kind.
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

// InvalidID returns the error for an account that does not exist.
func InvalidID(id string) error { return s3.InvalidArgument("CanonicalUser/ID", id, "Invalid id") }

// ObjectListXML writes an object's list as S3 does.
func ObjectListXML(owner string, grants []ledger.Grant) []byte {
	b := openList(owner)
	for _, g := range grants {
		b.grant(g, "")
	}
	return b.end()
}

// BucketListXML writes a bucket's list as S3 does. groupID returns the
// additional ID of a group in the gateway's library.
func BucketListXML(list ACL, groupID func(group string) string) []byte {
	b := openList(list.Owner)
	for _, g := range list.Grants {
		b.grant(g, groupID(g.Group))
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
	_ = xml.EscapeText(b, []byte(text)) // a bytes.Buffer does not fail
	b.WriteString("</" + name + ">")
}

// account writes an account. Clients expect a display name, which is the ID
// here.
func (b *listWriter) account(id string) {
	b.element("ID", id)
	b.element("DisplayName", id)
}

func (b *listWriter) grant(g ledger.Grant, groupID string) {
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
