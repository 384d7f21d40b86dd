// SPDX-License-Identifier: Apache-2.0

package evolution

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// record adds an entry of words: +dir came, -dir went, *dir changed, ?dir was not looked at: one file
// directly in dir ("." is the root).
func record(h *History, time int64, words string) error {
	r := h.Record(time)
	for _, w := range strings.Fields(words) {
		d := r.Dir(strings.TrimPrefix(w[1:], "."))
		switch w[0] {
		case '+':
			r.Insert(d, 1)
		case '-':
			r.Delete(d, 1)
		case '*':
			r.Update(d, 1)
		case '?':
			r.Miss(d, 1)
		}
	}
	return r.Commit()
}

func mustRecord(t testing.TB, h *History, time int64, words string) {
	t.Helper()
	if err := record(h, time, words); err != nil {
		t.Fatal(err)
	}
}

func TestHistoryRefuses(t *testing.T) {
	for _, c := range []struct {
		name  string
		time  int64
		words string
		want  error
	}{
		{"time goes back", 9, "*a", ErrTime},
		{"a file goes twice", 11, "-a -a", ErrScript},
		{"a file goes and changes", 11, "-a *a", ErrScript},
		{"a file changes that is not there", 11, "*b", ErrScript},
		{"a file is not looked at that is not there", 11, "?b", ErrScript},
		{"more files are not looked at than are left", 11, "-a ?a", ErrScript},
		{"bad path", 11, "+a//b", ErrBadPath},
	} {
		t.Run(c.name, func(t *testing.T) {
			var h History
			mustRecord(t, &h, 10, "+a +.")
			before := fmt.Sprint(h.steps)
			if err := record(&h, c.time, c.words); !errors.Is(err, c.want) {
				t.Fatalf("got %v, want %v", err, c.want)
			}
			if after := fmt.Sprint(h.steps); after != before || h.Len() != 0 {
				t.Error("the refused step left something in the history")
			}
			mustRecord(t, &h, 11, "*a") // and the next one is as if nothing had been
			if h.Len() != 1 || h.Files(Root) != 2 {
				t.Errorf("%d steps, %d files", h.Len(), h.Files(Root))
			}
		})
	}
}

func TestRecorderIsForOneEntry(t *testing.T) {
	var h History
	r := h.Record(1)
	if err := h.Record(1).Commit(); err == nil {
		t.Error("two recorders at a time")
	}
	r.Insert(r.Dir("a"), 2)
	r.Drop()
	if err := r.Commit(); err == nil {
		t.Error("what was dropped was committed")
	}
	mustRecord(t, &h, 1, "+a")
	if h.Files(Root) != 1 {
		t.Errorf("%d files, want 1: what was dropped does not count", h.Files(Root))
	}
	r = h.Record(2)
	if err := r.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := r.Commit(); err == nil {
		t.Error("committed twice")
	}
	r.Insert(Root, 1)
	if r = h.Record(3); r.Commit() != nil || h.Files(Root) != 1 || h.Len() != 2 {
		t.Errorf("%d files after %d steps, want 1 after 2", h.Files(Root), h.Len())
	}
	for name, do := range map[string]func(*Recorder){
		"unknown directory": func(r *Recorder) { r.Insert(99, 1) },
		"negative":          func(r *Recorder) { r.Insert(Root, -1) },
		"overflow":          func(r *Recorder) { r.Insert(Root, math.MaxInt32); r.Insert(Root, 1) },
	} {
		r := h.Record(4)
		do(r)
		if r.Commit() == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// What was not looked at is not unchanged: whether a directory changed significantly is unknown in a step
// when the files that were not looked at could make the difference.
func TestUnobservedIsNotUnchanged(t *testing.T) {
	var h History
	// The root has 12 nodes: itself, a with 4 files, b with 4 files, one file directly.
	mustRecord(t, &h, 0, "+a +a +a +a +b +b +b +b +.")
	mustRecord(t, &h, 1, "*a")                // all was looked at
	mustRecord(t, &h, 2, "?b ?b ?b ?b")       // b was skipped
	mustRecord(t, &h, 3, "*a *a *a ?b ?b ?b") // and all but one of it
	mustRecord(t, &h, 4, "*b ?a")
	mustRecord(t, &h, 5, "")
	lookup := func(path string) Dir {
		d, ok := h.Dirs().Lookup(path)
		if !ok {
			t.Fatalf("%q is not in the table", path)
		}
		return d
	}
	// By hand. a and b have 5 nodes each. Step 2: all of b could be gone, 5 of 5, and with it 5 of the root's
	// 12. Step 3: 3 of b's 5, and for the root 3 + 3 of 12. Step 4: b changed by 1 of 5; a may have by 1 of 5;
	// the root by 1 or 2 of 12.
	for _, c := range []struct {
		alpha float64
		dir   string
		want  string // of each step: yes, no, or ? for unknown
	}{
		{0, "a", "yny?n"}, {0, "b", "n??yn"}, {0, "", "y?yyn"},
		{0.2, "a", "yny?n"}, {0.2, "b", "n??yn"},
		{0.25, "a", "nnynn"}, {0.25, "b", "n??nn"},
		{0.25, "", "n?ynn"}, {0.5, "", "nn?nn"}, {0.6, "", "nnnnn"},
		{1, "b", "n?nnn"}, {0.6, "b", "n??nn"}, {0.61, "b", "n?nnn"},
	} {
		tree, err := h.DeltaTree(DeltaOptions{Alpha: c.alpha})
		if err != nil {
			t.Fatal(err)
		}
		changed, unknown := tree.Words(lookup(c.dir))
		var got, slow strings.Builder
		for i := range tree.Len() {
			switch {
			case changed[0]&(1<<i) != 0:
				got.WriteByte('y')
			case unknown[0]&(1<<i) != 0:
				got.WriteByte('?')
			default:
				got.WriteByte('n')
			}
		}
		for s := range h.Steps() {
			d := lookup(c.dir)
			switch change := s.Change(d); {
			case change.Significant(c.alpha, false):
				slow.WriteByte('y')
			case s.undecided(d, change, c.alpha, false):
				slow.WriteByte('?')
			default:
				slow.WriteByte('n')
			}
		}
		if got.String() != c.want || slow.String() != c.want {
			t.Errorf("alpha %v, %q: %s, step by step %s, want %s", c.alpha, c.dir, got.String(), slow.String(), c.want)
		}
		if foc := tree.FoC(lookup(c.dir)); foc.N != 5-strings.Count(c.want, "?") ||
			foc.K != strings.Count(c.want, "y") {
			t.Errorf("alpha %v, %q: FoC is %v, want %s", c.alpha, c.dir, foc, c.want)
		}
	}
}

// Directories whose names are hashes and that are others in every version: each comes and goes with DoC 1,
// and the table keeps them all.
func TestDirectoriesWithNewNames(t *testing.T) {
	var h History
	mustRecord(t, &h, 0, "+. +assets/0000")
	for i := 1; i <= 50; i++ {
		mustRecord(t, &h, int64(i), fmt.Sprintf("-assets/%04x +assets/%04x", i-1, i))
	}
	if h.Dirs().Len() != 53 || h.Nodes(Root) != 5 {
		t.Fatalf("%d directories in the table, %d nodes", h.Dirs().Len(), h.Nodes(Root))
	}
	for s := range h.Steps() {
		for d, c := range s.Changes() {
			switch path := h.Dirs().Path(d); {
			case strings.HasPrefix(path, "assets/"):
				if c.DoC(false) != 1 || c.Distance(false) != 2 {
					t.Fatalf("step %d: %s changed by %+v", s.Number, path, c)
				}
			case path == "assets" && c != Change{Inserted: 2, Deleted: 2, Old: 3}:
				t.Fatalf("step %d: assets changed by %+v", s.Number, c)
			}
		}
	}
	tree, err := h.DeltaTree(DeltaOptions{From: 10, To: 20})
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for d := range h.Dirs().Len() {
		if tree.Seen(Dir(d)) {
			seen++
		}
	}
	if seen != 2+11 { // the root, assets, and what was there in versions 10 to 20
		t.Errorf("%d directories were there in the window, want 13", seen)
	}
}

func TestDeltaTreeOptions(t *testing.T) {
	var empty History
	for _, o := range []DeltaOptions{
		{Alpha: -0.1}, {Alpha: 1.1}, {Alpha: math.NaN()}, {From: -1}, {To: -1}, {From: 3, To: 2},
	} {
		if _, err := empty.DeltaTree(o); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
	tree, err := empty.DeltaTree(DeltaOptions{})
	if err != nil || tree.Len() != 0 || tree.FoC(Root) != (Frequency{}) || tree.FoC(Root).Value() != 0 {
		t.Errorf("of no history: %v, %d steps", err, tree.Len())
	}
	if r, err := empty.Report(DeltaOptions{}); err != nil || len(r) != 0 {
		t.Errorf("of no history: %v, %v", r, err)
	}
	for range empty.Steps() {
		t.Error("no history has a step")
	}
	mustRecord(t, &empty, 1, "+a")
	if tree, err = empty.DeltaTree(DeltaOptions{}); err != nil || tree.Len() != 0 || !tree.Seen(1) {
		t.Errorf("the base is no step: %v, %d", err, tree.Len())
	}
	for i := range 130 { // over two words
		mustRecord(t, &empty, 2, strings.Repeat("*a", i%3/2))
	}
	if tree, err = empty.DeltaTree(DeltaOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := tree.FoC(1); got != (Frequency{43, 130}) {
		t.Errorf("FoC of a is %v, want 43 of 130", got)
	}
}

func TestReport(t *testing.T) {
	var h History
	mustRecord(t, &h, 5, "+a +a +b")
	mustRecord(t, &h, 6, "*a ?b")
	mustRecord(t, &h, 7, "-a -a +.")
	mustRecord(t, &h, 8, "?b")
	got, err := h.Report(DeltaOptions{})
	if err != nil {
		t.Fatal(err)
	}
	sixth, sevenths := 1.0/6, 4.0/7
	// The root had 6 nodes: D is 1 of 6, then 4 of 7: a goes with two files, one comes.
	want := []DirReport{
		{
			Dir:        0,
			Files:      2,
			Unobserved: 1,
			FoC:        Frequency{2, 2},
			Edits:      5,
			Mean:       (sixth + sevenths) / 2,
			Max:        sevenths,
			Last:       7,
		},
		{Dir: 1, FoC: Frequency{2, 3}, Edits: 4, Mean: (1.0/3 + 1) / 2, Max: 1, Last: 7},
		{Dir: 2, Files: 1, Unobserved: 1, FoC: Frequency{0, 1}},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%+v, want\n%+v", got, want)
	}
}

func TestCounts(t *testing.T) {
	if !(Change{Updated: 3, Old: 10}).Significant(0.3, false) {
		t.Error("3 of 10 is not 0.3")
	}
	if (Change{Old: 10}).Significant(0, false) || (Change{Updated: 1, Old: 10}).Significant(0, true) {
		t.Error("no change is significant")
	}
	for _, c := range []struct {
		table Table
		phi   float64
		ok    bool
	}{
		{Table{8, 4, 4, 1}, -0.5, true},
		{Table{8, 5, 1, 0}, -0.4879500364742666, true},
		{Table{4, 2, 2, 1}, 0, true},
		{Table{4, 2, 2, 2}, 1, true},
		{Table{4, 0, 2, 0}, 0, false},
		{Table{4, 4, 2, 2}, 0, false},
		{Table{4, 2, 0, 0}, 0, false},
		{Table{4, 2, 4, 2}, 0, false},
		{Table{}, 0, false},
	} {
		phi, ok := c.table.CoC()
		if phi != c.phi || ok != c.ok || math.Signbit(phi) != (c.phi < 0) {
			t.Errorf("%+v: %v %v, want %v %v", c.table, phi, ok, c.phi, c.ok)
		}
	}
}

// Files that count as one with others are no change, and later changes are counted without them.
func TestJoin(t *testing.T) {
	h := new(History)
	step := func(time int64, say func(r *Recorder, d Dir)) {
		r := h.Record(time)
		say(r, r.Dir("d"))
		if err := r.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	step(1, func(r *Recorder, d Dir) {
		r.Insert(d, 3)
		r.Insert(r.Dir("e"), 1)
	})
	step(2, func(r *Recorder, d Dir) {
		r.Miss(d, 2)
	})
	step(3, func(r *Recorder, d Dir) {
		r.Join(d, 1)
		r.Join(r.Dir("e"), 1)
		r.Miss(d, 2)
	})
	step(4, func(r *Recorder, d Dir) { r.Update(d, 1) })
	var got []string
	for s := range h.Steps() {
		text := fmt.Sprintf("%d of %d files", s.Unobserved(Root), s.Files(Root))
		for d, c := range s.Changes() {
			text += fmt.Sprintf(", %q %.3f", h.Dirs().Path(d), c.DoC(false))
		}
		got = append(got, text)
	}
	want := []string{"2 of 4 files", "2 of 2 files", `0 of 2 files, "" 0.250, "d" 0.333`}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	d, err := h.DeltaTree(DeltaOptions{From: 1, To: 2})
	if err != nil {
		t.Fatal(err)
	}
	if f := d.FoC(Root); f.K != 0 || f.N != 0 { // all that is left was not looked at
		t.Errorf("%d of %d steps", f.K, f.N)
	}
}
