package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/versity/versitygw/auth"

	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/s3/gateway"
)

// TestVersitygwSuite runs versitygw's integration tests, by the program that
// LETHE_VERSITYGW names, and compares the failures with the list of known ones.
// Without the variable it does nothing.
func TestVersitygwSuite(t *testing.T) {
	program := setting(t, "LETHE_VERSITYGW")
	addr, stop := suiteServer{}.start(t)
	v := fullFlow(t, program, "http://"+addr)
	stop()
	v.compare(t, "versitygw")
}

// TestVersitygwServeSuite runs the same tests against "lethe serve", the
// program LETHE_BINARY, without versitygw's accounts: tests that need them
// fail, too.
func TestVersitygwServeSuite(t *testing.T) {
	program := setting(t, "LETHE_VERSITYGW")
	url, _, _ := serveBinary(t, setting(t, "LETHE_BINARY"), t.TempDir())
	fullFlow(t, program, url).compare(t, "versitygw", "versitygw-serve")
}

// TestVersitygwPosixSuite runs the same tests against versitygw's own posix
// gateway, without versions. Its failures are the reference for the others.
func TestVersitygwPosixSuite(t *testing.T) {
	program := setting(t, "LETHE_VERSITYGW")
	addr := posixGateway(t, program, t.TempDir())
	fullFlow(t, program, "http://"+addr).compare(t, "versitygw-posix")
}

// posixGateway runs versitygw's own gateway on an empty folder until the test
// ends, with the accounts of a folder and more flags.
func posixGateway(t *testing.T, program, accounts string, flags ...string) (addr string) {
	t.Helper()
	_, port, err := net.SplitHostPort(freeAddress(t))
	if err != nil {
		t.Fatal(err)
	}
	addr = "127.0.0.1:" + port
	args := append([]string{"--port", addr, "--iam-dir", accounts, "posix"}, flags...)
	run := exec.Command(program, append(args, t.TempDir())...)
	run.Env = append(os.Environ(), "ROOT_ACCESS_KEY="+suiteRoot.Access, "ROOT_SECRET_KEY="+suiteRoot.Secret)
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = run.Process.Kill()
		_ = run.Wait()
	})
	answers(t, "versitygw", addr)
	return addr
}

// emptyStore is a test that needs a store without buckets. Another one leaves a
// legal hold behind, and so a bucket that cannot be emptied: this one runs
// first, by itself.
const emptyStore = "ListBuckets_empty_success"

// fullFlow runs versitygw's tests against a server.
func fullFlow(t *testing.T, program, url string) (v verdicts) {
	t.Helper()
	first, _ := versitygwTests(program, url, emptyStore)
	v, out := versitygwTests(program, url, "full-flow")
	if v.count("PASS") < 500 {
		t.Fatalf("the suite broke off:\n%s", out)
	}
	v[emptyStore] = first[emptyStore]
	return v
}

// versitygwTests runs a group of versitygw's tests, or one.
func versitygwTests(program, url, group string) (v verdicts, out []byte) {
	run := exec.Command(program, "test", "-a", suiteRoot.Access, "-s", suiteRoot.Secret, "-e", url, group)
	run.Dir = filepath.Dir(program)
	// It exits with an error if a test failed.
	out, err := run.CombinedOutput()
	colour := regexp.MustCompile("\x1b\\[[0-9;]*m")
	for line := range strings.Lines(colour.ReplaceAllString(string(out), "")) {
		verdict, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		name, why, _ := strings.Cut(rest, ":")
		if verdict == "FAIL" && fullStopAlone(why) {
			verdict = "PASS"
		}
		v.add(name, verdict)
	}
	return v, fmt.Appendf(out, "\n%v", err)
}

// fullStopAlone reports whether a test failed only by the full stop after an
// error's text, which S3 does not have and versitygw has.
func fullStopAlone(why string) bool {
	_, texts, _ := strings.Cut(why, "xpected error message to be ")
	want, got, ok := strings.Cut(texts, ", instead got ")
	return ok && want == got+"."
}

// TestS3TestsSuite runs Ceph's s3-tests from the checkout that S3TESTS names:
// the tests of test_s3.py and test_headers.py except those of extensions and of
// other services. They need two accounts and access control lists. LETHE_PYTHON
// is a Python that has what they need. Without S3TESTS it does nothing.
func TestS3TestsSuite(t *testing.T) {
	folder := setting(t, "S3TESTS")
	addr, stop := suiteServer{
		ownership: types.ObjectOwnershipBucketOwnerPreferred,
		accounts:  []auth.Account{suiteAlt},
	}.start(t)
	defer stop()
	s3tests(t, folder, s3testsConf(t, addr, gateway.Credentials{Access: suiteAlt.Access, Secret: suiteAlt.Secret})).compare(t, "s3tests", "s3tests-front")
}

// TestS3TestsServeSuite runs the same tests against "lethe serve", the program
// LETHE_BINARY, with one of its own accounts as the second one. It is
// configured with lists and with an engine that is as fast as the tests expect.
func TestS3TestsServeSuite(t *testing.T) {
	folder, program := setting(t, "S3TESTS"), setting(t, "LETHE_BINARY")
	dir := t.TempDir()
	url, _, _ := serveBinary(t, program, dir, "LETHE_SERVER_OBJECT_OWNERSHIP="+string(types.ObjectOwnershipBucketOwnerPreferred),
		"LETHE_RECLAIM_LIFECYCLE_SCHEDULE=every 1s", "LETHE_RECLAIM_EXPIRE_SCHEDULE=every 1s")
	alt := addAccount(t, program, dir, suiteAlt.Access)
	s3tests(t, folder, s3testsConf(t, strings.TrimPrefix(url, "http://"), alt)).compare(t, "s3tests", "s3tests-serve")
}

// TestS3TestsPosixSuite runs the same tests against versitygw's own posix
// gateway, the program that LETHE_VERSITYGW names, with versions and a second
// account. Its failures are the reference for the others.
func TestS3TestsPosixSuite(t *testing.T) {
	folder, program := setting(t, "S3TESTS"), setting(t, "LETHE_VERSITYGW")
	accounts := t.TempDir()
	service, err := auth.NewInternal(auth.Account{Access: suiteRoot.Access, Secret: suiteRoot.Secret, Role: auth.RoleAdmin}, accounts)
	if err == nil {
		err = service.CreateAccount(suiteAlt)
	}
	if err != nil {
		t.Fatal(err)
	}
	addr := posixGateway(t, program, accounts, "--versioning-dir", t.TempDir())
	alt := gateway.Credentials{Access: suiteAlt.Access, Secret: suiteAlt.Secret}
	s3tests(t, folder, s3testsConf(t, addr, alt)).compare(t, "s3tests-posix")
}

// addAccount creates an account by the command of the program that serves a
// folder.
func addAccount(t *testing.T, program, dir, id string) gateway.Credentials {
	t.Helper()
	out, err := exec.Command(program, "keys", "add", "--data-dir", dir, "--json", "--id", id, "--bucket", ledger.AccountBuckets).Output()
	var key struct{ Secret string }
	if err == nil {
		err = json.Unmarshal(out, &key)
	}
	if err != nil {
		t.Fatalf("lethe keys add: %v", err)
	}
	return gateway.Credentials{Access: id, Secret: key.Secret}
}

// s3testsHolds is a test that leaves a legal hold behind, so that the bucket
// cannot be emptied, which the suite does before each test: it runs last.
const s3testsHolds = "s3tests/functional/test_s3.py::test_object_lock_put_legal_hold_invalid_bucket"

// s3tests runs Ceph's tests from a checkout by a configuration.
func s3tests(t *testing.T, folder, conf string) (v verdicts) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	var all bytes.Buffer
	for _, tests := range [][]string{
		{"--deselect", s3testsHolds, "s3tests/functional/test_s3.py", "s3tests/functional/test_headers.py"}, {s3testsHolds},
	} {
		args := append([]string{"-u", "-m", "pytest", "-v", "--tb=short", "-p", "no:cacheprovider", "-m", s3testsMarks}, tests...)
		run := exec.CommandContext(ctx, setting(t, "LETHE_PYTHON"), args...)
		run.Dir, run.Stdout, run.Stderr = folder, &all, &all
		run.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "S3TEST_CONF="+conf)
		// It ends with an error if a test failed; the results are counted.
		if err := run.Run(); err != nil && run.ProcessState == nil {
			t.Fatal(err)
		}
	}
	for _, m := range regexp.MustCompile(`(?m)::(test_\w+) (PASSED|FAILED|ERROR) +\[`).FindAllStringSubmatch(all.String(), -1) {
		v.add(m[1], m[2])
	}
	if v.count("PASS") < 200 || ctx.Err() != nil {
		t.Fatalf("the suite broke off: %v\n%s", ctx.Err(), &all)
	}
	return v
}

// s3testsMarks excludes what is not S3's object API.
const s3testsMarks = "not lifecycle_transition and not cloud_transition and not cloud_restore and not bucket_logging" +
	" and not s3select and not encryption and not sse_s3 and not bucket_encryption and not s3website and not appendobject" +
	" and not auth_aws2 and not storage_class and not iam_tenant and not iam_account"

// s3testsConf writes the suite's configuration: the root is its main user.
func s3testsConf(t *testing.T, addr string, alt gateway.Credentials) string {
	t.Helper()
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "[DEFAULT]\nhost = %s\nport = %s\nis_secure = False\nssl_verify = False\n"+
		"[fixtures]\nbucket prefix = s3t-{random}-\niam name prefix = s3-tests-\niam path prefix = /s3-tests/\n", host, port)
	for _, s := range []struct{ section, user string }{
		{"s3 main", "main"}, {"s3 alt", "alt"}, {"s3 tenant", "alt"}, {"iam", "main"}, {"iam root", "main"}, {"iam alt root", "alt"},
	} {
		key, secret := suiteRoot.Access, suiteRoot.Secret
		if s.user == "alt" {
			key, secret = alt.Access, alt.Secret
		}
		fmt.Fprintf(&b, "[%s]\ndisplay_name = %s\nuser_id = %s\nemail = %s@example.com\naccess_key = %s\nsecret_key = %s\n"+
			"api_name = us-east-1\nlc_debug_interval = 2\ntenant = testx\n", s.section, key, key, s.user, key, secret)
	}
	path := filepath.Join(t.TempDir(), "s3tests.conf")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestRcloneSuite runs the tests of rclone's S3 backend, compiled into the
// program that LETHE_RCLONE names, against "lethe serve", the program
// LETHE_BINARY. The program's folder is in a copy of rclone's source, where it
// looks for files. Without the variables it does nothing.
func TestRcloneSuite(t *testing.T) {
	program := setting(t, "LETHE_RCLONE")
	addr, key, secret := serveBinary(t, setting(t, "LETHE_BINARY"), t.TempDir())
	run := exec.Command(program, "-remote", "TestS3X:", "-test.run", "^TestIntegration$", "-test.v")
	run.Dir = filepath.Dir(program)
	run.Env = append(os.Environ(), "RCLONE_CONFIG="+os.DevNull, "RCLONE_CONFIG_TESTS3X_TYPE=s3", "RCLONE_CONFIG_TESTS3X_PROVIDER=Other",
		"RCLONE_CONFIG_TESTS3X_ENDPOINT="+addr, "RCLONE_CONFIG_TESTS3X_ACCESS_KEY_ID="+key, "RCLONE_CONFIG_TESTS3X_SECRET_ACCESS_KEY="+secret)
	out, err := run.CombinedOutput()
	var v verdicts
	for _, m := range regexp.MustCompile(`(?m)^\s*--- (PASS|FAIL|SKIP): (\S+)`).FindAllStringSubmatch(string(out), -1) {
		v.add(m[2], m[1])
	}
	if v.count("PASS") < 140 {
		t.Fatalf("the suite broke off: %v\n%s", err, out)
	}
	v.compare(t, "rclone")
	v.compareSkips(t, "rclone")
}

// serveBinary runs "lethe serve" on an empty folder until the test ends, with more
// variables of its environment.
func serveBinary(t *testing.T, program, dir string, env ...string) (url, key, secret string) {
	t.Helper()
	addr := freeAddress(t)
	run := exec.Command(program, "serve", "--data-dir", dir)
	run.Env = append(append(os.Environ(), "LETHE_SERVER_S3_LISTEN="+addr, "LETHE_SERVER_PASTE_LISTEN=off", "LETHE_SERVER_METRICS_LISTEN=off", "LETHE_SERVER_CONSOLE_LISTEN=off",
		"LETHE_ROOT_ACCESS_KEY="+suiteRoot.Access, "LETHE_ROOT_SECRET="+suiteRoot.Secret), env...)
	var log bytes.Buffer
	run.Stderr = &log
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = run.Process.Signal(os.Interrupt)
		if err := run.Wait(); err != nil {
			t.Errorf("lethe serve: %v\n%s", err, &log)
		}
	})
	answers(t, "lethe serve", addr)
	return "http://" + addr, suiteRoot.Access, suiteRoot.Secret
}

// freeAddress returns an address without a listener.
func freeAddress(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	if err := ln.Close(); err != nil {
		t.Fatal(err)
	}
	return addr
}

// answers waits until the address has a listener.
func answers(t *testing.T, what, addr string) {
	t.Helper()
	eventually(t, what, func() bool {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			err = c.Close()
		}
		return err == nil
	})
}
