// SPDX-License-Identifier: Apache-2.0

package depots_test

import (
	"os"
	"path/filepath"
	"testing"

	"mirrord/app/depots"
	"mirrord/app/env"
	"mirrord/cluster/depot"
	"mirrord/testing/apptest"
)

// Job files of both directories travel. On a bare machine they come into the first one, which may belong to
// root, before the process takes the rights of the owner of the state.
func TestJobFilesOfBothDirectories(t *testing.T) {
	from := apptest.BareApp(t.TempDir(), t.TempDir())
	st, err := from.MakeState()
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(st.Dir, "jobs.d")
	if err := os.Mkdir(own, 0o750); err != nil {
		t.Fatal(err)
	}
	apptest.Put(t, from.Jobs, "both.toml", "url = \"https://first.example/\"\n")
	apptest.Put(t, own, "both.toml", "url = \"https://second.example/\"\n")
	apptest.Put(t, own, "own.toml", "url = \"https://own.example/\"\n")
	at := "file://" + filepath.Join(t.TempDir(), "depot")
	if _, err := depots.Push(t.Context(), from, depots.DepotRequest{Depot: at}); err != nil {
		t.Fatal(err)
	}
	d, err := depots.ReadDepot(t.Context(), from, at, true)
	if err != nil {
		t.Fatal(err)
	}
	to, jobs := t.TempDir(), t.TempDir()
	beside := depot.Folders{Jobs: []string{jobs, filepath.Join(to, "jobs.d")}, Profiles: t.TempDir()}
	here := func(name string) bool { return env.Exists(filepath.Join(jobs, name)) }
	_, err = d.CheckoutShared(t.Context(), to, beside, false, func() error {
		if !here("both.toml") || !here("own.toml") || env.Exists(filepath.Join(to, "mirror.db")) {
			t.Error("the owner is another one too early or too late")
		}
		return nil
	})
	text, rerr := os.ReadFile(filepath.Join(jobs, "both.toml"))
	if err != nil || rerr != nil || string(text) != "url = \"https://first.example/\"\n" {
		t.Error(string(text), err, rerr)
	}
	out, err := depots.Pull(t.Context(), from, depots.DepotRequest{Depot: at}) // each is where it was
	if err != nil || len(out.Shared.Files) > 0 {
		t.Error(out, err)
	}
}
