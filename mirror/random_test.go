// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"mirrord/mirror"
	"mirrord/testing/mirrortest"
)

// world is a small random site that changes.
type world struct {
	rnd   *rand.Rand
	w     *mirrortest.Web
	paths []string
	pages map[string]mirrortest.Page
	leads map[string]string // where a path redirects; "" for one that does not
	n     int
}

func newWorld(seed uint64) *world {
	x := &world{
		rnd:   rand.New(rand.NewPCG(seed, 7)),
		w:     mirrortest.NewWeb(),
		pages: map[string]mirrortest.Page{},
		leads: map[string]string{},
	}
	x.paths = []string{"/"}
	for i := range 25 {
		x.paths = append(x.paths, fmt.Sprintf("/p%d.html", i))
	}
	for i := range 6 {
		x.paths = append(x.paths, fmt.Sprintf("/i%d.png", i), fmt.Sprintf("/s%d.css", i), fmt.Sprintf("/dir%d", i),
			fmt.Sprintf("/dir%d/", i), fmt.Sprintf("/dir%d/x?q=%d", i, i))
	}
	for _, p := range x.paths {
		x.change(p)
	}
	return x
}

func (x *world) any() string { return x.paths[x.rnd.IntN(len(x.paths))] }

// change gives a path something else to answer.
func (x *world) change(p string) {
	x.n++
	var page mirrortest.Page
	leads := ""
	switch k := x.rnd.IntN(20); {
	case p == "/" || k < 12:
		page = x.document(p)
	case k < 15:
		to := x.any()
		for x.arrives(to, p) { // a circle is a failure, of which an old mirror keeps its copy
			to = x.any()
		}
		page = mirrortest.Redirect(to)
		leads = to
	case k < 18:
		page = mirrortest.Status([]int{404, 410}[x.rnd.IntN(2)])
	case k < 19:
		page = x.document(p)
		page.Header["X-Robots-Tag"] = "noarchive"
	default:
		page = mirrortest.Page{
			Body:   fmt.Sprint("plain ", x.n),
			Header: map[string]string{"Content-Type": "application/octet-stream"},
		}
	}
	x.leads[p] = leads
	x.set(p, page)
}

// arrives reports whether redirects from one path come to another.
func (x *world) arrives(from, at string) bool {
	for from != "" && from != at {
		from = x.leads[from]
	}
	return from == at
}

func (x *world) document(p string) mirrortest.Page {
	switch {
	case strings.HasSuffix(p, ".png"):
		return mirrortest.Page{Body: fmt.Sprint("png ", x.n), Header: map[string]string{}}
	case strings.HasSuffix(p, ".css"):
		return mirrortest.Page{
			Body:   fmt.Sprintf("@import %q; b { background: url(%s); order: %d }", x.any(), x.any(), x.n),
			Header: map[string]string{},
		}
	}
	var b strings.Builder
	for range 1 + x.rnd.IntN(4) {
		fmt.Fprintf(&b, "<a href=%q>x</a> <img src=%q>\n", x.any()+"#f", x.any())
	}
	fmt.Fprintf(&b, "<link rel=stylesheet href=%q> <a rel=nofollow href=%q>n</a> <link rel=canonical href=%q>",
		x.any(), x.any(), x.any())
	both := x.any() // a link, too: what only a script names may be found later by the old mirror
	fmt.Fprintf(&b, "<a href=%q>x</a><script>f(%q, %q)</script>", both, both, home+both)
	if x.rnd.IntN(8) == 0 && p != "/" { // of an entry point it is a gap
		b.WriteString("<meta name=robots content=nofollow>")
	}
	page := mirrortest.HTML(fmt.Sprint("Page ", x.n), b.String())
	page.NoTag = x.rnd.IntN(4) == 0
	return page
}

// evolve makes the next version.
func (x *world) evolve() {
	for range x.rnd.IntN(12) {
		x.change(x.any())
	}
	if x.rnd.IntN(3) == 0 { // robots.txt and its sitemap
		var b strings.Builder
		b.WriteString("Sitemap: /map.xml\nUser-agent: *\n")
		for range x.rnd.IntN(3) {
			if p := x.any(); p != "/" {
				fmt.Fprintf(&b, "Disallow: %s\n", p)
			}
		}
		x.set("/robots.txt", mirrortest.Page{Body: b.String()})
		b.Reset()
		for range x.rnd.IntN(4) {
			fmt.Fprintf(&b, "<url><loc>%s%s</loc></url>", home, x.any())
		}
		x.set("/map.xml", mirrortest.Page{Body: "<urlset>" + b.String() + "</urlset>"})
	}
}

func (x *world) set(p string, page mirrortest.Page) {
	x.pages[p] = page
	x.w.Set(home+p, page)
}

// rules are a scope that leaves something out; the job's rules change now and then.
func (x *world) rules() string {
	var out []string
	for range x.rnd.IntN(3) {
		if p := x.any(); p != "/" && !strings.Contains(p, "?") {
			out = append(out, fmt.Sprintf("%q", p))
		}
	}
	return "[" + strings.Join(out, ", ") + "]"
}

// run runs a job on the world; fail is the share of requests that break.
func (x *world) run(m *mirrortest.Mirror, fail float64) *mirror.Summary {
	f := &mirrortest.Fake{Web: x.w}
	m.Fetcher, m.Robots = f, f
	if fail > 0 {
		for _, p := range x.paths {
			if p != "/" && x.rnd.Float64() < fail {
				x.w.Set(home+p, mirrortest.Page{Handle: func(http.ResponseWriter, *http.Request) {
					panic(http.ErrAbortHandler)
				}})
			}
		}
		defer func() {
			for p, page := range x.pages {
				x.w.Set(home+p, page)
			}
		}()
	}
	return m.Run()
}

const worldJob = `limits.max_delete = 1.0`

// Random sites evolve, with failures in between, and what repeated runs make of them is held against a mirror
// that is made again: the same URLs, and the same bytes behind them.
func TestIncrementalIsAsFreshInBulk(t *testing.T) {
	t.Parallel()
	for seed := range sized[uint64](4, 40) {
		x := newWorld(seed)
		m := mirrortest.New(t, nil, job(worldJob))
		m.Hosts = mirrortest.Eager{}
		rules := "[]"
		for version := range 6 {
			if x.rnd.IntN(3) == 0 {
				rules = x.rules()
				m.Set("scope.exclude", rules)
			}
			for range x.rnd.IntN(3) { // runs that go wrong, or are cut off
				if x.rnd.IntN(2) == 0 {
					x.run(m, 0.4)
				} else {
					x.cut(t, m)
				}
			}
			s := x.run(m, 0)
			for range 3 { // a partial run resumes with answers from before the site changed
				if s.Verdict == mirror.Complete && !s.Resumed {
					break
				}
				s = x.run(m, 0)
			}
			if s.Verdict != mirror.Complete {
				t.Fatalf("seed %d, version %d:\n%s", seed, version, mirrortest.Text(s))
			}
			fresh := mirrortest.New(t, nil, job(worldJob))
			fresh.Hosts = mirrortest.Eager{}
			fresh.Set("scope.exclude", rules)
			if s := x.run(fresh, 0); s.Verdict != mirror.Complete {
				t.Fatalf("seed %d, version %d, fresh:\n%s", seed, version, mirrortest.Text(s))
			}
			if !sameMirror(t, m, fresh) {
				t.Fatalf("seed %d, version %d", seed, version)
			}
			x.evolve()
		}
	}
}

// cut makes a run that is interrupted.
func (x *world) cut(t *testing.T, m *mirrortest.Mirror) {
	f := &mirrortest.Fake{Web: x.w}
	m.Fetcher, m.Robots = f, f
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var asked atomic.Int64
	most := int64(1 + x.rnd.IntN(30))
	x.w.Hook(func(*http.Request) {
		if asked.Add(1) == most {
			cancel()
		}
	})
	defer x.w.Hook(nil)
	m.Set("polite.connections", "1")
	defer m.Set("polite.connections", "4")
	if _, err := m.RunWith(ctx, func(*mirror.Options) {}); err != nil {
		t.Error(err)
	}
}

// sameMirror compares by URL: a URL that came later than another one with the same preferred name has another
// path, for ever.
func sameMirror(t *testing.T, a, b *mirrortest.Mirror) bool {
	t.Helper()
	left, right := a.ByURL(), b.ByURL()
	ok := true
	keys := maps.Clone(left)
	maps.Copy(keys, right)
	for _, u := range slices.Sorted(maps.Keys(keys)) {
		l, inLeft := left[u]
		r, inRight := right[u]
		switch {
		case !inLeft:
			t.Errorf("%s is only in the fresh mirror: %s", u, a.Outcomes()[u])
			ok = false
		case !inRight:
			t.Errorf("%s is only in the old mirror: %s; the fresh one says %s", u, a.Outcomes()[u], b.Outcomes()[u])
			ok = false
		case l != r:
			t.Errorf("%s differs:\n%s\nfresh:\n%s", u, l, r)
			ok = false
		}
	}
	return ok
}
