package s3_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestTerraformSuite has Terraform, the program LETHE_TERRAFORM, make a bucket with all
// that belongs to it on "lethe serve", the program LETHE_BINARY, find nothing to change
// then, find it all anew from its name alone, and take it away. LETHE_TERRAFORM_PLUGINS
// is a folder with the provider for AWS, as terraform providers mirror makes it. Without
// the variables it does nothing.
func TestTerraformSuite(t *testing.T) {
	program, plugins := setting(t, "LETHE_TERRAFORM"), setting(t, "LETHE_TERRAFORM_PLUGINS")
	url, key, secret := serveBinary(t, setting(t, "LETHE_BINARY"), t.TempDir())
	plan, err := os.ReadFile("testdata/terraform/main.tf")
	if err != nil {
		t.Fatal(err)
	}
	run := func(dir string, args ...string) string {
		t.Helper()
		cmd := exec.Command(program, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "TF_CLI_CONFIG_FILE=", "TF_IN_AUTOMATION=1", "CHECKPOINT_DISABLE=1",
			"TF_VAR_endpoint="+url, "AWS_ACCESS_KEY_ID="+key, "AWS_SECRET_ACCESS_KEY="+secret)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("terraform %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	begin := func() string {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "main.tf"), plan, 0o600); err != nil {
			t.Fatal(err)
		}
		run(dir, "init", "-no-color", "-input=false", "-plugin-dir="+plugins)
		return dir
	}
	first := begin()
	if out := run(first, "apply", "-no-color", "-input=false", "-auto-approve"); !strings.Contains(out, `body = "world"`) {
		t.Errorf("apply says\n%s", out)
	}
	run(first, "plan", "-no-color", "-input=false", "-detailed-exitcode") // fails if something is to change

	second := begin()
	for _, r := range strings.Fields(run(first, "state", "list")) {
		if name, _, managed := strings.Cut(r, "."); managed && !strings.HasPrefix(r, "data.") && name != "aws_s3_object" {
			run(second, "import", "-no-color", "-input=false", r, "terraformed")
		}
	}
	run(second, "import", "-no-color", "-input=false", "aws_s3_object.o", "terraformed/hello")
	if out := run(second, "plan", "-no-color", "-input=false"); strings.Contains(out, "must be replaced") || strings.Contains(out, "will be created") {
		t.Errorf("what was found anew is to be made again:\n%s", out)
	}
	run(first, "destroy", "-no-color", "-input=false", "-auto-approve")
}
