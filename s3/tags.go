package s3

import (
	"encoding/xml"
	"strings"
)

// MaxTags is the most tags of an object, as in S3.
const MaxTags = 10

// MaxTagDocument bounds a document of tags, in bytes.
const MaxTagDocument = 64 << 10

// tagDocument is a document of tags, with elements that may be repeated by
// mistake.
type tagDocument struct {
	XMLName xml.Name
	Sets    []struct {
		Tags []struct {
			Keys   []string `xml:"Key"`
			Values []string `xml:"Value"`
		} `xml:"Tag"`
	} `xml:"TagSet"`
}

// DocumentTags reads a body that is exactly one set of tags. Lenient readers of
// another body would drop the existing tags, or set others than a client's
// library, a proxy or a log shows. Of two tags with one key the first counts.
func DocumentTags(body []byte) (tags map[string]string, ok bool) {
	var doc tagDocument
	if !WellFormed(body) || xml.Unmarshal(body, &doc) != nil || doc.XMLName.Local != "Tagging" || len(doc.Sets) != 1 {
		return nil, false
	}
	tags = map[string]string{}
	for _, t := range doc.Sets[0].Tags {
		if len(t.Keys) != 1 || len(t.Values) > 1 {
			return nil, false
		}
		if _, again := tags[t.Keys[0]]; !again {
			tags[t.Keys[0]] = strings.Join(t.Values, "")
		}
	}
	return tags, true
}

// reservedTags is the prefix of tags that only S3 sets, in any case of letters.
const reservedTags = "aws:"

// HasReservedTag reports whether a tag has the reserved prefix.
func HasReservedTag(tags map[string]string) bool {
	for key := range tags {
		if len(key) >= len(reservedTags) && strings.EqualFold(key[:len(reservedTags)], reservedTags) {
			return true
		}
	}
	return false
}
