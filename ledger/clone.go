package ledger

import (
	"maps"
	"slices"
)

// CloneMap returns a copy, nil of an empty map.
func CloneMap[V any](m map[string]V) map[string]V {
	if len(m) == 0 {
		return nil
	}
	return maps.Clone(m)
}

// Clone returns a copy that shares nothing which can be changed. Empty maps and lists are nil.
func (o Object) Clone() Object {
	o.Attrs, o.Tags = o.Attrs.Clone(), CloneMap(o.Tags)
	return o
}

// Clone returns a copy that shares nothing which can be changed. Empty maps and lists are nil.
func (a Attrs) Clone() Attrs {
	a.User, a.Checksums, a.ACL = CloneMap(a.User), CloneMap(a.Checksums), a.ACL.clone()
	if len(a.Parts) == 0 {
		a.Parts = nil
		return a
	}
	a.Parts = slices.Clone(a.Parts)
	for i := range a.Parts {
		a.Parts[i].Checksums = CloneMap(a.Parts[i].Checksums)
	}
	return a
}

func (a *ACL) clone() *ACL {
	if a == nil {
		return nil
	}
	if len(a.Grants) == 0 {
		return &ACL{}
	}
	return &ACL{Grants: slices.Clone(a.Grants)}
}
