// SPDX-License-Identifier: Apache-2.0

package takedown

import (
	"strings"
	"testing"

	"mirrord/phm"
	"mirrord/site"
	"mirrord/store/record"
)

// The script leads from a version back to the one before it.
func TestSteps(t *testing.T) {
	files := func(paths string) (out []phm.File) {
		for p := range strings.FieldsSeq(paths) {
			p, digest, _ := strings.Cut(p, "=")
			out = append(out, phm.File{Path: p, URL: "http://h/" + p, SHA256: digest})
		}
		return out
	}
	for _, c := range []struct {
		before, now             string
		ops                     string
		added, changed, removed int
	}{
		{before: "", now: "", ops: ""},
		{before: "a b", now: "a b", ops: ""},
		{before: "a", now: "a b", ops: "+", added: 1},
		{before: "a b", now: "b", ops: "-", removed: 1},
		{before: "a=1 b", now: "a=2 b", ops: "~", changed: 1},
		{before: "a c=1", now: "b c=2 d", ops: "-+~+", added: 2, changed: 1, removed: 1},
	} {
		script, added, changed, removed := steps(files(c.before), files(c.now))
		ops := ""
		for line := range strings.Lines(string(script)) {
			ops += line[:1]
		}
		if ops != c.ops || added != c.added || changed != c.changed || removed != c.removed {
			t.Errorf("%q to %q: %q, %d added, %d changed, %d removed", c.before, c.now, ops, added, changed,
				removed)
		}
	}
}

// A record of which nothing is left is not erased again.
func TestIsStub(t *testing.T) {
	for _, c := range []struct {
		change func(*record.Resource)
		want   bool
	}{
		{func(*record.Resource) {}, true},
		{func(r *record.Resource) { r.Outcome = site.Gone }, false},
		{func(r *record.Resource) { r.InSet = true }, false},
		{func(r *record.Resource) { r.Path = "a" }, false},
		{func(r *record.Resource) { r.Target = 1 }, false},
		{func(r *record.Resource) { r.Fetched = 1 }, false},
		{func(r *record.Resource) { r.Body = record.BlobBody }, false},
	} {
		rec := record.Resource{URL: site.Canonical("http://h/"), Outcome: site.OutOfScope}
		c.change(&rec)
		if got := isStub(&rec); got != c.want {
			t.Errorf("%+v: %t", rec, got)
		}
	}
}
