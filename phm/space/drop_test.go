// SPDX-License-Identifier: Apache-2.0

package space

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// Of a mirror that is dropped nothing stays but names: pages that lead there find a page that says so, also
// when the space is stopped at any step, or does not know what pages lead to.
func TestDropped(t *testing.T) {
	for at := 0; ; at++ {
		w, mend := staleWorld(t)
		w.must(Drop(w.dir, "b", time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)))
		w.update()
		if f := filepath.Join(w.dir, FilesDir("s"), "@@b", "x.html"); at == 0 {
			if data, err := os.ReadFile(f); err != nil || string(data) != "x" {
				t.Fatalf("a member lost its file: %q, %v", data, err)
			}
		}
		delete(w.members, "b")
		stopped := w.killed(at)
		w.noDangling()
		w.update()
		w.noDangling()
		var left []string
		for p, text := range w.files() {
			if rest, ok := strings.CutPrefix(p, "@@b/"); ok {
				left = append(left, rest)
				if !strings.Contains(text, "The mirror <b>b</b> was removed on 2026-03-04") {
					t.Errorf("stopped at %d: %s is %q", at, p, text)
				}
				if u := w.urlOf("b", "x.html"); at == 0 && !strings.Contains(text, u) {
					t.Errorf("it does not name %s: %s", u, text)
				}
			}
		}
		if !slices.Equal(left, []string{"x.html"}) {
			t.Fatalf("stopped at %d: %v", at, left)
		}
		if k, err := KeptOf(w.dir, "b"); err != nil || k != nil {
			t.Errorf("%v, %v", k, err)
		}
		if f, err := OpenKept(w.dir, "", "b", "x.html"); err != nil || !f.Struck || f.Type != "text/html" {
			t.Errorf("%+v, %v", f, err)
		} else {
			f.Close()
		}
		if at == 1 { // it comes again
			w.members["b"] = true
			w.update()
			mend()
			w.update()
			w.check("a member again")
			continue
		}
		mend()
		w.update()
		w.check("whole again")
		if !stopped {
			break
		}
	}
}

// Nor does it stay when an update of another mirror was cut off, and cannot be finished now.
func TestDroppedWhileUncertain(t *testing.T) {
	w, mend := staleWorld(t)
	w.publish("a", map[string]string{"index.html": page(w.urlOf("b", "x.html")), "other.html": "y"})
	if !w.killed(2) {
		t.Fatal("the update was done before")
	}
	w.must(Drop(w.dir, "b", time.Now()))
	delete(w.members, "b")
	w.locked["a"] = true
	w.update()
	w.noDangling()
	for _, p := range []string{"@@b/index.html", "@@b/x.html"} {
		if text := w.files()[p]; !strings.Contains(text, "was removed on") {
			t.Errorf("%s is %q", p, text)
		}
	}
	w.locked["a"] = false
	w.update()
	mend()
	w.update()
	w.check("finished")
}
