// SPDX-License-Identifier: Apache-2.0

package look

import (
	"strings"
	"testing"
	"time"

	"mirrord/job"
	"mirrord/store"
	"mirrord/store/record"
)

func TestPlanIsMadeForTheNextStart(t *testing.T) {
	st, err := store.OpenState(t.TempDir(), store.Options{Volatile: true})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	s, err := st.OpenSite("planned")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	now := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	if err := s.Records.AddObservation(&record.Observation{
		Run:  1,
		Time: now.Add(-time.Hour).Unix(),
	}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		schedule string
		from, to time.Duration // after now
		when     string
	}{
		{"", 0, 0, "no schedule"},
		{"continuous", 0, 0, "continuous"},
		{"0 15 * * *", 3 * time.Hour, 3*time.Hour + 5*time.Minute, "the next start of its schedule, 0 15 * * *"},
		{"@every 4h", 3 * time.Hour, 3 * time.Hour, "the next start"},
		{"@every 30m", 0, 0, "it is due"},
	} {
		j := job.Default("http://www.example.org/")
		j.Name, j.Schedule, j.Timezone = "planned", c.schedule, "UTC"
		at, when, err := nextStart(j, s, now)
		if d := at.Sub(now); err != nil || d < c.from || d > c.to || !strings.Contains(when, c.when) {
			t.Errorf("%q: %v from now, %q, %v; want %v to %v, %q", c.schedule, d, when, err, c.from, c.to, c.when)
		}
	}
}
