// SPDX-License-Identifier: Apache-2.0

package life_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mirrord/app/env"
	"mirrord/app/jobs"
	"mirrord/app/life"
	"mirrord/testing/apptest"
)

// Jobs in the daemon's own directory are found, checked, edited and renamed as others, and a user who names a
// directory has that only.
func TestOwnJobs(t *testing.T) {
	etc, state := t.TempDir(), t.TempDir()
	a := apptest.BareApp(etc, state)
	own := filepath.Join(state, "jobs.d")
	if err := os.Mkdir(own, 0o750); err != nil {
		t.Fatal(err)
	}
	apptest.Put(t, etc, "one.toml", "url = \"https://one.example/\"\n")
	apptest.Put(t, own, "one.toml", "url = \"https://other.example/\"\n")
	apptest.Put(t, own, "two.toml", "url = \"https://two.example/\"\n")
	all, err := a.NamedJobs(nil)
	if err != nil || len(all) != 2 || all[0].Seeds()[0].Host() != "one.example" {
		t.Fatal(all, err)
	}
	c, err := jobs.Check(t.Context(), a, nil, false)
	if err != nil || len(c.Files) != 3 || !c.Files[0].OK || c.Files[1].OK || !c.Files[2].OK {
		t.Fatalf("%v, %+v", err, c)
	}
	if text := c.Files[1].Text(); !strings.Contains(text, own) || !strings.Contains(text, etc) {
		t.Errorf("two files of one name: %s", text)
	}
	now, err := jobs.ReadJobText(a, "two")
	if err != nil {
		t.Fatal(err)
	}
	edit := jobs.JobEdit{Job: "two", Tag: now.Tag, Text: append(now.Text, "title = \"Two\"\n"...)}
	if err := jobs.SaveEdit(a, edit); err != nil {
		t.Error(err)
	}
	if _, err := life.Rename(t.Context(), a, "two", "one"); err == nil {
		t.Error("a rename to a name that is taken")
	}
	r, err := life.Rename(t.Context(), a, "two", "three")
	if err != nil || r.File != filepath.Join(own, "three.toml") {
		t.Fatal(r, err)
	}
	if j, err := a.FindJob("three"); err != nil || j.Title != "Two" {
		t.Error(j, err)
	}
	_, err = jobs.NewJob(a, "three", []byte("url = \"https://new.example/\"\n"))
	if !errors.Is(err, jobs.ErrJobThere) {
		t.Error(err)
	}
	a.JobsNamed = true
	if _, err := a.FindJob("three"); err == nil {
		t.Error("--jobs names one directory, and the state's is read")
	}
}

// A new job is saved into the daemon's own directory when the other one cannot be written.
func TestNewJobWithoutRights(t *testing.T) {
	closed := t.TempDir()
	if err := os.Chmod(closed, 0o555); err != nil {
		t.Fatal(err)
	}
	a := apptest.BareApp(closed, t.TempDir())
	var made *jobs.NewJobFile
	var bad []jobs.JobFileError
	var err error
	create := func() {
		made, bad, err = jobs.CreateJob(a, jobs.InitRequest{URL: "https://new.example/", Job: "new"}, nil)
	}
	if os.Geteuid() != 0 {
		create()
	} else if uerr := asGuest(t, a, create); uerr != nil { // root may write everywhere
		t.Fatal(uerr)
	}
	if err != nil || len(bad) > 0 {
		t.Fatal(bad, err)
	}
	dir := filepath.Join(apptest.StateOf(t, a), "jobs.d")
	if made.File != filepath.Join(dir, "new.toml") {
		t.Errorf("made %s", made.File)
	}
	if fi, err := os.Stat(dir); err != nil || fi.Mode().Perm() != 0o750 {
		t.Error(fi, err)
	}
	if _, err := a.FindJob("new"); err != nil {
		t.Error(err)
	}
}

// asGuest calls f as a user who owns the state and nothing else.
func asGuest(t *testing.T, a *env.App, f func()) error {
	t.Helper()
	const guest = 65534
	state := apptest.StateOf(t, a)
	if err := os.Chown(state, guest, guest); err != nil {
		return err
	}
	for _, at := range []string{state, a.Jobs} {
		for d := filepath.Dir(at); d != "/" && d != os.TempDir(); d = filepath.Dir(d) {
			if err := os.Chmod(d, 0o755); err != nil {
				return err
			}
		}
	}
	return env.AsUser(env.FileOwner{UID: guest, GID: guest, Groups: []int{guest}}, f)
}
