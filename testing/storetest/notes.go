// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"

	"mirrord/store"
	"mirrord/store/record"
	"mirrord/store/shared"
)

// RunNotes is all that runs and checks of a site leave for the next one. No room declares it whole: a run
// keeps itself and its rules, source, spare and repair keep facts, publish and report the damage.
// *store.SiteNotes is the implementation on the disk.
type RunNotes interface {
	unfinished
	factNotes
	damageNotes
}

type unfinished interface {
	Run() (*record.Run, error)
	BeginRun(*record.Run) error
	CountRun(*record.Run) error
	Runs() (int, error)
	SetRun(*record.Run) error
	KeepRun(shared.RunRecord) error
}

type factNotes interface {
	Fingerprint() (string, error)
	SetFingerprint(string) error
	Fact(name string) ([]byte, error)
	SetFact(name string, v []byte) error
}

type damageNotes interface {
	Damaged() ([]string, error)
	NoteDamaged(urls []string) error
	WrongFiles() ([]string, error)
	NoteWrongFiles(paths []string) error
}

// openNotes makes notes with nothing in them. again returns them as the next process finds them.
type openNotes func(t *testing.T) (n RunNotes, again func(t *testing.T) RunNotes)

// TestNotes holds an implementation of RunNotes to the contracts of its users. open makes one with nothing in
// it, and a function that returns the same notes as the next process finds them; what was there before is not
// used after the call.
func TestNotes(t *testing.T, open func(t *testing.T) (n RunNotes, again func(t *testing.T) RunNotes)) {
	for _, tc := range []struct {
		name string
		test func(t *testing.T, open openNotes)
	}{
		{"nothing", notesNothing},
		{"runs", notesRuns},
		{"last run", notesLastRun},
		{"rules", notesRules},
		{"facts", notesFacts},
		{"damaged", notesDamaged},
		{"wrong files", notesWrongFiles},
		{"many at a time", notesMany},
	} {
		t.Run(tc.name, func(t *testing.T) { tc.test(t, open) })
	}
}

// Of a new site nothing is noted.
func notesNothing(t *testing.T, open openNotes) {
	n, _ := open(t)
	if r, err := n.Run(); r != nil || err != nil {
		t.Errorf("an unfinished run: %+v, %v", r, err)
	}
	if fp, err := n.Fingerprint(); fp != "" || err != nil {
		t.Errorf("rules %q, %v", fp, err)
	}
	if v, err := n.Fact("x"); v != nil || err != nil {
		t.Errorf("a fact: %q, %v", v, err)
	}
	for _, list := range []func() ([]string, error){n.Damaged, n.WrongFiles} {
		if got, err := list(); len(got) != 0 || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	}
}

// Runs are numbered from 1, also when some of them were given up; the unfinished one is kept until it ends.
func notesRuns(t *testing.T, open openNotes) {
	n, again := open(t)
	for want := 1; want <= 4; want++ {
		r := record.Run{
			Number:      99, // any number of the caller's
			Started:     int64(100 * want),
			Fingerprint: "rules",
			Planned:     true,
		}
		if err := n.BeginRun(&r); err != nil || r.Number != want {
			t.Fatalf("run %d, %v; want %d", r.Number, err, want)
		}
		r.Retrieved, r.Requests = true, 7
		if err := n.SetRun(&r); err != nil {
			t.Fatal(err)
		}
		n = again(t)
		if got, err := n.Run(); err != nil || got == nil || *got != r {
			t.Errorf("unfinished: %+v, %v; want %+v", got, err, r)
		}
		if want == 2 {
			continue // it is given up for the next one
		}
		if err := n.SetRun(nil); err != nil {
			t.Fatal(err)
		}
		if n = again(t); want == 3 {
			n = again(t) // more than one process
		}
		if got, err := n.Run(); got != nil || err != nil {
			t.Errorf("after its end: %+v, %v", got, err)
		}
	}
	r := record.Run{Number: 99}
	if err := n.CountRun(&r); err != nil || r.Number != 5 {
		t.Errorf("run %d, %v; want 5", r.Number, err)
	}
	if got, err := again(t).Runs(); got != 5 || err != nil {
		t.Errorf("%d runs were begun, %v; want 5", got, err)
	}
	if got, err := again(t).Run(); got != nil || err != nil {
		t.Errorf("a run that was only counted: %+v, %v", got, err)
	}
}

// The record of the last run is kept; one that is no JSON is refused.
func notesLastRun(t *testing.T, open openNotes) {
	n, _ := open(t)
	if err := n.KeepRun(run("x", 1)); err != nil {
		t.Error(err)
	}
	if err := n.KeepRun(shared.RunRecord{Site: "x", Summary: json.RawMessage("{")}); err == nil {
		t.Error("a summary that is no JSON is kept")
	}
}

func notesRules(t *testing.T, open openNotes) {
	n, again := open(t)
	for _, want := range []string{"one", "two", ""} {
		if err := n.SetFingerprint(want); err != nil {
			t.Fatal(err)
		}
		n = again(t)
		if got, err := n.Fingerprint(); got != want || err != nil {
			t.Errorf("%q, %v; want %q", got, err, want)
		}
	}
}

// A fact is kept under its name until it is replaced or forgotten. Its bytes are the caller's.
func notesFacts(t *testing.T, open openNotes) {
	n, again := open(t)
	set := func(name string, v []byte) {
		t.Helper()
		if err := n.SetFact(name, v); err != nil {
			t.Fatal(err)
		}
	}
	want := func(name string, v []byte) {
		t.Helper()
		got, err := n.Fact(name)
		if err != nil || !slices.Equal(got, v) || (got == nil) != (v == nil) {
			t.Errorf("%s: %q, %v; want %q", name, got, err, v)
		}
	}
	mine := []byte("old")
	set("a", mine)
	copy(mine, "xxx")
	want("a", []byte("old"))
	got, err := n.Fact("a")
	if err != nil {
		t.Fatal(err)
	}
	copy(got, "xxx")
	want("a", []byte("old"))
	set("a", []byte("new"))
	set("b", []byte{})
	set("c", []byte("3"))
	set("c", nil)
	set("never", nil)
	for range 2 {
		want("a", []byte("new"))
		want("b", []byte{})
		want("c", nil)
		want("never", nil)
		want("", nil)
		n = again(t)
	}
}

// Damage is kept until the next call: sorted, and each once.
func notesDamaged(t *testing.T, open openNotes) {
	n, again := open(t)
	for _, step := range []struct{ note, want []string }{
		{[]string{"http://h/b", "http://h/a", "http://h/b"}, []string{"http://h/a", "http://h/b"}},
		{[]string{"http://h/c?x=1"}, []string{"http://h/c?x=1"}},
		{nil, nil},
		{nil, nil},
	} {
		if err := n.NoteDamaged(step.note); err != nil {
			t.Fatal(err)
		}
		n = again(t)
		if got, err := n.Damaged(); err != nil || !slices.Equal(got, step.want) {
			t.Errorf("%q, %v; want %q", got, err, step.want)
		}
	}
}

// Paths may have any bytes.
func notesWrongFiles(t *testing.T, open openNotes) {
	n, again := open(t)
	for _, step := range []struct{ note, want []string }{
		{[]string{"b c.html", "a\nb", "b c.html", "é\xff"}, []string{"a\nb", "b c.html", "é\xff"}},
		{[]string{store.AllFiles}, []string{store.AllFiles}},
		{nil, nil},
	} {
		if err := n.NoteWrongFiles(step.note); err != nil {
			t.Fatal(err)
		}
		n = again(t)
		if got, err := n.WrongFiles(); err != nil || !slices.Equal(got, step.want) {
			t.Errorf("%q, %v; want %q", got, err, step.want)
		}
		if got, err := n.Damaged(); len(got) != 0 || err != nil {
			t.Errorf("damaged bodies: %q, %v", got, err)
		}
	}
}

// notesMany has several at work at the same time: nothing is lost.
func notesMany(t *testing.T, open openNotes) {
	n, again := open(t)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for k := range 5 {
				name := fmt.Sprint(i, " ", k)
				if err := n.SetFact(name, []byte(name)); err != nil {
					t.Error(err)
				}
				if v, err := n.Fact(name); string(v) != name || err != nil {
					t.Errorf("%s: %q, %v", name, v, err)
				}
			}
		})
	}
	all.Wait()
	n = again(t)
	for i := range 8 {
		for k := range 5 {
			name := fmt.Sprint(i, " ", k)
			if v, err := n.Fact(name); string(v) != name || err != nil {
				t.Errorf("%s: %q, %v", name, v, err)
			}
		}
	}
}
