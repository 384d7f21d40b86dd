// SPDX-License-Identifier: Apache-2.0

package jobs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mirrord/app/jobs"
	"mirrord/scheduler"
	"mirrord/testing/apptest"
)

// check names what the daemon's user will not get at, as root too: with the rights of the state's owner.
func TestCheckLooksAsTheDaemonsUser(t *testing.T) {
	base := t.TempDir()
	jobList, state := filepath.Join(base, "jobs"), filepath.Join(base, "state")
	closed := filepath.Join(base, "closed")
	for _, d := range []string{jobList, state, closed} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	file := func(path, text string, mode os.FileMode) string {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	secret := file(filepath.Join(base, "secret"), "hush\n", 0o600)
	empty := file(filepath.Join(base, "empty"), "\n", 0o644)
	who := "daemon's"
	if os.Geteuid() == 0 { // the state belongs to a user who may not read root's files
		if err := os.Chown(state, 65534, 65534); err != nil {
			t.Fatal(err)
		}
		for d := base; d != "/" && d != os.TempDir(); d = filepath.Dir(d) {
			if err := os.Chmod(d, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		who = "root's"
	} else if err := os.Chmod(secret, 0); err != nil {
		t.Fatal(err)
	} else if err := os.Chmod(closed, 0o555); err != nil {
		t.Fatal(err)
	}
	file(filepath.Join(jobList, "a.toml"), `url = "https://a.example/"
[auth]
user = "me"
password_file = "`+secret+`"
headers = { Authorization = { env = "NOT_SET" } }
[tls]
ca_file = "`+base+`/none.pem"
[publish]
dir = "`+closed+`/www"
`, 0o644)
	file(filepath.Join(jobList, "b.toml"), `url = "https://b.example/"
tls.ca_file = "`+empty+`"
publish.dir = "`+empty+`"
`, 0o644)
	file(filepath.Join(jobList, "c.conf"), "", 0o644)
	checked, err := jobs.Check(t.Context(), apptest.BareApp(jobList, state), nil, false)
	if err != nil {
		t.Fatal(err)
	}
	for i, wants := range [][]string{
		{"variable NOT_SET is not set", "may not read " + secret, "no file " + base + "/none.pem",
			"may not write into " + closed},
		{"is empty", "exists and is not a symbolic link; move it away"},
		{"not read: a job file is named NAME.toml"},
	} {
		f := checked.Files[i]
		if !f.OK {
			t.Errorf("%s is refused: %v", f.File, f.Err)
		}
		for _, want := range wants {
			if !strings.Contains(strings.Join(f.Warnings, "\n"), want) {
				t.Errorf("%s (%s files): no %q in\n%s", f.File, who, want, strings.Join(f.Warnings, "\n"))
			}
		}
	}
}

// Of two jobs that cannot go together check refuses the one that the daemon refuses: the one not in force.
func TestCheckRefusesTheNewOne(t *testing.T) {
	base := t.TempDir()
	a := apptest.BareApp(filepath.Join(base, "jobs"), filepath.Join(base, "state"))
	if err := os.Mkdir(a.Jobs, 0o755); err != nil {
		t.Fatal(err)
	}
	place := func(name string) {
		t.Helper()
		apptest.Put(t, a.Jobs, name, "url = \"https://a.example/\"\n")
	}
	place("old.toml")
	st, err := a.MakeState()
	if err != nil {
		t.Fatal(err)
	}
	kept := jobs.Records{Kept: st.Shared, Log: a.Log}
	rec := &scheduler.Record{Text: "url = \"https://a.example/\"\n"}
	if err := kept.SaveRecords(map[string]*scheduler.Record{"old": rec}); err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	place("new.toml")
	checked, err := jobs.Check(t.Context(), a, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	const why = "job old has the same"
	if n, o := checked.Files[0], checked.Files[1]; n.OK || !o.OK || !strings.Contains(n.Text(), why) {
		t.Errorf("new: %q, old: %q", n.Text(), o.Text())
	}
	other := filepath.Join(base, "other.toml")
	if err := os.Rename(filepath.Join(a.Jobs, "new.toml"), other); err != nil {
		t.Fatal(err)
	}
	one, err := jobs.Check(t.Context(), a, []string{other}, false)
	if err != nil {
		t.Fatal(err)
	}
	if f := one.Files[0]; !f.OK || len(f.Warnings) != 1 || !strings.Contains(f.Warnings[0], why) {
		t.Errorf("%+v", f)
	}
}
