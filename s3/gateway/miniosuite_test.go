package gateway_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// TestMinioSuite runs minio-go's functional tests, by the program that LETHE_MINIO
// names, against "lethe serve", the program LETHE_BINARY, with access control lists.
// Without the variables it does nothing.
func TestMinioSuite(t *testing.T) {
	program := setting(t, "LETHE_MINIO")
	url, key, secret := serveBinary(t, setting(t, "LETHE_BINARY"), t.TempDir(),
		"LETHE_SERVER_OBJECT_OWNERSHIP="+string(types.ObjectOwnershipBucketOwnerPreferred))
	run := exec.Command(program)
	run.Dir = t.TempDir()
	run.Env = append(os.Environ(), "MINT_MODE=full", "RUN_ON_FAIL=1", "ENABLE_HTTPS=0",
		"SERVER_ENDPOINT="+strings.TrimPrefix(url, "http://"), "ACCESS_KEY="+key, "SECRET_KEY="+secret)
	out, err := run.Output()
	var v verdicts
	for line := range bytes.Lines(out) {
		var told struct{ Name, Status, Error string }
		if json.Unmarshal(line, &told) != nil {
			continue
		}
		name := strings.TrimPrefix(told.Name, "minio-go: ")
		// Some tests run twice under one name, with both kinds of signatures.
		if strings.Contains(told.Error, "x-amz-date") {
			name += "/SigV2"
		}
		// What the suite takes for not applicable; some tests continue all the
		// same.
		v.add(name, strings.Replace(told.Status, "NA", "SKIP", 1))
	}
	if v.count("PASS") < 40 {
		t.Fatalf("the suite broke off: %v\n%s", err, out)
	}
	v.compare(t, "minio")
	v.compareSkips(t, "minio")
}
