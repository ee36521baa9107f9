package authz_test

import (
	"encoding/xml"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe/internal/xmltest"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/s3/authz"
)

// grantSeeds are valid and invalid lists.
var grantSeeds = []string{
	"", "x", "<AccessControlPolicy>", "<AccessControlPolicy/><AccessControlPolicy/>",
	string(authz.ObjectListXML("owner", []ledger.Grant{{Account: "a&b", Permission: "READ"}, {Group: authz.AllUsers, Permission: "FULL_CONTROL"}})),
	string(authz.ObjectListXML("other", nil)), string(authz.ObjectListXML("owner", []ledger.Grant{{Account: "a", Permission: "ALL"}})) + "x",
	`<AccessControlPolicy><Owner><ID>owner</ID></Owner><AccessControlList><Grant><Grantee><ID>a</ID><URI>b</URI></Grantee><Permission>READ</Permission></Grant></AccessControlList></AccessControlPolicy>`,
}

// FuzzGrants checks that each grantee of an accepted list or header is one
// account or one of two groups, that its permission exists, and that the list
// survives writing and reading.
func FuzzGrants(f *testing.F) {
	for _, seed := range grantSeeds {
		f.Add([]byte(seed), `id="a", uri="http://acs.amazonaws.com/groups/global/AllUsers"`)
	}
	f.Add([]byte(nil), `ID=a,id="b c",id=`)
	f.Add([]byte(nil), `emailAddress="a@example.com"`)
	f.Fuzz(func(t *testing.T, body []byte, header string) {
		if grants, err := authz.DocumentGrants(body, "owner"); err == nil {
			checkGrants(t, grants)
			if got := xmltest.One(t, body).XMLName.Local; got != "AccessControlPolicy" {
				t.Fatalf("a list in <%s>", got)
			}
			again, err := authz.DocumentGrants(authz.ObjectListXML("owner", grants), "owner")
			if err != nil || !slices.Equal(again, grants) {
				t.Fatalf("%+v is written out as %+v: %v", grants, again, err)
			}
		}
		grants, err := authz.HeaderGrants(header, authz.Read)
		if err != nil {
			return
		}
		checkGrants(t, grants)
		if len(grants) != strings.Count(header, ",")+1 {
			t.Fatalf("%q grants %+v", header, grants)
		}
	})
}

func checkGrants(t *testing.T, grants []ledger.Grant) {
	t.Helper()
	for _, g := range grants {
		group := g.Group == authz.AllUsers || g.Group == authz.AuthenticatedUsers
		permission := slices.Contains([]string{authz.FullControl, authz.Read, authz.Write, authz.ReadACP, authz.WriteACP}, g.Permission)
		if group == (g.Account != "") || g.Group != "" && !group || !permission {
			t.Fatalf("granted: %+v", g)
		}
	}
}

// FuzzPublicAccess checks that an accepted block names what it blocks, and
// survives writing and reading.
func FuzzPublicAccess(f *testing.F) {
	for _, seed := range []string{
		"<PublicAccessBlockConfiguration><BlockPublicAcls>true</BlockPublicAcls><RestrictPublicBuckets>1</RestrictPublicBuckets></PublicAccessBlockConfiguration>",
		`<PublicAccessBlockConfiguration xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><IgnorePublicAcls> TRUE </IgnorePublicAcls></PublicAccessBlockConfiguration>`,
		"<PublicAccessBlockConfiguration/>x", "<PublicAccessBlockConfiguration><BlockPublicPolicy>maybe</BlockPublicPolicy></PublicAccessBlockConfiguration>", "", "<x/>",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		block, ok := authz.ParsePublicAccess(body)
		if !ok {
			return
		}
		doc := xmltest.One(t, body)
		for name, set := range map[string]bool{
			"BlockPublicAcls": block.BlockPublicAcls, "IgnorePublicAcls": block.IgnorePublicAcls,
			"BlockPublicPolicy": block.BlockPublicPolicy, "RestrictPublicBuckets": block.RestrictPublicBuckets,
		} {
			says := slices.ContainsFunc(doc.Texts(name), func(s string) bool {
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
		again, ok := authz.ParsePublicAccess(out)
		if block.XMLName, again.XMLName = (xml.Name{}), (xml.Name{}); !ok || again != block {
			t.Fatalf("%+v is written out as %+v", block, again)
		}
	})
}
