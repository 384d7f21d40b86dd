// SPDX-License-Identifier: Apache-2.0

package version

import (
	"os"
	"regexp"
	"runtime/debug"
	"testing"
)

func TestText(t *testing.T) {
	revision := debug.BuildSetting{Key: "vcs.revision", Value: "0363db7c33aa0363db7c33aa0363db7c33aa0363"}
	modified := debug.BuildSetting{Key: "vcs.modified", Value: "true"}
	for _, c := range []struct {
		name string
		info debug.BuildInfo
		want string
	}{
		{"nothing known", debug.BuildInfo{}, Number},
		{"go run", debug.BuildInfo{GoVersion: "go1.26.8"}, Number + " (go1.26.8)"},
		{"checkout", debug.BuildInfo{
			GoVersion: "go1.26.8",
			Settings:  []debug.BuildSetting{revision},
		}, Number + " (commit 0363db7c33aa, go1.26.8)"},
		{"changed", debug.BuildInfo{Settings: []debug.BuildSetting{revision, modified}},
			Number + " (commit 0363db7c33aa with changes)"},
	} {
		if got := text(&c.info); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// The newest section of the change log is the one of this version.
func TestChangelog(t *testing.T) {
	data, err := os.ReadFile("../../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^## (\S+) \((\d{4}-\d{2}-\d{2})\)$`).FindAllSubmatch(data, -1)
	if len(m) == 0 || string(m[0][1]) != Number {
		t.Errorf("the first section of CHANGELOG.md is %q, want one of %s with its date", m, Number)
	}
}
