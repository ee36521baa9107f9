package authz

import (
	"slices"
	"strings"

	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/s3"
)

// AllBuckets in a key's list is every bucket.
const AllBuckets = "*"

// Access is the kind of access that an operation needs to its bucket.
type Access int

// Reading is of anything in the bucket, Writing of its objects. Setting is of
// the bucket's documents, and of the bucket itself.
const (
	Reading Access = iota
	Writing
	Setting
)

// Permits reports whether the key's list includes the bucket.
func Permits(k ledger.AccessKey, bucket string) bool {
	return slices.Contains(k.Buckets, bucket) || slices.Contains(k.Buckets, AllBuckets)
}

// KeyMay refuses what the bucket list of a key does not allow. A key that is an
// account may use further buckets if decided is true: their own list and policy
// decide. It fails with an s3.Error.
func KeyMay(k ledger.AccessKey, bucket string, decided bool, what Access) error {
	switch {
	case !Permits(k, bucket) && !(k.Account() && decided):
		return s3.Denied("Access key %s may not use bucket %q. Its buckets are chosen when the key is made.", k.ID, bucket)
	case what != Reading && k.ReadOnly:
		return s3.Denied("Access key %s may only read.", k.ID)
	case what == Setting && !k.Settings && Permits(k, bucket):
		return s3.Denied("Access key %s was made without the right to change settings of bucket %q, to make or to delete it.", k.ID, bucket)
	}
	return nil
}

// KeyGrants returns the rights of a key in the buckets of its list, as grants.
func KeyGrants(k ledger.AccessKey) (out []ledger.Grant) {
	permissions := []string{FullControl}
	if k.ReadOnly {
		permissions = []string{Read, ReadACP}
	}
	for _, p := range permissions {
		out = append(out, ledger.Grant{Account: k.ID, Permission: p})
	}
	return out
}

// KeyRule returns the rights of a key in a bucket of its list, as a statement
// of the bucket's policy: a policy makes grants ineffective.
func KeyRule(bucket string, k ledger.AccessKey) PolicyStatement {
	return PolicyStatement{
		Allow: true, Principals: map[string]struct{}{k.ID: {}},
		Actions: ActionsThat(func(a Action) bool {
			return !k.ReadOnly || strings.HasPrefix(string(a), "s3:Get") || strings.HasPrefix(string(a), "s3:List")
		}),
		Resources: []Pattern{PatternOf(bucket), PatternOf(bucket + "/*")},
	}
}
