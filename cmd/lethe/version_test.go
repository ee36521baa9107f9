package main

import (
	"runtime/debug"
	"testing"
)

func TestVersionOfABuild(t *testing.T) {
	commit := []debug.BuildSetting{{Key: "vcs.revision", Value: "0123456789abcdef0123456789abcdef01234567"}}
	for _, c := range []struct {
		main     string
		settings []debug.BuildSetting
		want     string
	}{
		{"v0.2.0", commit, "v0.2.0"},
		{"v0.0.0-20250102030405-0123456789ab+dirty", commit, "v0.0.0-20250102030405-0123456789ab+dirty"},
		{"(devel)", commit, "0.1.0-dev+0123456789ab"},
		{"(devel)", nil, "0.1.0-dev"},
		{"", nil, "0.1.0-dev"},
	} {
		info := &debug.BuildInfo{Main: debug.Module{Version: c.main}, Settings: c.settings}
		if got := versionOf(info); got != c.want {
			t.Errorf("a build of %q with %v is %q, want %q", c.main, c.settings, got, c.want)
		}
	}
}
