package authz_test

import (
	"slices"
	"testing"

	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/s3/authz"
)

var (
	owners  = ledger.Grant{Account: "owner", Permission: authz.FullControl}
	public  = ledger.Grant{Group: authz.AllUsers, Permission: authz.Read}
	signers = ledger.Grant{Group: authz.AuthenticatedUsers, Permission: authz.Write}
	alices  = ledger.Grant{Account: "alice", Permission: authz.WriteACP}
)

// TestListsAreNarrowed covers the grants of a list under each rule that narrows
// it, or widens it for one requester.
func TestListsAreNarrowed(t *testing.T) {
	list := authz.BucketList("owner", []ledger.Grant{public, owners, alices, signers})
	for name, c := range map[string]struct{ got, want []ledger.Grant }{
		"whole":                {list.Grants, []ledger.Grant{owners, public, alices, signers}},
		"groups first":         {list.GroupsFirst(), []ledger.Grant{public, signers, owners, alices}},
		"owner":                {list.OwnersAlone().Grants, []ledger.Grant{owners}},
		"without groups":       {list.WithoutGroups().Grants, []ledger.Grant{owners, alices}},
		"who may set it":       {list.AsWrite().Grants, []ledger.Grant{owners, {Account: "alice", Permission: authz.Write}}},
		"who signs":            {list.ForRequester("bob").Grants, append(slices.Clone(list.Grants), ledger.Grant{Account: "bob", Permission: authz.Write})},
		"who does not":         {list.ForRequester("").Grants, list.Grants},
		"each once":            {list.With(public, alices).Unique().Grants, list.Grants},
		"object, who signs":    {authz.GrantsFor([]ledger.Grant{signers, public}, "bob"), []ledger.Grant{public, {Account: "bob", Permission: authz.Write}}},
		"object, who does not": {authz.GrantsFor([]ledger.Grant{signers, public}, ""), []ledger.Grant{public}},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%s: %+v, want %+v", name, c.got, c.want)
		}
	}
	if authz.OwnersOnly("owner").Shared() || !list.WithoutGroups().Shared() {
		t.Error("a list is shared by whom else it grants something")
	}
}

// TestKeysAreConfined checks that a key's list bounds its buckets and its
// rights there, whatever else allows it.
func TestKeysAreConfined(t *testing.T) {
	full := ledger.AccessKey{ID: "full", Buckets: []string{"b"}, Settings: true}
	plain := ledger.AccessKey{ID: "plain", Buckets: []string{"b"}}
	reader := ledger.AccessKey{ID: "reader", Buckets: []string{authz.AllBuckets}, ReadOnly: true}
	account := ledger.AccessKey{ID: "account", Buckets: []string{ledger.AccountBuckets}}
	for _, c := range []struct {
		key     ledger.AccessKey
		bucket  string
		decided bool
		most    authz.Access // -1: nothing
	}{
		{full, "b", false, authz.Setting}, {full, "c", true, -1}, {plain, "b", true, authz.Writing},
		{reader, "c", false, authz.Reading}, {account, "c", true, authz.Setting}, {account, "c", false, -1},
	} {
		for _, what := range []authz.Access{authz.Reading, authz.Writing, authz.Setting} {
			if err := authz.KeyMay(c.key, c.bucket, c.decided, what); (err == nil) != (what <= c.most) {
				t.Errorf("%s in %s (decided: %v), access %d: %v", c.key.ID, c.bucket, c.decided, what, err)
			}
		}
	}
}
