// SPDX-License-Identifier: Apache-2.0

package source

import (
	"testing"
	"time"

	"mirrord/store"
	"mirrord/store/shared"
)

// A test without a decision does not replace a decision, as long as that is valid.
func TestKeepPair(t *testing.T) {
	st, err := store.OpenState(t.TempDir(), store.Options{Volatile: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	at := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	p := shared.PairRecord{
		Base1:     "http://a.example/",
		Base2:     "http://b.example/",
		Confident: true,
		Equal:     true,
	}
	for _, c := range []struct {
		days  int
		level string
		want  string
	}{
		{0, "1", "1"},
		{1, "no answer", "1"},
		{2, "mismatch", "mismatch"},
		{3, "no answer", "mismatch"},
		{40, "no answer", "no answer"},
		{41, "DNS failure", "DNS failure"},
	} {
		p.Tested, p.Level, p.Mirrors = at.Add(time.Duration(c.days)*24*time.Hour), c.level, c.level == "1"
		if err := KeepPair(st.Shared, p); err != nil {
			t.Fatal(err)
		}
		if got, _, err := st.Shared.LoadPair(p.Base1, p.Base2); err != nil || got.Level != c.want {
			t.Errorf("day %d: %s is kept, want %s; %v", c.days, got.Level, c.want, err)
		}
	}
}
