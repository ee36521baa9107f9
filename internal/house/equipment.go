package house

import (
	"go/build/constraint"
	"path"
	"slices"
	"strings"
)

// equipment are the folders of test equipment, with their contents. So is a
// folder whose name ends in "test".
var equipment = []string{"bench", "internal/house", "internal/instance", "test"}

// Equipment reports files of the product that import test equipment. A file behind a
// build tag belongs to a build for tests.
func Equipment(files []*File) []Finding {
	var out []Finding
	for _, f := range goFiles(files) {
		if f.IsTest() || isEquipment(f.Dir()) || f.tagged() {
			continue
		}
		for _, spec := range f.Go.Imports {
			to, ours := folder(strings.Trim(spec.Path.Value, `"`))
			if ours && isEquipment(to) {
				out = append(out, f.at(spec, "the product imports %s: give it a hook or an interface, which tests set", to))
			}
		}
	}
	return out
}

func isEquipment(dir string) bool {
	return strings.HasSuffix(path.Base(dir), "test") || slices.ContainsFunc(equipment, func(e string) bool {
		return dir == e || strings.HasPrefix(dir, e+"/")
	})
}

// tagged reports whether the file is left out of a build without tags of ours.
func (f *File) tagged() bool {
	for _, group := range f.Go.Comments {
		for _, c := range group.List {
			if c.Pos() > f.Go.Package || !constraint.IsGoBuild(c.Text) {
				continue
			}
			x, err := constraint.Parse(c.Text)
			return err == nil && !x.Eval(func(tag string) bool { return tag != "failpoints" })
		}
	}
	return false
}
