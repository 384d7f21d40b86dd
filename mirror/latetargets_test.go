// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"fmt"
	"strings"
	"testing"

	"mirrord/mirror"
	"mirrord/testing/mirrortest"
)

// sameAsFresh fails when the documents of a mirror differ from those of one that is made of the site as it is
// now.
func sameAsFresh(t *testing.T, w *mirrortest.Web, m *mirrortest.Mirror, toml string) {
	t.Helper()
	fresh := mirrortest.New(t, w, toml)
	wantVerdict(t, fresh.Run(), mirror.Complete, true)
	got, want := m.Tree(), fresh.Tree()
	for p, text := range want {
		if strings.HasPrefix(p, "phm.") {
			continue
		}
		if got[p] != text {
			t.Errorf("%s is %.300q\nin a fresh mirror %.300q", p, got[p], text)
		}
	}
	for p := range got {
		if _, ok := want[p]; !ok {
			t.Errorf("%s should not be there", p)
		}
	}
}

// What documents link to changes, and they do not: a target that is missing and then found, a chain of
// redirects that ends outside and then inside, a file whose type and name change. Each run publishes the
// links of a mirror that is made of the site as it is then.
func TestTargetsThatChange(t *testing.T) {
	t.Parallel()
	w := mirrortest.Start(t)
	const page = `<a href=late.html#x>late</a> <a href=c1>chain</a> <a href=thing>thing</a> <img src=thing>`
	w.Set(home+"/", mirrortest.HTML("Home", `<a href=page.html>page</a> <a href=dir/other.html>other</a>`))
	w.Set(home+"/page.html", mirrortest.HTML("Page", page))
	w.Set(home+"/dir/other.html", mirrortest.HTML("Other", strings.ReplaceAll(page, "=", "=../")))
	w.Set(home+"/c1", mirrortest.Redirect("/c2"))
	w.Set(home+"/c2", mirrortest.Redirect("/c3"))
	w.Set(home+"/in.html", mirrortest.HTML("In", "in"))
	typed := func(mime, body string) mirrortest.Page {
		return mirrortest.Page{Header: map[string]string{"Content-Type": mime}, Body: body}
	}
	toml := job(`limits.max_delete = "100%"`)
	m := mirrortest.New(t, w, toml)
	for run, state := range []struct {
		late, end mirrortest.Page
		thing     mirrortest.Page
		want      string // in page.html
	}{
		{mirrortest.Status(404), mirrortest.Redirect("http://other.example.net/x"), typed("image/png", "png"),
			"href=" + home + "/late.html#x"},
		{mirrortest.HTML("Late", "late"), mirrortest.Redirect("/in.html"),
			typed("text/html", "<title>Thing</title>"), "href=late.html#x"},
		{mirrortest.HTML("Late", "late"), mirrortest.Redirect("/late.html"),
			typed("image/gif", "gif"), "href=late.html#x"},
		{mirrortest.Status(404), mirrortest.Redirect("http://other.example.net/x"), typed("image/png", "png"),
			"href=" + home + "/late.html#x"},
	} {
		w.Set(home+"/late.html", state.late)
		w.Set(home+"/c3", state.end)
		w.Set(home+"/thing", state.thing)
		wantVerdict(t, m.Run(), mirror.Complete, true)
		if got := m.Tree()["page.html"]; !strings.Contains(got, state.want) {
			t.Errorf("run %d: page.html is %q, want %s", run+1, got, state.want)
		}
		sameAsFresh(t, w, m, toml)
	}
}

// All pages of a site link to one page that is missing: it is requested once in each run, and when it is
// found, the links of all of them lead to it. MIRRORD_LONG has more pages.
func TestManyPagesOneMissing(t *testing.T) {
	t.Parallel()
	w := mirrortest.Start(t)
	n := sized(100, 100_000)
	var links strings.Builder
	for i := range n {
		fmt.Fprintf(&links, "<a href=p%d.html>%d</a>\n", i, i)
		w.Set(fmt.Sprintf("%s/p%d.html", home, i), mirrortest.HTML(fmt.Sprint(i), "<a href=lost.html>lost</a>"))
	}
	w.Set(home+"/", mirrortest.HTML("Home", links.String()))
	m := mirrortest.New(t, w, job())
	for run, want := range []string{"href=" + home + "/lost.html", "href=lost.html"} {
		if run == 1 {
			w.Set(home+"/lost.html", mirrortest.HTML("Lost", "found"))
		}
		w.Asked()
		s := m.Run()
		wantVerdict(t, s, mirror.Complete, true)
		if got := w.Asked()[home+"/lost.html"]; got != 1 {
			t.Errorf("run %d: %d requests for the page that is missing", run+1, got)
		}
		tree := m.Tree()
		for i := range n {
			if p := fmt.Sprintf("p%d.html", i); !strings.Contains(tree[p], want) {
				t.Fatalf("run %d: %s is %q", run+1, p, tree[p])
			}
		}
	}
}

// The links of a large document change although it does not: it is published again with the new ones.
// MIRRORD_LONG has one of 200 MB.
func TestLargeDocumentIsLinkedAgain(t *testing.T) {
	t.Parallel()
	w := mirrortest.Start(t)
	size := sized(2<<20, 200<<20)
	const link = "<a href=late.html>late</a>"
	filler := strings.Repeat("<p>words and words and words, none of them a link</p>\n", size/2/54)
	w.Set(home+"/", mirrortest.HTML("Home", `<a href=large.html>large</a>`))
	w.Set(home+"/large.html", mirrortest.HTML("Large", link+filler+link+filler+link))
	m := mirrortest.New(t, w, job(`limits.max_delete = "100%"`, `limits.max_document = "256MB"`))
	for run, want := range []string{home + "/late.html", "late.html", home + "/late.html"} {
		if w.Remove(home + "/late.html"); run == 1 {
			w.Set(home+"/late.html", mirrortest.HTML("Late", "late"))
		}
		wantVerdict(t, m.Run(), mirror.Complete, true)
		got := m.Tree()["large.html"]
		if n := strings.Count(got, "<a href="+want+">late</a>"); n != 3 || len(got) < size {
			t.Errorf("run %d: %d links in %d bytes lead to %s", run+1, n, len(got), want)
		}
	}
}
