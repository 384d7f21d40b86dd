// SPDX-License-Identifier: Apache-2.0

package deadlinks

import (
	"context"
	"errors"
	"maps"
	"testing"

	"mirrord/mirror/render"
)

func TestChoose(t *testing.T) {
	const broken, copied = "http://gone.example/a", "http://copy.example/a"
	found := map[string]render.Cure{broken: {To: copied, Why: "status 404"}}
	links := map[string][]render.RepairedLink{"index.html": {{At: 3, Was: broken, To: copied}}}
	none := map[string]render.Cure{}
	asNow, older := Applied{Hash: hashOf(found), Version: 2}, Applied{Hash: hashOf(found), Version: 1}
	repair := Choice{Record: true, Reset: true, Hash: hashOf(found)}
	repairNone := Choice{Record: true, Reset: true, Hash: hashOf(nil)}
	for _, tc := range []struct {
		name      string
		wanted    bool
		last      *Applied
		live      int
		found     map[string]render.Cure
		published map[string][]render.RepairedLink
		fails     bool // the search
		want      Choice
		cures     map[string]render.Cure
		compares  bool
	}{
		{name: "not wanted, never done", live: 2, published: links},
		{
			name:      "no longer wanted",
			last:      &asNow,
			live:      2,
			published: links,
			want:      repairNone,
			compares:  true,
		},
		{name: "nothing is broken", wanted: true, live: 2, found: none},
		{name: "first version", wanted: true, found: found, want: repair, cures: found},
		{
			name:     "something broke",
			wanted:   true,
			live:     2,
			found:    found,
			want:     repair,
			cures:    found,
			compares: true,
		},
		{
			name:      "as before",
			wanted:    true,
			last:      &asNow,
			live:      2,
			found:     found,
			published: links,
			want:      repair,
			cures:     found,
		},
		{
			name:      "of another version",
			wanted:    true,
			last:      &older,
			live:      2,
			found:     found,
			published: links,
			want:      repair,
			cures:     found,
			compares:  true,
		},
		{
			name:   "nothing was and is repaired",
			wanted: true,
			last:   &Applied{},
			live:   2,
			found:  none,
			want:   Choice{Record: true, Hash: hashOf(nil)},
		},
		{
			name:      "unreadable",
			wanted:    true,
			last:      &Applied{},
			live:      2,
			fails:     true,
			published: links,
			want:      Choice{Record: true},
			cures:     map[string]render.Cure{broken: {To: copied}},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			notes := 0
			got, err := Choose(context.Background(), Situation{
				Wanted: tc.wanted,
				Last:   tc.last,
				Live:   tc.live,
				Find: func(context.Context) (map[string]render.Cure, error) {
					if tc.fails {
						return nil, errors.New("damaged")
					}
					return maps.Clone(tc.found), nil
				},
				Own: func(string) bool { return false },
				Published: func() (map[string][]render.RepairedLink, error) {
					p := map[string][]render.RepairedLink{}
					maps.Copy(p, tc.published)
					return p, nil
				},
				Note: func(string) { notes++ },
			})
			if err != nil {
				t.Fatal(err)
			}
			if !maps.Equal(got.Cures, tc.cures) {
				t.Errorf("cures %v, want %v", got.Cures, tc.cures)
			}
			if got.Hash != tc.want.Hash || got.Record != tc.want.Record || got.Reset != tc.want.Reset {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
			if (got.Compare != nil) != tc.compares {
				t.Errorf("compares with %v", got.Compare)
			}
			if (notes > 0) != tc.fails {
				t.Errorf("%d notes", notes)
			}
		})
	}
}

// A copy that the site itself has would have to follow its file.
func TestChooseOwnCopy(t *testing.T) {
	c, err := Choose(context.Background(), Situation{
		Wanted: true,
		Live:   1,
		Find: func(context.Context) (map[string]render.Cure, error) {
			return map[string]render.Cure{"http://gone.example/": {To: "http://own.example/"}}, nil
		},
		Own: func(u string) bool { return u == "http://own.example/" },
	})
	if err != nil || len(c.Cures) != 0 || c.Record {
		t.Errorf("got %+v, %v", c, err)
	}
}

// A version that comes back has the repaired links that it had.
func TestChooseGiven(t *testing.T) {
	given := map[string]render.Cure{"http://gone.example/": {To: "http://copy.example/"}}
	c, err := Choose(context.Background(), Situation{
		Last:  &Applied{Hash: "x", Version: 3},
		Live:  3,
		Given: given,
		Published: func() (map[string][]render.RepairedLink, error) {
			return map[string][]render.RepairedLink{}, nil
		},
	})
	marks := c.Record && c.Reset && (c.Compare != nil)
	if (err != nil) || !maps.Equal(c.Cures, given) || !marks || (c.Hash != "") {
		t.Errorf("got %+v, %v", c, err)
	}
}

// facts are facts of a site in memory.
type facts map[string][]byte

func (f facts) Fact(name string) ([]byte, error) { return f[name], nil }

func (f facts) SetFact(name string, v []byte) error {
	f[name] = v
	return nil
}

func TestAppliedIsKept(t *testing.T) {
	f := facts{}
	if got, err := Load(f); got != nil || err != nil {
		t.Errorf("nothing was saved: got %+v, %v", got, err)
	}
	want := Applied{Hash: "a", Version: 3}
	if err := want.Save(f); err != nil {
		t.Fatal(err)
	}
	if got, err := Load(f); err != nil || *got != want {
		t.Errorf("got %+v, %v", got, err)
	}
	f[appliedFact] = []byte("{")
	if got, err := Load(f); err != nil || *got != (Applied{}) {
		t.Errorf("damage: got %+v, %v", got, err)
	}
}
