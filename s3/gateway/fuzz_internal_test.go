package gateway

import (
	"encoding/xml"
	"slices"
	"strings"
	"testing"

	"github.com/versity/versitygw/s3response"

	"github.com/lethe-storage/lethe/internal/xmltest"
	"github.com/lethe-storage/lethe/s3"
)

// FuzzStrictDelete checks that all readers see the same keys in an accepted
// deletion, in the same order, one for each entry.
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
		doc := xmltest.One(t, body)
		var keys, want []string
		for _, o := range acted.Objects {
			keys = append(keys, str(o.Key))
		}
		for _, e := range doc.Inner {
			if e.XMLName.Local == "Object" {
				want = append(want, strings.Join(append(e.Texts("Key"), ""), ""))
			}
		}
		if !slices.Equal(keys, want) {
			t.Fatalf("%q deletes %q, and says %q", body, keys, want)
		}
		if says := doc.Texts("Quiet"); quiet && !slices.ContainsFunc(says, func(s string) bool { return strings.EqualFold(strings.TrimSpace(s), "true") }) {
			t.Fatalf("%q is quiet, and says %q", body, says)
		}
	})
}
