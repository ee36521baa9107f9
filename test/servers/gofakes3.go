package servers

import (
	"net/http/httptest"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

// GoFakeS3 starts an S3 server in this process that keeps everything in memory
// and checks no signatures. It ends with the test.
func GoFakeS3(t testing.TB) S3 {
	t.Helper()
	builtin(t)
	server := httptest.NewServer(gofakes3.New(s3mem.New()).Server())
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return S3{Endpoint: server.URL, Access: accessKey, Secret: secretKey, Region: region}
}
