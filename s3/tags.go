package s3

import (
	"encoding/xml"
	"strings"
)

// MaxTags is the most tags of an object, as S3 has it.
const MaxTags = 10

// MaxTagDocument is longer than any document of tags that is taken, in bytes.
const MaxTagDocument = 64 << 10

// tagDocument is a document of tags, with all that stands in it once or more.
type tagDocument struct {
	XMLName xml.Name
	Sets    []struct {
		Tags []struct {
			Keys   []string `xml:"Key"`
			Values []string `xml:"Value"`
		} `xml:"Tag"`
	} `xml:"TagSet"`
}

// DocumentTags reads a body that is one set of tags. Of another one those that are there
// would go, or be others than the client's library, a proxy or a log shows. Of two tags
// with one key the first counts.
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

// reservedTags begins the keys of tags that S3 itself sets, in letters of any case.
const reservedTags = "aws:"

// HasReservedTag reports whether one of the tags is of those that no client may set.
func HasReservedTag(tags map[string]string) bool {
	for key := range tags {
		if len(key) >= len(reservedTags) && strings.EqualFold(key[:len(reservedTags)], reservedTags) {
			return true
		}
	}
	return false
}
