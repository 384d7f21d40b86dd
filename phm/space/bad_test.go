// SPDX-License-Identifier: Apache-2.0

package space

import (
	"strings"
	"testing"

	"mirrord/phm"
	"mirrord/site"
)

// Mirrors that link in circles, also to themselves by their own address, whichever comes first and leaves
// first.
func TestCircle(t *testing.T) {
	names := []string{"a", "b", "c"}
	for first := range names {
		w := newWorld(t)
		for i := range names {
			name, next := names[(first+i)%3], names[(first+i+1)%3]
			w.publish(name, map[string]string{
				"index.html": page(w.urlOf(next, "index.html"), w.urlOf(name, "index.html")),
				"d/p.html":   page(w.urlOf(next, "d/p.html#x")),
			})
			w.members[name] = true
			w.update()
			w.check("comes: " + name)
		}
		for i := range names {
			delete(w.members, names[(first+i)%3])
			w.update()
			w.check("leaves: " + names[(first+i)%3])
		}
	}
}

// Two mirrors of one site, one of them of a directory of it: their own copies come first, then that of the
// narrower scope, and then that of the other one.
func TestTwoDepths(t *testing.T) {
	w := newWorld(t)
	for p, u := range map[string]string{
		"host/index.html": "http://h.example/", "host/docs/x.html": "http://h.example/docs/x.html",
		"docs/index.html": "http://h.example/docs/", "docs/x.html": "http://h.example/docs/x.html",
	} {
		w.urls[p] = u
	}
	w.publish("host", map[string]string{
		"index.html":  page("http://h.example/docs/x.html", "http://h.example/docs/"),
		"docs/x.html": "of host",
	})
	w.publish("docs", map[string]string{
		"index.html": page("http://h.example/docs/x.html", "http://h.example/"),
		"x.html":     "of docs",
	})
	w.publish("from", map[string]string{"index.html": page("http://h.example/docs/x.html")})
	w.sites["host"].places, w.sites["docs"].places = []string{"h.example/"}, []string{"h.example/docs/"}
	for _, step := range []struct {
		come, leave string
		at, ref     string
	}{
		{"from", "", "@@from/index.html", "http://h.example/docs/x.html"},
		{"host", "", "@@from/index.html", "../@@host/docs/x.html"},
		{"docs", "", "@@from/index.html", "../@@docs/x.html"},
		{"", "", "@@host/index.html", "http://h.example/docs/x.html"}, // as published: it holds that
		{"", "", "@@host/index.html", "../@@docs/index.html"},
		{"", "", "@@docs/index.html", "../@@host/index.html"},
		{"", "docs", "@@from/index.html", "../@@host/docs/x.html"},
		{"", "host", "@@from/index.html", "http://h.example/docs/x.html"},
	} {
		if step.come != "" {
			w.members[step.come] = true
		}
		delete(w.members, step.leave)
		w.update()
		w.check(step.come + step.leave)
		if got := w.files()[step.at]; !strings.Contains(got, `"`+step.ref+`"`) {
			t.Errorf("%+v: %s", step, got)
		}
	}
}

// Scopes that overlap without one being around the other: the name decides. A scope that changes without a
// new version changes the links.
func TestOverlap(t *testing.T) {
	w := newWorld(t)
	const u = "http://h.example/both.html"
	w.publish("from", map[string]string{"index.html": page(u)})
	for _, name := range []string{"x", "y"} {
		w.urls[name+"/both.html"] = u
		w.publish(name, map[string]string{"both.html": "of " + name, "index.html": name})
		w.sites[name].places = []string{"h.example/", name + ".example/"}
		w.members[name] = true
	}
	w.members["from"] = true
	for _, step := range []struct{ place, leads string }{
		{"h.example/", "../@@x/both.html"},
		{"h.example/both", "../@@y/both.html"},
		{"*.example", "../@@x/both.html"},
	} {
		w.sites["y"].places = []string{step.place, "y.example/"}
		w.update()
		w.check(step.place)
		if got := w.files()["@@from/index.html"]; got != page(step.leads) {
			t.Errorf("%s: %s", step.place, got)
		}
	}
}

// A URL whose type changes gets another path, which may be below the old one, or above it.
func TestPathsChange(t *testing.T) {
	w := newWorld(t)
	const u = "http://b.example/doc"
	w.publish("a", map[string]string{"index.html": page(u + "#part")})
	w.members["a"], w.members["b"] = true, true
	for _, p := range []string{"doc.html", "doc.png", "doc/index.html", "doc", "doc/index.html", "doc.html"} {
		w.urls = map[string]string{"b/" + p: u}
		w.publish("b", map[string]string{"index.html": "b", p: "as " + p})
		w.update()
		w.check(p)
		if got, want := w.files()["@@a/index.html"], page("../@@b/"+p+"#part"); got != want {
			t.Errorf("%s: %s, want %s", p, got, want)
		}
	}
}

// What a site has at an address that looks like the folder of a mirror gets another path; folders of
// mirrors differ by more than case.
func TestFolderNames(t *testing.T) {
	w := newWorld(t)
	u, _, err := site.Parse("http://a.example/@@b/index.html")
	w.must(err)
	odd := phm.Layout{Primary: u.Origin()}.Preferred(u, "text/html")
	if strings.HasPrefix(odd, folderMark) {
		t.Fatal(odd)
	}
	w.urls["a/"+odd] = u.String()
	w.publish("a", map[string]string{"index.html": page(u.String(), w.urlOf("b", "index.html")), odd: "of a"})
	w.publish("b", map[string]string{"index.html": page(u.String())})
	w.members["a"], w.members["b"] = true, true
	w.update()
	w.check("a site with folders of that name")
	for p, want := range map[string]string{
		"@@b/x": "b", "@@b": "b", "@@B/x": "", "@@/x": "", "@@../x": "", "@b/x": "", "@@b.": "", "@@b%2E/x": "b.",
		"@@b%2e": "", "@@b%2E%2E": "",
	} {
		if got, _, ok := MirrorOf(p); ok != (want != "") || (ok && got != want) {
			t.Errorf("%s: %q, %v, want %q", p, got, ok, want)
		}
	}
	w.publish("c.", map[string]string{"index.html": page(w.urlOf("b", "index.html"))})
	w.publish("b", map[string]string{"index.html": page(w.urlOf("c.", "index.html"))})
	w.members["c."] = true
	w.update()
	if got := w.files()["@@b/index.html"]; got != page("../@@c%252E/index.html") {
		t.Error(got)
	}
	if got := w.files()["@@c%2E/index.html"]; got != page("../@@b/index.html") {
		t.Error(got)
	}
}

// File systems without case, or with another normal form, keep all files of a space apart: those of one
// mirror by the rule of PHM, folders of mirrors because names of jobs have no capitals, and last copies.
func TestFolding(t *testing.T) {
	seen := map[string]string{}
	apart := func(p string) {
		t.Helper()
		if other, ok := seen[phm.Fold(p)]; ok {
			t.Errorf("%s and %s are one file", p, other)
		}
		seen[phm.Fold(p)] = p
	}
	for _, name := range []string{"c", "c.", "c-", "c_", "c.d"} {
		apart(MirrorFolder(name))
	}
	for _, raw := range []string{
		"http://h.example/Page.html", "http://h.example/page.html", "http://h.example/page.HTML",
		"http://h.example/caf%C3%A9", "http://h.example/cafe%CC%81", "http://h.example/?a", "http://h.example/?A",
	} {
		u, _, err := site.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		apart(LastFolder + "/" + phm.Layout{}.Qualified(u, "text/html"))
	}
	odd, _, err := site.Parse("http://h.example/@@LAST/x.html")
	if err != nil {
		t.Fatal(err)
	}
	p := phm.Layout{Primary: odd.Origin()}.Preferred(odd, "text/html")
	if strings.HasPrefix(phm.Fold(p), LastFolder) {
		t.Errorf("the site's own %s lies among last copies", p)
	}
}
