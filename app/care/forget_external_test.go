// SPDX-License-Identifier: Apache-2.0

package care_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mirrord/app/care"
	"mirrord/app/look"
	"mirrord/app/runs"
	"mirrord/store"
	"mirrord/testing/apptest"
	"mirrord/testing/wholetest"
)

// A server that has an old version open does not show what was forgotten, and the command says where else it
// lies.
func TestForgetBesideAServer(t *testing.T) {
	a, url := care.SmithSite(t)
	st, err := store.OpenState(apptest.StateOf(t, a), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	kept := &look.KeptVersions{State: st}
	defer kept.Close()
	old, err := kept.Open(t.Context(), "x", 1)
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	if page, err := fs.ReadFile(old, "smith.html"); err != nil || !strings.Contains(string(page), "the secret") {
		t.Fatalf("%q, %v", page, err)
	}
	f := wholetest.ForgetNow(t, a, "x", "smith.*")
	if len(f.URLs) != 2 || f.Versions != 2 || len(f.Left) > 0 {
		t.Errorf("%+v", f)
	}
	said := strings.Join(f.Elsewhere, "\n")
	for _, want := range []string{
		"other mirrors it too, as " + url + "/smith.",
		": mirrord forget other \"smith.*\" --reason TEXT",
		url + "/logo.png has a body in common with it and stays",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("elsewhere does not say %q: %s", want, said)
		}
	}
	if page, err := fs.ReadFile(old, "smith.html"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the open version still has it: %q, %v", page, err)
	}
	page, err := fs.ReadFile(old, "index.html")
	if err != nil || !strings.Contains(string(page), url+"/smith.html") {
		t.Errorf("%q, %v", page, err)
	}
	if _, err := fs.ReadFile(old, "logo.png"); err != nil {
		t.Error(err)
	}
	wholetest.ForgetNow(t, a, "other", "smith.*")
}

// What was forgotten is not requested after the database was lost and made again.
func TestForgottenSurvivesARebuild(t *testing.T) {
	a, _ := care.SmithSite(t)
	wholetest.ForgetNow(t, a, "x", "smith.*")
	dir := filepath.Join(apptest.StateOf(t, a), "sites", "x")
	if err := os.WriteFile(filepath.Join(dir, "site.db"), []byte("no database"), 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := care.Rebuild(t.Context(), a, "x"); err != nil {
		t.Fatal(err)
	}
	down, err := care.ForgottenIn(a, "x")
	if err != nil || len(down.List) != 1 || down.List[0].Reason != "because" {
		t.Fatalf("%+v, %v", down, err)
	}
	if _, err := runs.RunNow(t.Context(), a, runs.RunHere{Job: "x"}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"smith.html", "smith.png"} {
		if _, err := os.Stat(filepath.Join(dir, "current", name)); err == nil {
			t.Errorf("%s is there again", name)
		}
	}
	// What the rebuild took out of use may have it.
	wholetest.ForgetNow(t, a, "x", "smith.*")
	if old, err := filepath.Glob(filepath.Join(dir, "damaged*")); err != nil || len(old) > 0 {
		t.Errorf("left: %q, %v", old, err)
	}
}
