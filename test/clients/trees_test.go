package clients

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
)

// noise returns n bytes that follow from the seed and do not compress.
func noise(n int, seed uint64) []byte {
	data := make([]byte, n)
	r := rand.New(rand.NewPCG(seed, 1))
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	return data
}

// file writes a file below the clients' home and returns its path.
func (s *server) file(name string, data []byte) string {
	s.Helper()
	path := s.path(filepath.FromSlash(name))
	s.must(os.MkdirAll(filepath.Dir(path), 0o700))
	s.must(os.WriteFile(path, data, 0o600))
	return path
}

// names of the files in a tree: what file systems allow and S3 has to keep.
var names = []string{
	"plain.txt", "with space.txt", "ünïcödé/日本語.txt", "signs/a+b&c=d,e;f@g!h'(i).txt", "percent/100%25.txt", "deep/1/2/3/4/5/6.txt",
	".hidden", "same/one", "same/two", "same/three",
}

// tree makes a folder of files; those below same/ are identical.
func (s *server) tree(name string) string {
	s.Helper()
	for i, n := range names {
		data := noise(1000+i, uint64(i))
		if filepath.Dir(n) == "same" {
			data = noise(5000, 99)
		}
		s.file(name+"/"+n, data)
	}
	s.file(name+"/empty", nil)
	for i := range 20 {
		s.file(fmt.Sprintf("%s/many/%03d", name, i), noise(100, uint64(1000+i)))
	}
	return s.path(name)
}

// digests maps the files of a folder to what they hold.
func (s *server) digests(root string) map[string]string {
	s.Helper()
	out := map[string]string{}
	s.must(filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		out[filepath.ToSlash(name)] = fmt.Sprintf("%x", sha256.Sum256(data))
		return err
	}))
	return out
}

// same fails unless both folders hold the same files.
func (s *server) same(got, want string) {
	s.Helper()
	have, wanted := s.digests(got), s.digests(want)
	for name, digest := range wanted {
		if have[name] != digest {
			s.Errorf("%s is %.8q in %s, want %.8q", name, have[name], filepath.Base(got), digest)
		}
	}
	for name := range have {
		if _, ok := wanted[name]; !ok {
			s.Errorf("%s is in %s and should not be", name, filepath.Base(got))
		}
	}
}

// equal fails unless the file holds the bytes.
func (s *server) equal(path string, want []byte) {
	s.Helper()
	got, err := os.ReadFile(path)
	s.must(err)
	if !slices.Equal(got, want) {
		s.Errorf("%s came back with %d bytes, want %d, or others", filepath.Base(path), len(got), len(want))
	}
}
