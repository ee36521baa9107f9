package authz_test

import (
	"slices"
	"testing"

	"github.com/lethe-storage/lethe/meta"
	"github.com/lethe-storage/lethe/s3/authz"
)

var (
	owners  = meta.Grant{Account: "owner", Permission: authz.FullControl}
	public  = meta.Grant{Group: authz.AllUsers, Permission: authz.Read}
	signers = meta.Grant{Group: authz.AuthenticatedUsers, Permission: authz.Write}
	alices  = meta.Grant{Account: "alice", Permission: authz.WriteACP}
)

// TestListsAreNarrowed: what a list grants under each of the rules that narrow it, or
// that widen it for one requester.
func TestListsAreNarrowed(t *testing.T) {
	list := authz.BucketList("owner", []meta.Grant{public, owners, alices, signers})
	for name, c := range map[string]struct{ got, want []meta.Grant }{
		"whole":                {list.Grants, []meta.Grant{owners, public, alices, signers}},
		"groups first":         {list.GroupsFirst(), []meta.Grant{public, signers, owners, alices}},
		"owner":                {list.OwnersAlone().Grants, []meta.Grant{owners}},
		"without groups":       {list.WithoutGroups().Grants, []meta.Grant{owners, alices}},
		"who may set it":       {list.Settling().Grants, []meta.Grant{owners, {Account: "alice", Permission: authz.Write}}},
		"who signs":            {list.Admitting("bob").Grants, append(slices.Clone(list.Grants), meta.Grant{Account: "bob", Permission: authz.Write})},
		"who does not":         {list.Admitting("").Grants, list.Grants},
		"each once":            {list.With(public, alices).Once().Grants, list.Grants},
		"object, who signs":    {authz.ForRequester([]meta.Grant{signers, public}, "bob"), []meta.Grant{{Account: "bob", Permission: authz.Write}, public}},
		"object, who does not": {authz.ForRequester([]meta.Grant{signers, public}, ""), []meta.Grant{public}},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%s: %+v, want %+v", name, c.got, c.want)
		}
	}
	if authz.OwnersOnly("owner").Shared() || !list.WithoutGroups().Shared() {
		t.Error("a list is shared by whom else it grants something")
	}
}

// TestKeysAreConfined: which buckets a key may use is in its list, and what it may do
// there, whatever else allows it.
func TestKeysAreConfined(t *testing.T) {
	full := meta.AccessKey{ID: "full", Buckets: []string{"b"}, Settings: true}
	plain := meta.AccessKey{ID: "plain", Buckets: []string{"b"}}
	reader := meta.AccessKey{ID: "reader", Buckets: []string{authz.AllBuckets}, ReadOnly: true}
	account := meta.AccessKey{ID: "account", Buckets: []string{meta.AccountBuckets}}
	for _, c := range []struct {
		key     meta.AccessKey
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
