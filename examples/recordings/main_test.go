package main

import (
	"bytes"
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe/examples/recordings/recording"
	"github.com/lethe-storage/lethe/test/servers"
)

// Commands as README.md has them. What is deleted is gone at once for everybody who
// asks, and its files are not.
func TestCommands(t *testing.T) {
	gateway := servers.VersityGW(t)
	for name, value := range map[string]string{
		"RECORDINGS_DATABASE": servers.Postgres(t), "RECORDINGS_S3_ENDPOINT": gateway.Endpoint, "RECORDINGS_S3_BUCKET": "recordings-commands",
		"RECORDINGS_S3_ACCESS_KEY": gateway.Access, "RECORDINGS_S3_SECRET_KEY": gateway.Secret,
	} {
		t.Setenv(name, value)
	}
	for _, c := range []struct {
		command, in, out string
		err              error
	}{
		{command: "migrate"},
		{command: "migrate"},
		{command: "record drive camera", in: "one "},
		{command: "record drive camera", in: "two"},
		{command: "record drive lidar", in: "points"},
		{command: "record walk imu", in: "steps"},
		{command: "list", out: "drive/camera\ndrive/lidar\nwalk/imu\n"},
		{command: "play drive camera", out: "one two"},
		{command: "delete drive camera"},
		{command: "play drive camera", err: recording.ErrNotFound},
		{command: "record drive camera", in: "again"},
		{command: "play drive camera", out: "again"},
		{command: "delete drive"},
		{command: "delete drive", err: recording.ErrNotFound},
		{command: "delete walk imu"},
		{command: "list"},
		{command: "record ../x imu", err: recording.ErrName},
	} {
		var out bytes.Buffer
		err := run(t.Context(), strings.Fields(c.command), strings.NewReader(c.in), &out)
		if !errors.Is(err, c.err) || (err != nil) != (c.err != nil) || out.String() != c.out {
			t.Fatalf("%s: %q, %v; want %q, %v", c.command, out.String(), err, c.out, c.err)
		}
	}
	if err := run(t.Context(), []string{"clean"}, nil, nil); err == nil || !strings.Contains(err.Error(), "use one of") {
		t.Errorf("an unknown command: %v", err)
	}
}

// The application is a program of its own: it imports nothing of this module but its
// own packages.
func TestStandsAlone(t *testing.T) {
	const module, own = "github.com/lethe-storage/lethe", "github.com/lethe-storage/lethe/examples/recordings"
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for path := range strings.Lines(string(out)) {
		if path = strings.TrimSpace(path); strings.HasPrefix(path, module) && !strings.HasPrefix(path, own) {
			t.Errorf("it imports %s", path)
		}
	}
}
