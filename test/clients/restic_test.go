package clients

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// TestRestic backs a folder up, forgets, prunes, and restores: its repository is
// many small objects that are locked, listed, rewritten and deleted all the time.
func TestRestic(t *testing.T) {
	begin(t)
	s := serve(t)
	restic := func(args ...string) {
		t.Helper()
		_, err := command{
			folder: s.home, args: append([]string{program(t, "restic"), "--no-cache", "--quiet"}, args...),
			env: environment(s.home, "AWS_ACCESS_KEY_ID="+s.access, "AWS_SECRET_ACCESS_KEY="+s.secret, "AWS_DEFAULT_REGION=us-east-1",
				"RESTIC_REPOSITORY=s3:"+s.s3+"/"+bucket, "RESTIC_PASSWORD=for a test"),
		}.run()
		s.must(err)
	}
	tree := s.tree("tree")
	s.file("tree/large", noise(20<<20, 3))
	restic("init")
	restic("backup", "tree")
	restic("check", "--read-data")
	before := s.status().Bytes
	s.must(os.Remove(filepath.Join(tree, "large")))
	s.file("tree/plain.txt", noise(3000, 50))
	// restic cannot send metadata, so an idle time comes from the bucket.
	s.lethe("buckets", "set", bucket, "--default-idle", "400d", "--yes")
	restic("backup", "tree")
	restic("forget", "--keep-last", "1", "--prune")
	restic("check", "--read-data")
	snapshot := regexp.MustCompile("snapshots/[0-9a-f]{64}").FindString(s.lethe("ls", "s3://"+bucket, "--recursive"))
	if o := s.explained(snapshot); o.EndedBy != "idle" || o.Idle != "400d" {
		t.Errorf("%s: %+v", snapshot, o)
	}
	s.reclaim()
	s.sound()
	if after := s.status().Bytes; after > before-19<<20 {
		t.Errorf("%d bytes are stored after 20 MiB were forgotten, %d before", after, before)
	}
	restic("restore", "latest", "--target", s.path("restored"))
	s.same(s.path("restored", "tree"), tree)
}
