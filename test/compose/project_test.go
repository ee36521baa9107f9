//go:build linux

package compose_test

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// project is a compose file as its format's reference implementation resolves it.
type project struct {
	Services map[string]service `json:"services"`
	Configs  map[string]struct {
		File string `json:"file"`
	} `json:"configs"`
	Secrets map[string]struct {
		File string `json:"file"`
	} `json:"secrets"`
}

type service struct {
	Profiles    []string          `json:"profiles"`
	Build       *struct{}         `json:"build"`
	Image       string            `json:"image"`
	Entrypoint  []string          `json:"entrypoint"`
	Command     []string          `json:"command"`
	Environment map[string]string `json:"environment"`
	ReadOnly    bool              `json:"read_only"`
	CapDrop     []string          `json:"cap_drop"`
	Configs     []mount           `json:"configs"`
	Secrets     []mount           `json:"secrets"`
	Volumes     []mount           `json:"volumes"`
	DependsOn   map[string]struct {
		Condition string `json:"condition"`
	} `json:"depends_on"`
	Healthcheck *struct {
		Test []string `json:"test"`
	} `json:"healthcheck"`
	Ports []struct {
		HostIP    string `json:"host_ip"`
		Published string `json:"published"`
		Target    int    `json:"target"`
	} `json:"ports"`
}

// mount is a file, a folder or a volume at its place in a container.
type mount struct {
	Type   string `json:"type"`
	Source string `json:"source"`
	Target string `json:"target"`
}

// load copies the folder deploy to dir, makes the secrets there as its user would,
// and reads a compose file.
func load(t *testing.T, dir, file string) (p project) {
	t.Helper()
	if err := os.CopyFS(filepath.Join(dir, "deploy"), os.DirFS("../../deploy")); err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(dir, "deploy/compose")
	succeeds(t, exec.Command("sh", filepath.Join(at, "secrets.sh")))
	resolve := exec.Command(os.Getenv("LETHE_COMPOSE"), "-format", "json", file)
	resolve.Dir = at
	if err := json.Unmarshal([]byte(succeeds(t, resolve)), &p); err != nil {
		t.Fatal(err)
	}
	for _, s := range p.Services {
		for n := range s.Configs {
			s.Configs[n].Source = p.Configs[s.Configs[n].Source].File
		}
		for n := range s.Secrets {
			s.Secrets[n].Source = p.Secrets[s.Secrets[n].Source].File
		}
		for n, v := range s.Volumes {
			if v.Type == "volume" {
				s.Volumes[n].Source = filepath.Join(dir, "volumes", v.Source)
			}
		}
	}
	return p
}

// order names the services that are not left out unless asked for, each after those
// that it depends on.
func (p project) order() (out []string) {
	var add func(string)
	add = func(name string) {
		if slices.Contains(out, name) || len(p.Services[name].Profiles) > 0 {
			return
		}
		for _, first := range slices.Sorted(maps.Keys(p.Services[name].DependsOn)) {
			add(first)
		}
		out = append(out, name)
	}
	for _, name := range slices.Sorted(maps.Keys(p.Services)) {
		add(name)
	}
	return out
}

func succeeds(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
	return string(out)
}
