package gateway

import (
	"bytes"
	"encoding/xml"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/versity/versitygw/auth"
	"github.com/versity/versitygw/s3response"

	"github.com/lethe-storage/lethe/meta"
	"github.com/lethe-storage/lethe/s3"
)

// element is any XML document, read without knowing what it means.
type element struct {
	XMLName xml.Name
	Text    string    `xml:",chardata"`
	Inner   []element `xml:",any"`
}

// texts are those of all elements of a name, one level below.
func (e element) texts(name string) (out []string) {
	for _, c := range e.Inner {
		if c.XMLName.Local == name {
			out = append(out, c.Text)
		}
	}
	return out
}

// one is a document whose root ends where the bytes do, comments and spaces apart.
func one(t *testing.T, body []byte) (root element) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(body))
	if err := d.Decode(&root); err != nil {
		t.Fatalf("%q was taken: %v", body, err)
	}
	if d.Decode(new(element)) == nil || len(bytes.TrimSpace(body[d.InputOffset():])) > 0 {
		t.Fatalf("%q was taken, with something behind its end", body)
	}
	return root
}

// sameMarkup checks that tags, comments and instructions end where the decoder has
// their ends.
func sameMarkup(t *testing.T, body []byte) {
	t.Helper()
	begin := int64(0)
	for d := xml.NewDecoder(bytes.NewReader(body)); ; {
		token, err := d.Token()
		if err != nil {
			return
		}
		end := d.InputOffset()
		if _, text := token.(xml.CharData); !text && end > begin {
			if n := s3.MarkupLength(body[begin:]); int64(n) != end-begin {
				t.Fatalf("%q: the markup at %d has %d bytes, not %d", body, begin, end-begin, n)
			}
		}
		begin = end
	}
}

// FuzzStrictDelete: a deletion that is taken names the same keys to all who read
// it, in the same order, one for each entry.
func FuzzStrictDelete(f *testing.F) {
	for _, seed := range []string{
		"<Delete><Object><Key>k</Key></Object><Object><Key>l</Key><VersionId>null</VersionId></Object><Quiet>true</Quiet></Delete>",
		`<?xml version="1.0"?><Delete xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Object><Key>a&amp;b</Key></Object></Delete>`,
		"<Delete><Object><Key>k</Key><Key>l</Key></Object></Delete>", "<Delete><Object><Key>k</Key></Object></Delete><Delete/>",
		"<Delete><Object><Key>k</Key></Object></Delete>x", "<Delete><Object><Key>a<b/>c</Key></Object></Delete>", "<Delete/>",
		"<Delete><Object><Key>a<!--x-->c<![CDATA[<Key>]]></Key></Object></Delete>", "<x:Delete><x:Object><y:Key>k</y:Key></x:Object></x:Delete>",
		`<!DOCTYPE x [<!ENTITY e "k">]><Delete><Object><Key>&e;</Key></Object></Delete>`, "<Delete><Object/>x</Delete>",
		"<Delete a='\">' b=\">'>\"><?x '>?><!-- '> --><Object ><Key>k</Key></Object ><Quiet b='/>'/></Delete>",
		"<Delete><Object><Key>k</Key><ETag>e</ETag><Size>1</Size><LastModifiedTime>x</LastModifiedTime></Object></Delete>",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		quiet, ok := s3.CheckDelete(body)
		if !ok {
			return
		}
		var acted s3response.DeleteObjects
		if xml.Unmarshal(body, &acted) != nil {
			return // refused by versitygw, which reads it first
		}
		sameMarkup(t, body)
		doc := one(t, body)
		var keys, want []string
		for _, o := range acted.Objects {
			keys = append(keys, str(o.Key))
		}
		for _, e := range doc.Inner {
			if e.XMLName.Local == "Object" {
				want = append(want, strings.Join(append(e.texts("Key"), ""), ""))
			}
		}
		if !slices.Equal(keys, want) {
			t.Fatalf("%q deletes %q, and says %q", body, keys, want)
		}
		if says := doc.texts("Quiet"); quiet && !slices.ContainsFunc(says, func(s string) bool { return strings.EqualFold(strings.TrimSpace(s), "true") }) {
			t.Fatalf("%q is quiet, and says %q", body, says)
		}
	})
}

// grantSeeds are lists, well and badly formed.
var grantSeeds = []string{
	"", "x", "<AccessControlPolicy>", "<AccessControlPolicy/><AccessControlPolicy/>",
	string(aclXML("owner", []meta.Grant{{Account: "a&b", Permission: "READ"}, {Group: allUsers, Permission: "FULL_CONTROL"}})),
	string(aclXML("other", nil)), string(aclXML("owner", []meta.Grant{{Account: "a", Permission: "ALL"}})) + "x",
	`<AccessControlPolicy><Owner><ID>owner</ID></Owner><AccessControlList><Grant><Grantee><ID>a</ID><URI>b</URI></Grantee><Permission>READ</Permission></Grant></AccessControlList></AccessControlPolicy>`,
}

// FuzzGrants: who is granted something by a list or a header is one account or one
// of two groups, gets a permission that there is, and is the same when the list is
// written out and read again.
func FuzzGrants(f *testing.F) {
	for _, seed := range grantSeeds {
		f.Add([]byte(seed), `id="a", uri="http://acs.amazonaws.com/groups/global/AllUsers"`)
	}
	f.Add([]byte(nil), `ID=a,id="b c",id=`)
	f.Add([]byte(nil), `emailAddress="a@example.com"`)
	f.Fuzz(func(t *testing.T, body []byte, header string) {
		if grants, err := documentGrants(body, "owner"); err == nil {
			checkGrants(t, grants)
			if got := one(t, body).XMLName.Local; got != "AccessControlPolicy" {
				t.Fatalf("a list in <%s>", got)
			}
			again, err := documentGrants(aclXML("owner", grants), "owner")
			if err != nil || !slices.Equal(again, grants) {
				t.Fatalf("%+v is written out as %+v: %v", grants, again, err)
			}
		}
		grants, err := headerGrants(header, auth.PermissionRead)
		if err != nil {
			return
		}
		checkGrants(t, grants)
		if len(grants) != strings.Count(header, ",")+1 {
			t.Fatalf("%q grants %+v", header, grants)
		}
	})
}

func checkGrants(t *testing.T, grants []meta.Grant) {
	t.Helper()
	for _, g := range grants {
		group := g.Group == allUsers || g.Group == authenticatedUsers
		permission := slices.ContainsFunc(grantHeaders, func(h grantHeader) bool { return string(h.permission) == g.Permission })
		if group == (g.Account != "") || g.Group != "" && !group || !permission {
			t.Fatalf("granted: %+v", g)
		}
	}
}

// FuzzPublicAccess: a block that is taken says itself what it blocks, and is the
// same when it is written out and read again.
func FuzzPublicAccess(f *testing.F) {
	for _, seed := range []string{
		"<PublicAccessBlockConfiguration><BlockPublicAcls>true</BlockPublicAcls><RestrictPublicBuckets>1</RestrictPublicBuckets></PublicAccessBlockConfiguration>",
		`<PublicAccessBlockConfiguration xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><IgnorePublicAcls> TRUE </IgnorePublicAcls></PublicAccessBlockConfiguration>`,
		"<PublicAccessBlockConfiguration/>x", "<PublicAccessBlockConfiguration><BlockPublicPolicy>maybe</BlockPublicPolicy></PublicAccessBlockConfiguration>", "", "<x/>",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		block, ok := readPublicAccess(body)
		if !ok {
			return
		}
		doc := one(t, body)
		for name, set := range map[string]bool{
			"BlockPublicAcls": block.BlockPublicAcls, "IgnorePublicAcls": block.IgnorePublicAcls,
			"BlockPublicPolicy": block.BlockPublicPolicy, "RestrictPublicBuckets": block.RestrictPublicBuckets,
		} {
			says := slices.ContainsFunc(doc.texts(name), func(s string) bool {
				v, _ := strconv.ParseBool(strings.TrimSpace(s))
				return v
			})
			if set && !says {
				t.Fatalf("%q sets %s", body, name)
			}
		}
		out, err := xml.Marshal(block)
		if err != nil {
			t.Fatal(err)
		}
		again, ok := readPublicAccess(out)
		if block.XMLName, again.XMLName = (xml.Name{}), (xml.Name{}); !ok || again != block {
			t.Fatalf("%+v is written out as %+v", block, again)
		}
	})
}
