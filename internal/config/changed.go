package config

import "reflect"

// Changed lists the keys that have another value in b than in a, in the order of
// the file.
func Changed(a, b *Config) (keys []string) {
	other := b.leaves()
	for i, l := range a.leaves() {
		if !reflect.DeepEqual(l.value.Interface(), other[i].value.Interface()) {
			keys = append(keys, l.path)
		}
	}
	return keys
}
