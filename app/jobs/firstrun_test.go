// SPDX-License-Identifier: Apache-2.0

package jobs

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"mirrord/app/env"
)

// The editor does not read or replace a job file that is a symbolic link: it says where it leads.
func TestEditLinked(t *testing.T) {
	dir := t.TempDir()
	a := &env.App{
		State: func() (string, error) { return filepath.Join(dir, "state"), nil },
		Jobs:  filepath.Join(dir, "jobs"),
		Log:   slog.New(slog.DiscardHandler),
	}
	target, link := filepath.Join(dir, "managed.toml"), filepath.Join(a.Jobs, "one.toml")
	err := errors.Join(os.Mkdir(a.Jobs, 0o755), os.Symlink(target, link),
		os.WriteFile(target, []byte("url = \"https://one.example/\"\n"), 0o644))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.FindJob("one"); err != nil {
		t.Error(err)
	}
	want := link + " is a symbolic link to " + target + ": change it there"
	if _, err := ReadJobText(a, "one"); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if err := SaveEdit(a, JobEdit{Job: "one", Text: []byte("url = \"https://two.example/\"\n")}); err == nil {
		t.Error("the editor replaced it")
	}
}
