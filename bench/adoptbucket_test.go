package bench_test

import (
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/lethe-storage/lethe/blob/s3blob"
	"github.com/lethe-storage/lethe/test/servers"
)

var adoptS3 = flag.Bool("adopt.s3", false, "TestAdopt deletes real objects of an S3 server, instead of counting them only")

// objects is the folder of the bucket's objects: versitygw keeps each as a file.
func (p *pastes) objects() string {
	return filepath.Join(p.gateway.Path(p.bucketName, "content"))
}

// fillBucket puts an object of 200 bytes in the bucket for each content.
func (p *pastes) fillBucket() {
	if !*adoptS3 {
		return
	}
	t := p.t
	t.Helper()
	p.gateway = servers.NewVersityGW(t)
	p.bucketName = p.gateway.Bucket(t)
	if err := os.Mkdir(p.objects(), 0o700); err != nil {
		t.Fatal(err)
	}
	rows, err := p.db.Query(t.Context(), "SELECT object_key FROM content")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	body := make([]byte, 200)
	for rows.Next() {
		var key string
		if err := rows.Scan(&key); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p.gateway.Path(p.bucketName, key), body, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	faults := servers.Proxy(t, p.gateway.Addr)
	faults.Latency(*adoptDelay, 0)
	p.bucket.store, err = s3blob.Open(t.Context(), s3blob.Options{
		Endpoint: faults.Via(p.gateway.Endpoint), Region: p.gateway.Region, Bucket: p.bucketName, Foreign: true,
		AccessKey: p.gateway.Access, SecretKey: p.gateway.Secret, PathStyle: true,
	})
	if err != nil {
		t.Fatal(err)
	}
}

// emptied demands that the bucket has no object any more.
func (p *pastes) emptied() {
	if !*adoptS3 {
		return
	}
	p.t.Helper()
	left := 0
	err := filepath.WalkDir(p.objects(), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && !strings.Contains(path, "/.lethe/") {
			left++
		}
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		p.t.Fatal(err)
	}
	if left > 0 {
		p.t.Errorf("%d objects are left", left)
	}
}
