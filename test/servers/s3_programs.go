package servers

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// versitygw keeps objects as files of a folder, with their metadata in extended
// attributes.
var versitygw = s3Program{
	need: need{names: []string{"versitygw"}},
	env:  []string{"ROOT_ACCESS_KEY=" + accessKey, "ROOT_SECRET_KEY=" + secretKey},
	args: func(addr, folder string) []string {
		for _, name := range []string{"iam", "versions", "objects"} {
			// A folder that cannot be made is reported by the server.
			_ = os.Mkdir(filepath.Join(folder, name), 0o755)
		}
		return []string{
			"--port", addr, "--region", region, "--quiet", "--keep-alive", "--iam-dir", filepath.Join(folder, "iam"),
			"posix", "--versioning-dir", filepath.Join(folder, "versions"), filepath.Join(folder, "objects"),
		}
	},
}

var minio = s3Program{
	need: need{names: []string{"minio"}, optional: true},
	env:  []string{"MINIO_ROOT_USER=" + accessKey, "MINIO_ROOT_PASSWORD=" + secretKey, "MINIO_BROWSER=off"},
	args: func(addr, folder string) []string {
		return []string{"server", "--address", addr, filepath.Join(folder, "objects")}
	},
}

var seaweed = s3Program{
	need: need{names: []string{"weed"}, optional: true},
	env:  []string{"AWS_ACCESS_KEY_ID=" + accessKey, "AWS_SECRET_ACCESS_KEY=" + secretKey},
	args: func(addr, folder string) []string {
		return []string{"mini", "-dir", folder, "-ip", "127.0.0.1", "-ip.bind", "127.0.0.1", "-s3.port", portOf(addr), "-webdav=false"}
	},
}

// VersityGW answers a versitygw that the tests of this process share.
func VersityGW(t testing.TB) S3 {
	t.Helper()
	path := decide(t, versitygw.need)
	sharedGateway.once.Do(func() { sharedGateway.process, sharedGateway.at, sharedGateway.err = versitygw.start(path) })
	if sharedGateway.err != nil {
		t.Fatal(sharedGateway.err)
	}
	return sharedGateway.at
}

var sharedGateway struct {
	once    sync.Once
	process *process
	at      S3
	err     error
}

// NewVersityGW starts a versitygw that the test may kill, freeze and restart.
func NewVersityGW(t testing.TB) *S3Server {
	t.Helper()
	return versitygw.launch(t)
}

// MinIO starts a MinIO where its binary is found in PATH or .bin; it is never
// required.
func MinIO(t testing.TB) *S3Server {
	t.Helper()
	return minio.launch(t)
}

// SeaweedFS starts a SeaweedFS where its binary, weed, is found in PATH or .bin;
// it is never required.
func SeaweedFS(t testing.TB) *S3Server {
	t.Helper()
	return seaweed.launch(t)
}
