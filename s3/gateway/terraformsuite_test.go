package gateway_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestTerraformSuite runs Terraform, the program LETHE_TERRAFORM, on "lethe
// serve", the program LETHE_BINARY. Terraform creates a bucket with all its
// resources, finds nothing to change, imports it all by name, and destroys it.
// LETHE_TERRAFORM_PLUGINS is a folder with the provider for AWS, as made by
// terraform providers mirror. Without the variables it does nothing.
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
	run(first, "plan", "-no-color", "-input=false", "-detailed-exitcode") // fails if there are changes

	second, imports, n := begin(), "", 0
	for _, r := range strings.Fields(run(first, "state", "list")) {
		if strings.HasPrefix(r, "data.") {
			continue
		}
		id := "terraformed"
		if strings.HasPrefix(r, "aws_s3_object.") {
			id += "/hello"
		}
		imports += fmt.Sprintf("import {\n  to = %s\n  id = %q\n}\n", r, id)
		n++
	}
	if err := os.WriteFile(filepath.Join(second, "imports.tf"), []byte(imports), 0o600); err != nil {
		t.Fatal(err)
	}
	found := fmt.Sprintf("Plan: %d to import, 0 to add, ", n)
	if out := run(second, "plan", "-no-color", "-input=false"); !strings.Contains(out, found) || !strings.Contains(out, " 0 to destroy.") {
		t.Errorf("it does not say %q of what it finds anew:\n%s", found, out)
	}
	run(first, "destroy", "-no-color", "-input=false", "-auto-approve")
}
