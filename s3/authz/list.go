package authz

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/lethe-storage/lethe/ledger"
)

// ACL is an access control list. Its methods return new lists and do not
// change it.
type ACL struct {
	Owner  string
	Grants []ledger.Grant
}

// OwnersOnly returns a list that grants all to its owner, and nothing else.
func OwnersOnly(owner string) ACL {
	return ACL{Owner: owner, Grants: []ledger.Grant{{Account: owner, Permission: FullControl}}}
}

// BucketList returns the list of a bucket, which always includes its owner's
// full control.
func BucketList(owner string, grants []ledger.Grant) ACL {
	out := OwnersOnly(owner)
	for _, g := range grants {
		if g != out.Grants[0] {
			out.Grants = append(out.Grants, g)
		}
	}
	return out
}

// Unique returns the list without repeated grants.
func (l ACL) Unique() ACL {
	var once []ledger.Grant
	for _, g := range l.Grants {
		if !slices.Contains(once, g) {
			once = append(once, g)
		}
	}
	l.Grants = once
	return l
}

// With returns the list with further grants.
func (l ACL) With(grants ...ledger.Grant) ACL {
	l.Grants = append(slices.Clone(l.Grants), grants...)
	return l
}

// ForRequester returns the list with the grants of authenticated accounts given to
// the requester, too.
func (l ACL) ForRequester(requester string) ACL {
	return l.With(asAuthenticated(l.Grants, requester)...)
}

// asAuthenticated returns the grants of authenticated accounts as those of the
// requester. An empty requester is anonymous and gets none.
func asAuthenticated(grants []ledger.Grant, requester string) (out []ledger.Grant) {
	for _, g := range grants {
		if requester != "" && g.Group == AuthenticatedUsers {
			out = append(out, ledger.Grant{Account: requester, Permission: g.Permission})
		}
	}
	return out
}

// OwnersAlone returns what the list grants to its owner.
func (l ACL) OwnersAlone() ACL {
	return l.without(func(g ledger.Grant) bool { return g.Group != "" || g.Account != l.Owner })
}

// Shared reports whether the list grants something to others than its owner.
func (l ACL) Shared() bool { return len(l.OwnersAlone().Grants) < len(l.Grants) }

// WithoutGroups returns what the list grants to accounts.
func (l ACL) WithoutGroups() ACL {
	return l.without(func(g ledger.Grant) bool { return g.Group != "" })
}

// AsWrite returns the grants that allow setting an object's list, as WRITE:
// the gateway's library checks that where S3 requires WRITE_ACP.
func (l ACL) AsWrite() ACL {
	l = l.without(func(g ledger.Grant) bool { return g.Permission != FullControl && g.Permission != WriteACP })
	for i := range l.Grants {
		if l.Grants[i].Permission == WriteACP {
			l.Grants[i].Permission = Write
		}
	}
	return l
}

func (l ACL) without(gone func(ledger.Grant) bool) ACL {
	l.Grants = slices.DeleteFunc(slices.Clone(l.Grants), gone)
	return l
}

// GroupsFirst returns the grants of the list, those to groups first.
func (l ACL) GroupsFirst() []ledger.Grant {
	out := slices.Clone(l.Grants)
	slices.SortStableFunc(out, func(a, b ledger.Grant) int {
		switch {
		case a.Group != "" && b.Group == "":
			return -1
		case a.Group == "" && b.Group != "":
			return 1
		}
		return 0
	})
	return out
}

// GrantsFor returns an object's grants for one requester, empty if
// anonymous. An authenticated requester gets the grants of authenticated
// accounts.
func GrantsFor(grants []ledger.Grant, requester string) (out []ledger.Grant) {
	for _, g := range grants {
		if g.Group == AllUsers || g.Account != "" {
			out = append(out, g)
		}
	}
	return append(out, asAuthenticated(grants, requester)...)
}

// RequestedACL is the access control list that a request specifies, in headers or a
// form.
type RequestedACL struct {
	Canned types.ObjectCannedACL
	Grants []ledger.Grant // of headers
}

// Empty reports whether the request specifies none.
func (w RequestedACL) Empty() bool { return w.Canned == "" && len(w.Grants) == 0 }

// IsDefault reports whether the list is equivalent to the default of a bucket
// without lists, in any notation: clients send back the list that they
// received.
func (w RequestedACL) IsDefault(owner string) bool {
	switch w.Canned {
	case "":
		return len(w.Grants) == 1 && w.Grants[0] == ledger.Grant{Account: owner, Permission: FullControl}
	case types.ObjectCannedACLPrivate, types.ObjectCannedACLBucketOwnerFullControl:
		return len(w.Grants) == 0
	}
	return false
}
