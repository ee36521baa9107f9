package config

import (
	"errors"
	"reflect"
	"testing"
)

// FuzzParse checks that no text crashes the parser, that problems are reported,
// and that a configuration survives writing and reading.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"", Init(), "cache: {size: 1GiB}\n", "backends: [{name: a, kind: dir, path: /x, quota: 5GB}]\n", "server:\n  s3:\n    listen: :0\n",
		"reclaim: {expire: {schedule: {cron: '0 0 * * *', zone: UTC, until: '06:00'}}}\n", "a: &a [*a]\n", "? a\n: b\n", "{", "- -\n", "x: |\n  y\n z",
		"root: {secret: abc}\n", "server: {trusted_proxies: [10.0.0.0/8, ::1]}\n", "%YAML 1.2\n---\ndata_dir: x\n...\n", "data_dir: !!binary x\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Parse("f", data)
		if err != nil {
			if c != nil || !errors.Is(err, ErrInvalid) {
				t.Fatalf("%v, %v", c, err)
			}
			return
		}
		c.Root.Secret, c.Database.URL, c.Redis.URL = Secret{}, Secret{}, Secret{}
		for i := range c.Backends {
			c.Backends[i].S3.SecretKey = Secret{}
		}
		text := printed(t, c)
		again, err := Parse("printed", []byte(text))
		if err != nil || !reflect.DeepEqual(again, c) {
			t.Fatalf("%q is\n%s, which read again is %v\n%+v\n%+v", data, text, err, again, c)
		}
	})
}
