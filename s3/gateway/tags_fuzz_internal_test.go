package gateway

import (
	"errors"
	"maps"
	"net/url"
	"strings"
	"testing"

	"github.com/versity/versitygw/s3api/utils"
	"github.com/versity/versitygw/s3err"

	"github.com/lethe-storage/lethe/internal/xmltest"
	"github.com/lethe-storage/lethe/s3"
)

// sound checks invariants of an object's tags from any source.
func sound(t *testing.T, text string, tags map[string]string) {
	t.Helper()
	if len(tags) > s3.MaxTags {
		t.Fatalf("%q are %d tags", text, len(tags))
	}
	for key, value := range tags {
		if key == "" || strings.ContainsAny(key+value, "\x00\r\n<&\ufffd") {
			t.Fatalf("%q has the tag %q=%q", text, key, value)
		}
	}
}

// told checks that an error is S3's for a client's fault.
func told(t *testing.T, text string, err error) {
	t.Helper()
	var known s3err.S3Error
	if !errors.As(err, &known) || known.StatusCode() < 400 || known.StatusCode() > 499 {
		t.Fatalf("%q is refused by %v", text, err)
	}
}

// FuzzTagHeader checks that the tags of a header are those that any reader of a
// query finds, each once, and survive writing and reading.
func FuzzTagHeader(f *testing.F) {
	for _, seed := range []string{
		"", "a=b", "a=b&c=d", "a", "a=", "=b", "=", "&&", "a=b&a=c", "a=b&%61=c", "%zz=x", "a=%", "a=%00", "a=b;c=d", "a=b+c", "a=%3C%26", "%C3%A9=%E2%82%AC",
		"a=%FF", "1=&2=&3=&4=&5=&6=&7=&8=&9=&10=", "1&2&3&4&5&6&7&8&9&10&11", strings.Repeat("k", 128) + "=" + strings.Repeat("v", 256), strings.Repeat("k", 129),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		tags, err := tagsOf(&text)
		if err != nil {
			told(t, text, err)
			return
		}
		sound(t, text, tags)
		query, err := url.ParseQuery(text)
		if err != nil || len(query) != len(tags) {
			t.Fatalf("%q has tags %q, and is the query %q: %v", text, tags, query, err)
		}
		long := false
		for key, values := range query {
			if len(values) != 1 || values[0] != tags[key] {
				t.Fatalf("%q has tags %q, and is the query %q", text, tags, query)
			}
			long = long || len(url.QueryEscape(key)) > 128 || len(url.QueryEscape(values[0])) > 256
		}
		if long {
			return // versitygw measures before it decodes
		}
		written := query.Encode()
		if again, err := tagsOf(&written); err != nil || !maps.Equal(again, tags) {
			t.Fatalf("%q has tags %q, written out %q: %q, %v", text, tags, written, again, err)
		}
	})
}

// FuzzTagDocument checks that all readers see the same tags in an accepted
// document: one set, in which each tag has one unique key.
func FuzzTagDocument(f *testing.F) {
	for _, seed := range []string{
		"", "<", "<Tagging/>", "<TagSet/>", "<Tagging><TagSet/></Tagging>", "<Tagging><TagSet/><TagSet/></Tagging>", "<Tagging><TagSet/></Tagging><Tagging/>",
		"<Tagging><TagSet><Tag><Key>a</Key><Value>b</Value></Tag></TagSet></Tagging>", "<Tagging><TagSet><Tag><Key>a</Key></Tag></TagSet></Tagging>",
		"<Tagging><TagSet><Tag><Key>a</Key><Key>c</Key><Value>b</Value></Tag></TagSet></Tagging>", "<Tagging><TagSet><Tag/></TagSet></Tagging>",
		"<Tagging><TagSet><Tag><Key>a</Key><Value>b</Value></Tag><Tag><Key>a</Key><Value>c</Value></Tag></TagSet></Tagging>",
		`<?xml version="1.0"?><Tagging xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><TagSet><Tag><Key>a&amp;</Key><Value><![CDATA[b]]></Value></Tag></TagSet></Tagging>`,
		"<x:Tagging><x:TagSet><y:Tag><y:Key>a<!-- -->b</y:Key><Value>c<d/>e</Value></y:Tag></x:TagSet></x:Tagging>", "<Delete><TagSet/></Delete>",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if _, ok := s3.DocumentTags(body); !ok {
			return
		}
		tags, err := utils.ParseTagging(body, utils.TagLimitObject)
		if err != nil {
			told(t, string(body), err)
			return // refused by versitygw, which reads it first
		}
		sound(t, string(body), tags)
		want, doc := map[string]string{}, xmltest.One(t, body)
		if doc.XMLName.Local != "Tagging" || len(doc.Texts("TagSet")) != 1 {
			t.Fatalf("%q was taken", body)
		}
		for _, set := range doc.Inner {
			for _, tag := range set.Inner {
				if keys, values := tag.Texts("Key"), tag.Texts("Value"); set.XMLName.Local == "TagSet" && tag.XMLName.Local == "Tag" {
					want[strings.Join(keys, "\n")] = strings.Join(values, "\n")
				}
			}
		}
		if !maps.Equal(tags, want) {
			t.Fatalf("%q sets %q, and says %q", body, tags, want)
		}
	})
}
