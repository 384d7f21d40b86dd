// SPDX-License-Identifier: Apache-2.0

package finish

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mirrord/job"
	"mirrord/mirror/run"
	"mirrord/testing/processtest"
)

// versionsOf publishes so many versions of a home page, one a day, each with a text of its own of some bytes.
func versionsOf(t *testing.T, keys string, n, size int) bench {
	t.Helper()
	b := bench{processtest.NewRunBench(t, keys, nil)}
	for i := range n {
		var text strings.Builder
		for k := 0; text.Len() < size; k++ {
			fmt.Fprintf(&text, "%x ", sha256.Sum256(fmt.Append(nil, i, k)))
		}
		b.Answer("/", "200 <p>"+text.String())
		b.complete()
	}
	return b
}

// Versions that the keep rule does not want go, by the calendar of the job's place.
func TestThin(t *testing.T) {
	for _, x := range []struct {
		keep, place string
		dropped     string
	}{
		{"all", "", "[]"},
		{"last 2", "", "[1 2 3]"},
		{"weekly 2", "UTC", "[1 3 4]"}, // the first one is of a Saturday
		{"last 1, within 49h", "", "[1 2]"},
	} {
		t.Run(x.keep, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := versionsOf(t, "", 5, 10)
				b.Job.Publish.Keep = x.keep
				if x.place != "" {
					b.Job.Timezone = x.place
				}
				now := time.Now().Add(-24 * time.Hour)
				for _, dry := range []bool{true, false} {
					got, err := Thin(b.Job, b.Store, now, dry)
					if err != nil || fmt.Sprint(got) != x.dropped {
						t.Errorf("dry %t: %v, %v; want %s", dry, got, err, x.dropped)
					}
					if all := b.versions() == "[1 2 3 4 5]"; all != (dry || x.dropped == "[]") {
						t.Errorf("dry %t: kept are %v", dry, b.versions())
					}
				}
				if got, err := Thin(b.Job, b.Store, now, false); err != nil || len(got) > 0 {
					t.Errorf("again: %v, %v", got, err)
				}
			})
		})
	}
	b := bench{processtest.NewRunBench(t, "", nil)}
	for _, change := range []func(*job.Job){
		func(j *job.Job) { j.Publish.Keep = "some" },
		func(j *job.Job) { j.Publish.Keep, j.Timezone = "all", "Nowhere" },
	} {
		change(b.Job)
		if _, err := Thin(b.Job, b.Store, time.Now(), true); err == nil {
			t.Errorf("%q in %q is no rule", b.Job.Publish.Keep, b.Job.Timezone)
		}
	}
}

// Old versions yield when the site takes more than it may, the oldest first; the published one and the one
// before it stay, and then nothing more is stored.
func TestYield(t *testing.T) { synctest.Test(t, yieldRows) }

func yieldRows(t *testing.T) {
	const size = 100_000 // much more than what the database takes to forget one
	b := versionsOf(t, "publish.keep = \"all\"", 8, size)
	total := func() int64 {
		t.Helper()
		z, err := measure(b.Store)
		if err != nil {
			t.Fatal(err)
		}
		return z.Total()
	}
	all := total()
	each := int64(0) // of a version
	for _, x := range []struct {
		name    string
		most    func() int64
		noFetch bool
		want    string
		full    bool
	}{
		{"no limit", func() int64 { return 0 }, false, "[1 2 3 4 5 6 7 8]", false},
		{"it is within its limit", func() int64 { return 2 * all }, false, "[1 2 3 4 5 6 7 8]", false},
		{"no requests", func() int64 { return 1 }, true, "[1 2 3 4 5 6 7 8]", false},
		{"a byte too much", func() int64 { return all - 1 }, false, "[2 3 4 5 6 7 8]", false},
		{"one does not suffice", func() int64 { return total() - each*3/2 }, false, "[5 6 7 8]", false},
		{"all too much", func() int64 { return 1 }, false, "[7 8]", true},
	} {
		before := total()
		b.Job.Limits.MaxState = job.Size(x.most())
		s := b.Session(func(o *run.Options) { o.NoFetch = x.noFetch })
		if err := Yield(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		if got := b.versions(); got != x.want {
			t.Errorf("%s: kept are %s, want %s", x.name, got, x.want)
		}
		if (s.Full != nil) != x.full {
			t.Errorf("%s: full %v", x.name, s.Full)
		}
		if limited := b.Job.Limits.MaxState > 0 && !x.noFetch; (s.Taken > 0) != limited {
			t.Errorf("%s: it took %d", x.name, s.Taken)
		}
		if notes, _ := s.Notes.List(); x.full && !has([]string{fmt.Sprint(notes)}, "2 old versions were dropped") {
			t.Errorf("%s: notes %v", x.name, notes)
		}
		each = before - total()
	}
}
