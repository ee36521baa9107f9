package authz

import (
	"bytes"
	"encoding/xml"
	"slices"

	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/s3"
)

// PublicAccess is a bucket's public access block. It overrides access control
// lists and policies.
type PublicAccess struct {
	XMLName xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ PublicAccessBlockConfiguration" json:"-"`
	// BlockPublicAcls refuses lists that grant something to a group.
	BlockPublicAcls bool `xml:"BlockPublicAcls" json:"blockAcls,omitempty"`
	// IgnorePublicAcls ignores what lists grant to groups.
	IgnorePublicAcls bool `xml:"IgnorePublicAcls" json:"ignoreAcls,omitempty"`
	// BlockPublicPolicy refuses policies that allow something to everyone.
	BlockPublicPolicy bool `xml:"BlockPublicPolicy" json:"blockPolicy,omitempty"`
	// RestrictPublicBuckets ignores what such a policy allows to others than
	// the bucket's owner.
	RestrictPublicBuckets bool `xml:"RestrictPublicBuckets" json:"restrict,omitempty"`
}

// ParsePublicAccess reads a block, in S3's namespace or none.
func ParsePublicAccess(body []byte) (block PublicAccess, ok bool) {
	d := xml.NewDecoder(bytes.NewReader(body))
	d.DefaultSpace = s3.Namespace
	err := d.Decode(&block)
	return block, err == nil && s3.WellFormed(body)
}

// ToGroups reports whether one of the grants is to a group.
func ToGroups(grants []ledger.Grant) bool {
	return slices.ContainsFunc(grants, func(g ledger.Grant) bool { return g.Group != "" })
}
