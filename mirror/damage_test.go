package mirror_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"mirrord/internal/mirrortest"
	"mirrord/mirror"
)

// A stored body that the disk lost is noticed when it is needed, and the page is asked for again instead of never being published.
func TestDamagedPackHeals(t *testing.T) {
	w := mirrortest.Start(t)
	hub(w, 8)
	w.Set(home+"/page03.html", mirrortest.HTML("Three", `<p>the one that is lost: <a href="target.html">x</a>`))
	w.Set(home+"/target.html", mirrortest.Status(404))
	m := mirrortest.New(t, w, job())
	wantVerdict(t, m.Run(), mirror.Complete, true)
	packs, err := filepath.Glob(filepath.Join(m.Dir, "sites/test/packs/*.pack"))
	if err != nil || len(packs) != 1 {
		t.Fatal(packs, err)
	}
	b, err := os.ReadFile(packs[0])
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(b, []byte("the one that is lost"))
	if at < 0 {
		t.Fatal("the body is not in the pack as it is")
	}
	b[at] ^= 0x20
	if err := os.WriteFile(packs[0], b, 0o644); err != nil {
		t.Fatal(err)
	}
	m.Damaged = true
	w.Set(home+"/target.html", mirrortest.HTML("Target", "now it is there")) // so that page03 must be relocated again
	for i := range 3 {
		s := m.Run()
		if s.Published {
			if i == 0 {
				t.Errorf("published in spite of the damage:\n%s", mirrortest.Text(s))
			}
			break
		}
		wantText(t, s, "damaged", "page03.html")
	}
	// The body of version 1 stays damaged, which Verify says; the mirror is whole.
	wantVerdict(t, m.Run(), mirror.Complete, false)
	if got := m.Tree()["page03.html"]; !bytes.Contains([]byte(got), []byte(`the one that is lost: <a href="target.html">`)) {
		t.Errorf("page03.html is %q", got)
	}
}
