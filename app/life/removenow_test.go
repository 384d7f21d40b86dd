// SPDX-License-Identifier: Apache-2.0

package life

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"mirrord/app/env"
	"mirrord/phm/space"
	"mirrord/testing/apptest"
)

// What a space keeps of a mirror that was removed is served until remove --now takes it away; then a page
// says so.
func TestRemoveNow(t *testing.T) {
	w := apptest.NewTwoSites(t)
	w.Run("a", "b")
	dir := apptest.StateOf(t, w.App)
	copies, err := filepath.Glob(filepath.Join(dir, space.Folder, "s", "pages", "a", "*"))
	if err != nil || len(copies) == 0 {
		t.Fatalf("%q, %v", copies, err)
	}
	for _, f := range copies { // no page of a can be made again
		if err := os.Remove(f); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(f, []byte("damaged"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	remove := func(now bool, kept int) {
		t.Helper()
		r, err := PlanRemoval(w.App, "b", now)
		if err == nil {
			err = Remove(t.Context(), w.App, r)
		}
		if err != nil || r.Kept != kept {
			t.Fatalf("%+v, %v", r, err)
		}
		w.Leads("@@a/index.html", "../@@b/page.html#top")
	}
	served := func(code int, has string) {
		t.Helper()
		get := w.Serve()
		for _, host := range []string{"a.localhost", "127.0.0.1"} {
			rec := get(host, "/@@b/page.html")
			if rec.Code != code || !strings.Contains(rec.Body.String(), has) || rec.Header().Get(
				"Content-Security-Policy") == "" {
				t.Errorf("%s: %d %v, %s", host, rec.Code, rec.Header(), rec.Body)
			}
		}
	}
	remove(false, 2) // page.html and p.png
	served(http.StatusOK, ">old</a>")
	if _, err := PlanRemoval(w.App, "b", false); err == nil {
		t.Error("it was removed before")
	}
	remove(true, 0)
	served(http.StatusGone, "The mirror b was removed")
	data, err := os.ReadFile(filepath.Join(dir, space.FilesDir("s"), "@@b/page.html"))
	if err != nil || !strings.Contains(string(data), "The mirror <b>b</b> was removed on 2") {
		t.Errorf("%s, %v", data, err)
	}
	if _, err := PlanRemoval(w.App, "b", true); err == nil {
		t.Error("nothing of it is left")
	}
}

// A mirror whose folder is a mount point is neither renamed nor removed, and nothing is changed before that
// is said. Job files that a cluster shares are changed on this machine only.
func TestMirrorOnMount(t *testing.T) {
	w := apptest.NewTwoSites(t)
	w.Run("b")
	site, file := filepath.Join(apptest.StateOf(t, w.App), "sites", "b"), filepath.Join(w.App.Jobs, "b.toml")
	if err := syscall.Mount(site, site, "", syscall.MS_BIND, ""); err != nil {
		t.Skip(err)
	}
	mounted := true
	unmount := func() {
		if mounted {
			mounted = false
			if err := syscall.Unmount(site, 0); err != nil {
				t.Error(err)
			}
		}
	}
	t.Cleanup(unmount)
	remove := func() (*Removal, error) {
		r, err := PlanRemoval(w.App, "b", false)
		if err == nil {
			err = Remove(t.Context(), w.App, r)
		}
		return r, err
	}
	_, err := Rename(t.Context(), w.App, "b", "c")
	_, rerr := remove()
	for _, err := range []error{err, rerr} {
		if err == nil || !strings.Contains(err.Error(), "umount "+site) {
			t.Errorf("%v", err)
		}
	}
	for _, path := range []string{file, filepath.Join(site, "current", "index.html")} {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
	unmount()
	r, err := Rename(t.Context(), w.App, "b", "c")
	if err != nil || r.Shared {
		t.Errorf("%+v, %v", r, err)
	}
	apptest.Put(t, apptest.StateOf(t, w.App), env.BaseFile, "{}")
	r, err = Rename(t.Context(), w.App, "c", "b")
	gone, rerr := remove()
	if err := errors.Join(err, rerr); err != nil || !r.Shared || !gone.Shared {
		t.Errorf("%+v, %+v, %v", r, gone, err)
	}
}
