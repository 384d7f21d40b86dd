// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Profiles beside the directory of jobs count for its jobs, also when they change later; a broken one is left
// out and named, and a job with the name of one that is not there is refused.
func TestProfilesOfDir(t *testing.T) {
	top := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		file := filepath.Join(top, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("jobs.d/a.toml", "url = 'http://a.example/'\nprofile = 'ourwiki'\n")
	d := NewDir(filepath.Join(top, "jobs.d"))
	refused := func() error {
		t.Helper()
		files, err := d.Read()
		if err != nil || len(files) != 1 {
			t.Fatal(files, err)
		}
		return files[0].Err
	}
	if err := refused(); err == nil || !strings.Contains(err.Error(), `a.toml:2:1: profile "ourwiki" is not known`) {
		t.Errorf("without the profile: %v", err)
	}
	write("profiles.d/ourwiki.toml", "left = ['?old']\n")
	write("profiles.d/typo.toml", "lefts = ['?old']\n")
	if err := refused(); err != nil {
		t.Errorf("with the profile: %v", err)
	}
	if b := d.Broken(); len(b) != 1 || !strings.Contains(b[0].Error(), "profile typo: lefts is not known") {
		t.Errorf("broken: %v", b)
	}
	jobs := filepath.Join(top, "jobs.d")
	j, err := NewDir(jobs).ReadFile(filepath.Join(jobs, "a.toml"))
	if err != nil || j.ProfileDigest() == "" {
		t.Fatal(j, err)
	}
	digest := j.ProfileDigest()
	write("profiles.d/ourwiki.toml", "left = ['?older']\n")
	files, err := d.Read()
	if err != nil || files[0].Job == nil || files[0].Job.ProfileDigest() == digest {
		t.Errorf("a profile that changed is not read again: %v", err)
	}
	if err := os.Chmod(ProfilesDir(d.paths[0]), 0o777); err != nil {
		t.Fatal(err)
	}
	err = refused()
	if b := d.Broken(); err == nil || len(b) != 1 || !strings.Contains(b[0].Error(), "chmod o-w") {
		t.Errorf("anybody may write them: %v, %v", err, b)
	}
}
