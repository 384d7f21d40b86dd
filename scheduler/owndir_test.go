// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mirrord/job"
)

// In its own directory the daemon reads what a user without an account on the machine may write, and a file
// of the first directory comes before one of its name.
func TestOwnDirectory(t *testing.T) {
	top := t.TempDir()
	etc, own := filepath.Join(top, "etc", "jobs.d"), filepath.Join(top, "state", "jobs.d")
	for _, dir := range []string{etc, filepath.Join(top, "etc", "profiles.d")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	d := NewDir(etc, own)
	write(t, etc, "a.toml", goodJob)
	if files := read(t, d); len(files) != 1 { // there is no other directory yet
		t.Fatalf("%d files", len(files))
	}
	if err := os.MkdirAll(filepath.Join(top, "state", "profiles.d"), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(own, 0o750); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(top, "etc", "profiles.d"), "wiki.toml", "left = ['?old']\n")
	write(t, filepath.Join(top, "state", "profiles.d"), "other.toml", "left = ['?old']\n")
	for name, text := range map[string]string{
		"a":       `url = "https://second.example/"`,
		"good":    "url = \"https://good.example/\"\nprofile = \"wiki\"",
		"profile": "url = \"https://profile.example/\"\nprofile = \"other\"",
		"hook":    "url = \"https://hook.example/\"\nhooks.before = [\"/bin/true\"]",
		"private": `url = "http://127.0.0.1/"`,
		"dir":     "url = \"https://dir.example/\"\npublish.dir = \"/srv/x\"",
	} {
		write(t, own, name+Suffix, text+"\n")
	}
	files, err := d.Read()
	if err != nil {
		t.Fatal(err)
	}
	c := Resolve(files, nil)
	both := filepath.Join(own, "a.toml") + ": there is a job of this name already, from " +
		filepath.Join(etc, "a.toml")
	for name, want := range map[string]string{
		"a":       both,
		"good":    "",
		"profile": `profile "other" is not known`,
		"hook":    "hooks.before: " + job.MachineKey + "; move the file to " + etc,
		"private": "url: " + job.MachineKey,
		"dir":     "publish.dir: " + job.MachineKey,
	} {
		got := strings.Join(c[name].Refused, "\n")
		if (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
		if in := c[name].Job != nil; in != (name == "a" || name == "good") {
			t.Errorf("%s in force: %v", name, in)
		}
		if _, err := d.ReadFile(filepath.Join(own, name+Suffix)); name != "a" && (err == nil) != (want == "") {
			t.Errorf("%s alone: %v", name, err)
		}
	}
	if c["a"].Path != filepath.Join(etc, "a.toml") {
		t.Errorf("a is %s", c["a"].Path)
	}
}
