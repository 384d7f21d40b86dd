// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"mirrord/mirror"
	"mirrord/store"
	"mirrord/testing/mirrortest"
)

// For any state of the file of texts, mirrors are as they would be.
func TestTextsDamaged(t *testing.T) {
	for name, damage := range map[string]func(b []byte) []byte{
		"gone":    func([]byte) []byte { return nil },
		"empty":   func([]byte) []byte { return []byte{} },
		"foreign": func(b []byte) []byte { return append([]byte("mTx1\xff\xff"), b[6:]...) },
		"cut":     func(b []byte) []byte { return b[:len(b)-17] },
		"holes":   func(b []byte) []byte { clear(b[60:200]); return b },
		"noise": func(b []byte) []byte {
			for i := 16; i < len(b); i += 31 {
				b[i] ^= 1
			}
			return b
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := mirrortest.Start(t)
			hub(w, 12)
			m := mirrortest.New(t, w, job())
			m.Durable = true
			wantVerdict(t, m.Run(), mirror.Complete, true)
			file := filepath.Join(m.Dir, "sites", m.Job.Name, "texts")
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if b = damage(b); b == nil {
				err = os.Remove(file)
			} else {
				err = os.WriteFile(file, b, 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
			w.Set(home+"/page03.html", wordy(3, 100, ""))
			w.Set(home+"/page04.html", wordy(3, 100, ""))
			s := m.Run()
			wantVerdict(t, s, mirror.Complete, true)
			if s.SameText != 1 || len(s.Notes) > 0 {
				t.Errorf("%d pages say the same; %v", s.SameText, s.Notes)
			}
			if got := keptTexts(t, m); !got["/page03.html"] || !got["/page04.html"] {
				t.Errorf("texts: %v", got)
			}
		})
	}
}

// A file that cannot be read or written is said, and no more.
func TestTextsUnusable(t *testing.T) {
	w := mirrortest.Start(t)
	hub(w, 3)
	m := mirrortest.New(t, w, job())
	m.Durable = true
	wantVerdict(t, m.Run(), mirror.Complete, true)
	file := filepath.Join(m.Dir, "sites", m.Job.Name, "texts")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(file, 0o755); err != nil {
		t.Fatal(err)
	}
	w.Set(home+"/page01.html", wordy(3, 100, ""))
	s := m.Run()
	wantVerdict(t, s, mirror.Complete, true)
	wantText(t, s, "pages that say the same are no longer looked for: open texts")
}

// Texts that no page has now do not pile up.
func TestTextsAreThinnedInBulk(t *testing.T) {
	w := mirrortest.Start(t)
	hub(w, 300)
	m := mirrortest.New(t, w, job())
	m.Durable = true
	m.Run()
	for v := range 6 {
		for i := range 300 {
			w.Set(fmt.Sprintf("%s/page%02d.html", home, i), wordy(1000*(v+1)+i, 20, ""))
		}
		m.Run()
	}
	m.Site(func(s *store.Site) {
		d, err := s.Pages().Texts()
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		if n := d.Len(); n > 1602 || n < 301 {
			t.Errorf("%d texts of 301 pages", n)
		}
	})
	if got := keptTexts(t, m); len(got) != 301 || !got["/page07.html"] {
		t.Errorf("%d texts", len(got))
	}
}
