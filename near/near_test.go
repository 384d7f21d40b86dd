// SPDX-License-Identifier: Apache-2.0

package near

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"mirrord/evolution"
)

// history makes one of versions, each a list of "path=contents" words.
func history(t testing.TB, versions ...string) *evolution.History {
	t.Helper()
	r := recording{}
	for _, words := range versions {
		v := map[string]string{}
		for _, w := range strings.Fields(words) {
			path, id, _ := strings.Cut(w, "=")
			v[path] = id
		}
		r.versions, r.missed = append(r.versions, v), append(r.missed, nil)
	}
	h := &evolution.History{}
	for i := range r.versions {
		r.add(t, h, i)
	}
	return h
}

func dir(t testing.TB, h *evolution.History, path string) evolution.Dir {
	t.Helper()
	d, ok := h.Dirs().Lookup(path)
	if !ok {
		t.Fatalf("%q is not in the table", path)
	}
	return d
}

func TestValidate(t *testing.T) {
	h := history(t, "a=1", "a=2")
	for _, c := range []struct {
		say string
		o   func(*Options)
	}{
		{"alpha", func(o *Options) { o.MinDoC = -0.01 }},
		{"alpha", func(o *Options) { o.MinDoC = 1.01 }},
		{"alpha", func(o *Options) { o.MinDoC = math.NaN() }},
		{"beta", func(o *Options) { o.MinFoC = 2 }},
		{"beta", func(o *Options) { o.MinFoC = math.Inf(-1) }},
		{"gamma", func(o *Options) { o.MinCoC = -0.5 }},
		{"min-conf", func(o *Options) { o.MinConfidence = 50 }},
		{"zero", func(o *Options) { o.Zero = 3 }},
		{"steps", func(o *Options) { o.From = -1 }},
		{"steps", func(o *Options) { o.From, o.To = 3, 2 }},
		{"negative", func(o *Options) { o.MinSteps = -1 }},
		{"negative", func(o *Options) { o.Expire = -1 }},
		{"negative", func(o *Options) { o.MaxChains = -1 }},
	} {
		o := Best()
		c.o(&o)
		_, one := Mine(h, o)
		if one == nil || !strings.Contains(one.Error(), c.say) {
			t.Errorf("%+v: %v, want an error that says %s", o, one, c.say)
		}
	}
	for _, o := range []Options{Strict(), Third(), Best(), {}, {
		MinDoC:        1,
		MinFoC:        1,
		MinCoC:        1,
		MinConfidence: 1,
	}} {
		if err := o.Validate(); err != nil {
			t.Errorf("%+v: %v", o, err)
		}
	}
	for _, z := range []Zero{ZeroNever, ZeroZero, ZeroStrict} {
		text, _ := z.MarshalText()
		var back Zero = 9
		if err := back.UnmarshalText(text); err != nil || back != z {
			t.Errorf("%s: read back as %s, %v", text, back, err)
		}
	}
	if new(Zero).UnmarshalText([]byte("nil")) == nil {
		t.Error("zero nil: no error")
	}
}

func TestNothingToLearnFrom(t *testing.T) {
	for name, h := range map[string]*evolution.History{
		"no history":  {},
		"one version": history(t, "a/x=1 b/y=1"),
		"no change":   history(t, "a/x=1 b/y=1", "a/x=1 b/y=1", "a/x=1 b/y=1"),
	} {
		rules, err := Mine(h, Best())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if rules.Len() != 0 || len(slices.Collect(rules.Skips().Top())) != 0 {
			t.Errorf("%s: %d rules", name, rules.Len())
		}
		if _, skipped := rules.Skips().below("a/x/y"); skipped {
			t.Errorf("%s: a new directory is skipped", name)
		}
	}
	h := history(t, "a/x=1 k=1", "a/x=1 k=2")
	if rules, err := Mine(h, Options{}); err != nil || rules.Len() != 0 {
		t.Errorf("beta 0: %v, %d rules, want none", err, rules.Len())
	}
}

func TestRuleInWords(t *testing.T) {
	h := history(t, "new/x=1 old/y=1 old/a/z=1", "new/x=2 old/y=1 old/a/z=1", "new/x=3 old/y=2 old/a/z=1",
		"new/x=4 old/y=2 old/a/z=2", "new/x=5 old/y=2 old/a/z=2")
	o := Best()
	o.MinFoC = 0.6
	rules, err := Mine(h, o)
	if err != nil {
		t.Fatal(err)
	}
	rule, ok := rules.For(dir(t, h, "old"))
	if !ok {
		t.Fatal("old has no rule")
	}
	if got, want := rule.Text(h.Dirs()), "/ => not old"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := rule.Why(h.Dirs()), "/ changed in 4 of 4 steps, old in 2 of them"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if rule.Support() != 1 || rule.Joint() != 0.5 || rule.Confidence() != 0.5 {
		t.Errorf("%+v: support %v, joint %v, confidence %v", rule, rule.Support(), rule.Joint(), rule.Confidence())
	}
	if _, ok := rules.For(evolution.Root); ok {
		t.Error("the root has a rule")
	}
	if _, ok := rules.For(dir(t, h, "new")); ok {
		t.Error("new, which always changes, has a rule")
	}
}

// Skipping takes the topmost directories only, what comes up below them later too, and never the root.
func TestSkips(t *testing.T) {
	h := history(t, "k=1 old/x=1 old/deep/er/y=1 new/z=1 new/quiet/q=1",
		"k=2 old/x=1 old/deep/er/y=1 new/z=2 new/quiet/q=1", "k=3 old/x=1 old/deep/er/y=1 new/z=3 new/quiet/q=1")
	rules, err := Mine(h, Best())
	if err != nil {
		t.Fatal(err)
	}
	paths := func(s *Skips) (out []string) {
		for d := range s.Top() {
			out = append(out, h.Dirs().Path(d))
		}
		slices.Sort(out)
		return out
	}
	skips := rules.Skips()
	if got, want := paths(skips), []string{"new/quiet", "old"}; !slices.Equal(got, want) {
		t.Errorf("skipped are %q, want %q", got, want)
	}
	if !rules.Has(dir(t, h, "old/deep")) {
		t.Error("old/deep has no rule of its own: it is to be shown that it does not come to bear")
	}
	for path, want := range map[string]string{
		"old/x": "old", "old/born/later/x": "old", "old/deep/er/y": "old", "new/quiet/sub/q": "new/quiet",
		"k": "", "new/z": "", "new/quietly/q": "", "other/born/x": "", "old": "", "older/x": "",
	} {
		d, skipped := skips.below(above(path))
		if skipped != (want != "") || h.Dirs().Path(d) != want {
			t.Errorf("%s: skipped in %q, want %q", path, h.Dirs().Path(d), want)
		}
	}
	// The history continues: a directory that came after mining lies where it lies.
	rec := h.Record(9)
	rec.Insert(rec.Dir("old/later"), 1)
	rec.Insert(rec.Dir("later"), 1)
	if err := rec.Commit(); err != nil {
		t.Fatal(err)
	}
	if _, skipped := skips.Dir(dir(t, h, "old/later")); !skipped {
		t.Error("old/later is not skipped")
	}
	if _, skipped := skips.Dir(dir(t, h, "later")); skipped || rules.Has(dir(t, h, "later")) {
		t.Error("later is skipped")
	}
}

// A rule that could not be refuted for a while ends: the directory is visited, and then has a rule again if
// it is as it was.
func TestExpire(t *testing.T) {
	o := Best()
	o.Expire = 3
	var h evolution.History
	rec := h.Record(0)
	rec.Insert(rec.Dir("hot"), 1)
	rec.Insert(rec.Dir("old/cold"), 3)
	if err := rec.Commit(); err != nil {
		t.Fatal(err)
	}
	var visited []int
	for step := range 14 {
		rules, err := Mine(&h, o)
		if err != nil {
			t.Fatal(err)
		}
		_, skipped := rules.Skips().below("old")
		rec := h.Record(int64(step))
		rec.Update(rec.Dir("hot"), 1)
		if skipped {
			rec.Miss(rec.Dir("old/cold"), 3)
		} else {
			visited = append(visited, step)
		}
		if err := rec.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	if want := []int{0, 4, 8, 12}; !slices.Equal(visited, want) {
		t.Errorf("visited in steps %v, want %v", visited, want)
	}
}

// A step in which the consequent was not looked at says nothing of the pair.
func TestUnobservedStepsDoNotCount(t *testing.T) {
	var h evolution.History
	rec := h.Record(0)
	rec.Insert(rec.Dir("a"), 2)
	rec.Insert(rec.Dir("b"), 2)
	if err := rec.Commit(); err != nil {
		t.Fatal(err)
	}
	for step := range 6 {
		rec := h.Record(int64(step))
		rec.Update(rec.Dir("a"), 1)
		if step == 0 {
			rec.Update(rec.Dir("b"), 1) // the only step in which b was looked at, it changed
		} else {
			rec.Miss(rec.Dir("b"), 2)
		}
		if err := rec.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	rules, err := Mine(&h, Best())
	if err != nil {
		t.Fatal(err)
	}
	if rule, ok := rules.For(dir(t, &h, "b")); ok {
		t.Errorf("b is skipped because it was not looked at: %s", rule.Why(h.Dirs()))
	}
}

// A site that is rebuilt whole in every version: every directory always changes, and nothing is skipped.
func TestRebuiltWhole(t *testing.T) {
	var versions []string
	for i := range 8 {
		versions = append(versions, fmt.Sprintf("x=%d a/x=%d a/b/y=%d css/%x/z=1", i, i, i, i*7919))
	}
	for name, o := range map[string]Options{"strict": Strict(), "third": Third(), "best": Best()} {
		h := history(t, versions...)
		rules, err := Mine(h, o)
		if err != nil {
			t.Fatal(err)
		}
		for d := range rules.Skips().Top() {
			// those came and went; they may have rules, and nothing is there
			if path := h.Dirs().Path(d); !strings.HasPrefix(path, "css/") {
				t.Errorf("%s: %s is skipped", name, path)
			}
		}
	}
}

// TestMineIsTheSameTwice: the order of maps has no say.
func TestMineIsTheSameTwice(t *testing.T) {
	var versions []string
	for i := range 12 {
		versions = append(versions, fmt.Sprintf("k=%d a/b/c/x=%d a/b/y=%d a/z=%d q/r/s=1", i, i/3, i/2, i/5))
	}
	list := func() (out []string) {
		h := history(t, versions...)
		for _, o := range []Options{Strict(), Third(), Best()} {
			rules, err := Mine(h, o)
			if err != nil {
				t.Fatal(err)
			}
			for r := range rules.All() {
				out = append(out, r.Text(h.Dirs()))
			}
		}
		return out
	}
	first := list()
	if len(first) < 4 {
		t.Fatalf("%d rules", len(first))
	}
	for range 5 {
		if !slices.Equal(list(), first) {
			t.Fatal("the rules come in another order")
		}
	}
	counts := map[string]int{}
	for _, r := range first {
		counts[r]++
	}
	if n := slices.Max(slices.Collect(maps.Values(counts))); n > 6 {
		t.Errorf("a rule comes up %d times in 3 settings", n)
	}
}
