// SPDX-License-Identifier: Apache-2.0

package look

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"mirrord/replay"
	"mirrord/store/record"
)

func ids(n ...uint32) (s record.IDs) {
	for _, id := range n {
		s.Add(id)
	}
	return s
}

// observedHistory is what ownHistory makes of records and observations.
func observedHistory(
	t *testing.T, gap int64, records []record.Resource, runs []record.Observation,
) (*replay.History, *observed) {
	t.Helper()
	o := newObserved()
	o.gap = gap
	for i := range records {
		if err := o.resource(&records[i]); err != nil {
			t.Fatal(err)
		}
	}
	for i := range runs {
		o.mentions(&runs[i])
	}
	o.begin()
	for i := range runs {
		if err := o.run(&runs[i]); err != nil {
			t.Fatal(err)
		}
	}
	return o.b.History(), o
}

// versionsText writes every version as what changed: +path, ~path, -path.
func versionsText(h *replay.History) (out []string) {
	here := map[replay.Page]bool{}
	for _, v := range h.Versions {
		var line []string
		for _, c := range v.Changes {
			sign := "+"
			switch {
			case c.Content == replay.Gone:
				sign = "-"
			case here[c.Page]:
				sign = "~"
			}
			here[c.Page] = c.Content != replay.Gone
			line = append(line, sign+h.Path(c.Page))
		}
		out = append(out, fmt.Sprintf("%s %d: %s", v.Time.Format("05"), v.Files, strings.Join(line, " ")))
	}
	return out
}

// Runs that are one look are one version, with what all of them found.
func TestRunsOfOneLook(t *testing.T) {
	records := []record.Resource{{ID: 0, Path: "index.html", InSet: true}}
	h, _ := observedHistory(t, 100, records, []record.Observation{
		{Run: 1, Time: 1000, Complete: true, Asked: ids(0), Entered: ids(0)},
		{Run: 2, Time: 1010, Complete: true, Asked: ids(0), Changed: ids(0)},
		{Run: 3, Time: 1099, Complete: true, Asked: ids(0)},
		{Run: 4, Time: 1100, Complete: true, Asked: ids(0)},
	})
	got := versionsText(h)
	if want := []string{"40 1: +index.html", "20 1: ~index.html"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestOwnHistory(t *testing.T) {
	records := []record.Resource{
		{ID: 0, Path: "index.html", InSet: true, Size: 10},
		{ID: 1, Path: "a/x.html", InSet: true, Size: 20},
		{ID: 2, Path: "a/gone.html"},
		{ID: 3, InSet: true},            // a redirect: no path of its own
		{ID: 4},                         // never was part of the mirror
		{ID: 5, Path: "a/x.html"},       // had the path before
		{ID: 6, Path: "b", InSet: true}, // there before anything was observed, and never changed
	}
	runs := []record.Observation{
		{Run: 1, Time: 10, Asked: ids(0, 1, 2), Entered: ids(0, 2, 3)}, // cut off
		{Run: 1, Time: 20, Complete: true, Asked: ids(0, 2, 3, 4, 5), Entered: ids(0, 2, 3)},
		{Run: 2, Time: 30, Complete: true, Asked: ids(0, 2), Changed: ids(0)},
		{Run: 3, Time: 40, Complete: true, Asked: ids(0, 2, 3), Spared: ids(6)},
		{Run: 4, Time: 50, Asked: ids(0, 2), Changed: ids(0), Left: ids(2)}, // partial: counts with the next
		{Run: 5, Time: 45, Complete: true, Asked: ids(1, 5, 9), Entered: ids(1, 9), Left: ids(5)},
		{Run: 6, Time: 59, Complete: true, Asked: ids(2), Entered: ids(2), Changed: ids(0)},
	}
	h, o := observedHistory(t, 0, records, runs)
	want := []string{
		"20 5: +@3 +a/gone.html +a/x.html~ +b +index.html",
		"30 5: ~index.html",
		"40 5: ",
		"45 5: +@9 +a/x.html -a/gone.html -a/x.html~ ~index.html",
		"59 6: +a/gone.html ~index.html",
	}
	got := versionsText(h)
	for i := range got { // the order is that of the paths
		sorted := strings.Fields(got[i])
		slices.Sort(sorted[2:])
		got[i] = strings.Join(append([]string{sorted[0] + " " + sorted[1]}, sorted[2:]...), " ")
	}
	for i := range want {
		want[i] = strings.TrimSpace(want[i])
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if o.seen != 2+4+2+1 || o.pairs != 5+5+5+6 {
		t.Errorf("observed %d of %d", o.seen, o.pairs)
	}
}
