// SPDX-License-Identifier: Apache-2.0

package urls

import (
	"testing"

	"mirrord/site"
)

func TestStates(t *testing.T) {
	for u, c := range map[string]struct {
		states int
		place  string
	}{
		"/tree/a/notes.txt?id=4f3a2b1":                {1, "/tree/a/?id=*"},
		"/file/4f3a2b1c5d6e/a/notes.txt":              {1, "/file/…/a/"},
		"/rev/4f3a2b1c5d6e?revcount=60":               {1, "/rev/…?revcount=*"},
		"/?p=r.git;a=blob;f=x.c;h=4f3a2b1;hb=a1bcdef": {2, "/?a=blob&f=*&h=*&hb=*&p=*"},
		"/diff?from=4f3a2b1&to=4f3a2b1":               {1, "/?from=*&to=*"},
		"/list?tag=a&sort=name":                       {1, "/list in another order"},
		"/report/12?asc=1&USER=me":                    {1, "/report/* in another order"},
		"/issues?%40sort=-id&%40columns=title":        {1, "/issues in another order"},
		"/q?Order_By=x":                               {1, "/q in another order"},
		"/border?reorder=1&sorted=x":                  {},
		"/day/20260102/":                              {},
		"/item/1234567?page=2":                        {},
		"/facade/defaced":                             {},
		"/4f3a2b1c.html":                              {},
	} {
		x := StatedOf(site.Canonical("http://h" + u))
		want := ""
		if c.place != "" {
			want = "http://h" + c.place
		}
		if len(x.States) != c.states || x.Place != want {
			t.Errorf("%s: %d states at %q, want %d at %q", u, len(x.States), x.Place, c.states, want)
		}
	}
	u := func(path string) uint64 { return StatedOf(site.Canonical("http://h" + path)).View }
	if u("/a?id=4f3a2b1&x=1") != u("/a?x=1&id=a1bcdef") || u("/a?id=4f3a2b1&x=1") == u("/a?x=2&id=a1bcdef") {
		t.Error("the view is not the URL without its states")
	}
}

// A list is one state, however its orders are written.
func TestOrdersOfAList(t *testing.T) {
	list := StatedOf(site.Canonical("http://h/q?b=2&a=1&order=x&desc=1")).States[0]
	for _, u := range []string{"/q?a=1&order=y&b=2", "/q?asc=0&a=1&b=2", "/q?b=2&a=1&sort="} {
		if x := StatedOf(site.Canonical("http://h" + u)); x.States[0] != list || !x.Orders {
			t.Errorf("%s: another list", u)
		}
	}
	for _, u := range []string{"/q?a=1&order=y", "/p?a=1&b=2&order=x", "/q?a=2&b=1&order=x"} {
		if StatedOf(site.Canonical("http://h" + u)).States[0] == list {
			t.Errorf("%s: the same list", u)
		}
	}
	if u, ok := Unordered(site.Canonical("http://h/q?order=x")); !ok || u != site.Canonical("http://h/q") {
		t.Errorf("the list of the only parameter is %s", u)
	}
}
