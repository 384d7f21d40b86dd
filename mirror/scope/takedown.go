// SPDX-License-Identifier: Apache-2.0

package scope

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"mirrord/job"
	"mirrord/site"
)

// TakeDownsFact is the name of the site's fact that has its TakeDowns.
const TakeDownsFact = "takedowns"

// TakeDown is a URL, or a pattern of URLs, that was taken out of a mirror and is not requested again.
type TakeDown struct {
	What     string    `json:"what"`           // a URL, or a pattern as those of scope.exclude
	Glob     bool      `json:"glob,omitempty"` // a pattern, not a URL
	Reason   string    `json:"reason"`
	At       time.Time `json:"at"`
	URLs     int       `json:"urls,omitempty"`     // that the mirror knew
	Versions int       `json:"versions,omitempty"` // that had a file of them
}

// TakeDownWork is the remaining work of the take-downs of a site.
type TakeDownWork string

// What can be left to do. Each step does the next ones too.
const (
	NothingLeft TakeDownWork = ""
	EraseLeft   TakeDownWork = "erase"  // the mirror still has what was taken down
	SharedLeft  TakeDownWork = "shared" // only the bodies that sites share were not collected since
)

// TakeDowns is everything that was taken out of a mirror.
type TakeDowns struct {
	List []TakeDown   `json:"list"`
	Left TakeDownWork `json:"left,omitempty"`

	exact map[site.URL]int // index in List
	globs []*site.Glob     // of the patterns of List, nil for URLs
}

// KeptFacts are the facts of a site: *store.SiteNotes has them.
type KeptFacts interface {
	Fact(name string) ([]byte, error)
}

// TakeDownsOf returns what was taken out of a mirror, from the facts of its site.
func TakeDownsOf(facts KeptFacts) (*TakeDowns, error) {
	t := new(TakeDowns)
	v, err := facts.Fact(TakeDownsFact)
	if err != nil {
		return nil, err
	}
	if len(v) > 0 {
		if err := json.Unmarshal(v, t); err != nil {
			return nil, fmt.Errorf("what was taken down: %w", err)
		}
	}
	return t, t.compile()
}

// Value is the value of the fact, nil when there is nothing to keep.
func (t *TakeDowns) Value() []byte {
	if len(t.List) == 0 && t.Left == NothingLeft {
		return nil
	}
	v, err := json.Marshal(t)
	if err != nil {
		panic(err) // plain data
	}
	return v
}

// With returns the take-downs with more of them, which take the place of equal ones.
func (t *TakeDowns) With(more ...TakeDown) (*TakeDowns, error) {
	out := &TakeDowns{List: slices.Clone(t.List), Left: t.Left}
	for _, d := range more {
		out.List = append(slices.DeleteFunc(out.List, d.same), d)
	}
	return out, out.compile()
}

// Without returns the take-downs without one; ok is false when it is not among them.
func (t *TakeDowns) Without(what string) (out *TakeDowns, ok bool, err error) {
	out = &TakeDowns{Left: t.Left}
	out.List = slices.DeleteFunc(slices.Clone(t.List), func(d TakeDown) bool { return d.What == what })
	return out, len(out.List) < len(t.List), out.compile()
}

func (d TakeDown) same(o TakeDown) bool { return d.What == o.What && d.Glob == o.Glob }

func (t *TakeDowns) compile() error {
	t.exact, t.globs = map[site.URL]int{}, make([]*site.Glob, len(t.List))
	for i := range t.List {
		d := &t.List[i]
		if d.Glob {
			g, err := site.CompileGlob(d.What)
			if err != nil {
				return fmt.Errorf("what was taken down: %w", err)
			}
			t.globs[i] = g
			continue
		}
		u, _, err := site.Parse(d.What)
		if err != nil {
			return fmt.Errorf("what was taken down: %w", err)
		}
		t.exact[u.Normal()] = i
	}
	return nil
}

// Of returns the take-down that a URL is part of; nil for none.
func (t *TakeDowns) Of(u site.URL) *TakeDown {
	if t == nil {
		return nil
	}
	if i, ok := t.exact[u.Normal()]; ok {
		return &t.List[i]
	}
	for i, g := range t.globs {
		if g != nil && g.Match(u) {
			return &t.List[i]
		}
	}
	return nil
}

// Has reports whether a URL was taken down.
func (t *TakeDowns) Has(u site.URL) bool { return t.Of(u) != nil }

// Sentence says that a URL was taken down, when and why.
func (d *TakeDown) Sentence() string {
	return fmt.Sprintf("forgotten on %s: %s", d.At.UTC().Format(time.DateOnly), d.Reason)
}

// CompileFor is Compile for a site: what was taken from it is out of scope, regardless of the job, and the
// programs that make it are known. It returns what was taken, too. Without facts it is Compile.
func CompileFor(j *job.Job, facts KeptFacts) (*URLRules, *TakeDowns, error) {
	r, err := Compile(j)
	if (err != nil) || (facts == nil) {
		return r, nil, err
	}
	if err := r.recall(facts); err != nil {
		return nil, nil, err
	}
	down, err := TakeDownsOf(facts)
	if (err != nil) || (len(down.List) == 0) {
		return r, down, err
	}
	r.down = down
	r.Scope = r.Scope.Without(func(u site.URL) (reason string, out bool) {
		if d := down.Of(u); d != nil {
			return d.Sentence(), true
		}
		return "", false
	})
	return r, down, nil
}
