// SPDX-License-Identifier: Apache-2.0

package render

import (
	"encoding/json"
	"fmt"
	"testing"

	"mirrord/phm"
)

// The repaired links of a document stand in its line in the order of their places, beside its other edits,
// and
// are read from it.
func TestRepairsOfALine(t *testing.T) {
	links := []RepairedLink{{At: 40, Was: "http://h/b", To: "http://o/b"}, {At: 7, Was: "http://h/a",
		To: "http://o/a"}}
	f := phm.File{Path: "a.html", Edits: []phm.DeclaredEdit{{Kind: "base", At: 20}}}
	if err := declareRepairs(&f, links); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(f.Edits); got != "[{repair 7} {base 20} {repair 40}]" || CountRepairs(&f) != 2 {
		t.Errorf("edits %s", got)
	}
	got, err := RepairsOf(&f)
	if err != nil || len(got) != 2 || got[0].Was != "http://h/a" || got[1].To != "http://o/b" {
		t.Errorf("%+v, %v", got, err)
	}
	none := phm.File{Path: "a.html"}
	if err := declareRepairs(&none, nil); err != nil || none.Extra != nil || none.Edits != nil {
		t.Errorf("without a repair: %+v, %v", none, err)
	}
	f.Extra[repairField] = json.RawMessage(`{"at":`)
	if got, err := RepairsOf(&f); err == nil {
		t.Errorf("a line that is cut off has %+v", got)
	}
}

// Two lines say the same when bytes, names and repaired links are the same; why a link was repaired does not
// count.
func TestSameLine(t *testing.T) {
	line := func(change func(f *phm.File)) *phm.File {
		f := &phm.File{
			Path:   "a.html",
			URL:    "http://h/a.html",
			SHA256: "ab",
			Size:   2,
			Type:   "text/html",
		}
		link := RepairedLink{
			At:  1,
			Was: "http://h/b",
			To:  "http://o/b",
			Why: "alternate",
		}
		if err := declareRepairs(f, []RepairedLink{link}); err != nil {
			t.Fatal(err)
		}
		change(f)
		return f
	}
	repaired := func(text string) func(f *phm.File) {
		return func(f *phm.File) { f.Extra[repairField] = json.RawMessage(text) }
	}
	for _, c := range []struct {
		name   string
		change func(f *phm.File)
		same   bool
	}{
		{"nothing", func(*phm.File) {}, true},
		{"bytes", func(f *phm.File) { f.SHA256 = "cd" }, false},
		{"type", func(f *phm.File) { f.Type = "text/plain" }, false},
		{"URL", func(f *phm.File) { f.URL = "http://h/b.html" }, false},
		{"reason", repaired(`[{"at":1,"was":"http://h/b","to":"http://o/b","why":"replica"}]`), true},
		{"target", repaired(`[{"at":1,"was":"http://h/b","to":"http://o/c"}]`), false},
		{"one more", repaired(`[{"at":1,"was":"http://h/b","to":"http://o/b"},{"at":2}]`), false},
		{"cut off", repaired(`[{"at":1`), false},
	} {
		if got := SameLine(line(func(*phm.File) {}), line(c.change)); got != c.same {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	if SameLine(nil, line(func(*phm.File) {})) {
		t.Error("no file is the same as one")
	}
}
