// SPDX-License-Identifier: Apache-2.0

package finish

import (
	"fmt"
	"log/slog"
	"testing"

	"mirrord/mirror/urls"
	"mirrord/mirror/verdict"
	"mirrord/store"
)

// Pages that nothing links to are written down and read again as they were. A list that cannot be decoded is
// an empty one.
func TestOrphansAreKept(t *testing.T) {
	st, err := store.OpenState(t.TempDir(), store.Options{Volatile: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	s, err := st.OpenSite("large")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	const known = 300 // URLs of the site
	log := slog.New(slog.DiscardHandler)
	want := verdict.Orphans{3: 7, 4: 7, 5: 7, 9: 8, 299: 7}
	if err := urls.KeepFact(s.Notes, orphansFact, want.Encode); err != nil {
		t.Fatal(err)
	}
	got, err := loadOrphans(s.Notes, known, log)
	if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
	if err := urls.KeepFact(s.Notes, orphansFact, verdict.Orphans{}.Encode); err != nil {
		t.Fatal(err)
	}
	if got, err := loadOrphans(s.Notes, known, log); err != nil || len(got) != 0 {
		t.Errorf("%v, %v", got, err)
	}
	if err := s.Notes.SetFact(orphansFact, []byte("{")); err != nil {
		t.Fatal(err)
	}
	// they are found again
	if got, err := loadOrphans(s.Notes, known, log); err != nil || len(got) != 0 {
		t.Errorf("after damage: %v, %v", got, err)
	}
}
