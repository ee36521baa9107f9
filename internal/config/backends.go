package config

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/lethe-storage/lethe/internal/yamlfile"
)

func (c *Config) validateBackends(p *Problems) {
	p.check(len(c.Backends) > 0, "backends", "there is none; leave the key out for one folder in the data directory")
	names, places := map[string]bool{}, &places{}
	for i, b := range c.Backends {
		key := fmt.Sprintf("backends[%d]", i)
		p.check(nameForm.MatchString(b.Name), key+".name", "%q does not do; use lower-case letters, digits and dashes", yamlfile.Brief(b.Name))
		p.check(!names[b.Name], key+".name", "%q is taken by another backend; give each its own", yamlfile.Brief(b.Name))
		p.check(b.Quota >= 0, key+".quota", "is negative; use none for no limit")
		p.check(b.MultipartStale >= 0 && b.MultipartStale <= c.Reclaim.Grace.MultipartStale, key+".multipart_stale",
			"is %s; use none, or at most reclaim.grace.multipart_stale (%s)", b.MultipartStale, c.Reclaim.Grace.MultipartStale)
		b.Rates.validate(p, key+".rates")
		names[b.Name] = true
		switch b.Kind {
		case "dir":
			c.validateDir(p, key, b, places)
		case "s3":
			b.S3.validate(p, key+".s3")
			p.check(b.Path == "", key+".path", "is of a backend of kind dir; for kind s3 use s3.bucket and s3.prefix")
			places.bucket(p, key, b.S3)
		default:
			p.add(key+".kind", "%q is not known; use dir or s3", yamlfile.Brief(b.Kind))
		}
	}
}

func (c *Config) validateDir(p *Problems, key string, b Backend, taken *places) {
	p.check(b.S3.Bucket == "" && b.S3.Endpoint == "", key+".s3", "is of a backend of kind s3; this one is a dir")
	if b.Path == "" || filepath.Clean(b.Path) == "." {
		p.add(key+".path", "is empty or the data directory itself; name a folder such as blobs")
		return
	}
	p.check(!c.Database.On() || filepath.IsAbs(b.Path), key+".path",
		"%q lies in the data directory of this instance alone; with database.url use kind s3, or the absolute path of a folder that all instances share",
		yamlfile.Brief(b.Path))
	path := filepath.Clean(c.InDataDir(b.Path))
	for _, other := range taken.folders {
		p.check(!within(path, other) && !within(other, path), key+".path",
			"%s lies in the folder of another backend, or around it; keep them apart", yamlfile.Brief(path))
	}
	taken.folders = append(taken.folders, path)
}

// places are those of backends, which must not be nested.
type places struct {
	folders []string
	buckets []S3
}

func (l *places) bucket(p *Problems, key string, s S3) {
	for _, o := range l.buckets {
		same := o.Endpoint == s.Endpoint && o.Bucket == s.Bucket
		p.check(!same || !strings.HasPrefix(o.Prefix, s.Prefix) && !strings.HasPrefix(s.Prefix, o.Prefix), key+".s3.prefix",
			"%q is the place of another backend, or lies within it; keep them apart by bucket or prefix", s.Bucket+"/"+yamlfile.Brief(s.Prefix))
	}
	l.buckets = append(l.buckets, s)
}

// within reports whether path is folder or is in it.
func within(path, folder string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}
