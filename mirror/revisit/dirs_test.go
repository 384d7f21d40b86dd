// SPDX-License-Identifier: Apache-2.0

package revisit

import (
	"fmt"
	"slices"
	"testing"

	"mirrord/evolution/policy"
	"mirrord/mirror/urls"
	"mirrord/site"
	"mirrord/store/record"
)

// shelves is a site in which some directories hold only their index.
func shelves(list []string, gone map[string]bool) (k KnownSite, all []site.URL) {
	s := urls.New().Settled()
	s.Reserve(uint32(len(list)))
	for id, u := range list {
		all = append(all, site.Canonical(u))
		s.Load(&record.Resource{
			ID:      uint32(id),
			URL:     all[id],
			Outcome: site.Unchanged,
			InSet:   !gone[u],
			MIME:    "text/html",
		}, urls.Run{Number: 2, Version: 2})
	}
	ids := record.IDs{{First: 0, Last: uint32(len(list) - 1)}}
	first := record.Observation{
		Run:      1,
		Time:     1_700_000_000,
		Complete: true,
		Asked:    ids,
		Entered:  ids,
	}
	return KnownSite{
		Name:     "shelves",
		Primary:  home,
		Table:    s,
		Observed: observed{first},
	}, all
}

// A directory that holds only its index counts as a page of the one above; one that holds more, or below
// which something lies, a host and a directory listing do not. Rules know them all.
func TestDirectoriesOfOnePage(t *testing.T) {
	list := []string{
		home + "/",
		home + "/posts/",
		home + "/posts/one/",
		home + "/posts/two/index.html",
		home + "/posts/two/old.html", // not in the mirror
		home + "/posts/three/",
		home + "/posts/three/picture.png",
		home + "/posts/four/text.html",
		home + "/docs/a/",
		home + "/docs/a/b/",
		home + "/files/",
		"https://cdn.example.org/",
		home + "/posts/gone/", // no longer in the mirror
		home + "/old/a.html",  // neither are these
		home + "/old/",
	}
	want := []string{
		"", "posts", "posts", "posts", "posts/two", "posts/three", "posts/three", "posts/four", "docs/a", "docs/a",
		"files", "@cdn.example.org", "posts", "old", "old",
	}
	k, all := shelves(list, map[string]bool{list[4]: true, list[12]: true, list[13]: true, list[14]: true})
	var listings urls.IDSet
	listings.Put(10, true)
	d := k.ShownDirs(listings)
	for i, u := range all {
		if got := d.Path(d.Of(u)); got != want[i] {
			t.Errorf("%s counts in %q, want %q", u, got, want[i])
		}
	}
	exact := NewDirTable(home)
	if got := exact.Path(exact.Of(all[2])); got != "posts/one" {
		t.Errorf("by the directories as they are %s is in %q", all[2], got)
	}

	// And so they are in the history that is shown: /posts/ has three pages of its own and two directories.
	h, err := k.History(k.ShownDirs(listings))
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := h.Dirs().Lookup("posts/one"); ok {
		t.Error("a directory of one page is shown")
	}
	if _, ok := h.Dirs().Lookup("posts/gone"); ok {
		t.Error("a page that went is shown as a directory")
	}
	if _, ok := h.Dirs().Lookup("posts/three"); !ok {
		t.Error("a directory of two pages is not shown")
	}
}

// On a site or in a subtree with a directory for nearly each page these are units of the directory above,
// each with a key of its own; where few directories are such, and for rules, they are what they are.
func TestUnitsOfDirectoriesOfOnePage(t *testing.T) {
	urls := []string{home + "/", home + "/posts/"}
	for p := range 10 {
		urls = append(urls, fmt.Sprintf(home+"/posts/p%d/", p))
	}
	blog := slices.Clone(urls)
	for d := range 80 {
		blog = append(blog, fmt.Sprintf(home+"/docs/d%d/a.html", d), fmt.Sprintf(home+"/posts/more%d/", d))
	}
	for d := range 30 {
		blog = append(blog, fmt.Sprintf(home+"/api/d%d/a.html", d))
	}
	few := append([]string{home + "/docs/a/b/c/d.html"}, urls[:5]...)
	for _, c := range []struct {
		what   string
		urls   []string
		exact  bool
		a, b   policy.ID
		folded bool
	}{
		{"nearly all", urls, false, 1, 5, true},
		{"nearly all, for rules", urls, true, 1, 5, false},
		{"those of a subtree", blog, false, 2, 5, true},
		{"few", few, false, 2, 3, false},
	} {
		k, all := shelves(c.urls, nil)
		m, err := k.Model(ModelOptions{Run: 2, Exact: c.exact})
		if err != nil {
			t.Fatal(err)
		}
		if got := m.DirOf(c.a) == m.DirOf(c.b); got != c.folded {
			t.Errorf("%s: %s and %s in one directory: %v", c.what, all[c.a], all[c.b], got)
		}
		keys := map[uint32]bool{}
		for id := range all {
			keys[m.Key(policy.ID(id))] = true
		}
		if len(keys) != len(all) {
			t.Errorf("%s: %d keys of %d URLs", c.what, len(keys), len(all))
		}
	}
}
