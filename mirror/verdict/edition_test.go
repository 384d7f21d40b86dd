// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"mirrord/site"
	"mirrord/store/record"
)

func TestEditions(t *testing.T) {
	shared := func(a, b string) bool {
		x, y := editions(parse(t, a), false), editions(parse(t, b), false)
		return slices.ContainsFunc(x, func(k string) bool { return slices.Contains(y, k) })
	}
	for _, same := range [][2]string{
		{"http://h/app.4f3a2b.js", "http://h/app.77ab01.js"},
		{"http://h/app-4f3a2b9c0d1e.min.js", "http://h/app-77ab01de23f4.min.js"},
		{"http://h/js/index-BXo3kf9d.js", "http://h/assets/index-C4lbAqXe.js"},
		{"http://h/assets/index-DiwrgTda.css", "http://h/assets/index-QmnbVfds.css"},
		{"http://h/app.js?v=17", "http://h/app.js?v=18"},
		{"http://h/app.js?4f3a2b", "http://h/app.js?77ab01"},
		{"http://h/app.js?1699999999", "http://h/app.js?1700000000"},
		{"http://h/a/style.css?ver=6.4.1", "http://h/b/style.css?ver=6.5"},
		{"http://h/static/4f3a2b9c/logo.svg", "http://h/static/77ab01de/logo.svg"},
		{"http://h/_next/static/Zk3fQ9dLx0aB7cTq-1_xY/m.js", "http://h/_next/static/a0Kd82LmPq7Rt1Xy0_z-B/m.js"},
		{"http://h/jquery-3.7.1.min.js", "http://h/jquery-4.0.0.min.js"},
		{"http://h/docs/v1.2/intro.html", "http://h/docs/v1.10/intro.html"},
		{"http://h/docs/v2/intro.html", "http://h/docs/v3/intro.html"},
		{"http://h/get/tool-1.2.3.tar.gz", "http://h/get/tool-1.2.4.tar.gz"},
		{"http://h/manual-4f3a2b9c.pdf", "http://h/manual-77ab01de.pdf"},
	} {
		if !shared(same[0], same[1]) {
			t.Errorf("%s and %s are editions of one file: %q, %q", same[0], same[1],
				editions(parse(t, same[0]), false), editions(parse(t, same[1]), false))
		}
	}
	for _, other := range [][2]string{
		{"http://h/app.4f3a2b.js", "http://h/main.77ab01.js"},
		{"http://h/app.4f3a2b.js", "http://g/app.77ab01.js"},
		{"http://h/app.4f3a2b.js", "http://h/app.77ab01.css"},
		{"http://h/a.html", "http://h/b.html"},
		{"http://h/a.html", "http://h/b/a.html"},
		{"http://h/2024/11/a.html", "http://h/2024/12/a.html"},
		{"http://h/17", "http://h/18"},
		{"http://h/photo-17.jpg", "http://h/photo-18.jpg"},
		{"http://h/node/17/edit.html", "http://h/node/18/edit.html"},
		{"http://h/4f3a2b9c", "http://h/77ab01de"},
		{"http://h/4f3a2b9c.html", "http://h/77ab01de.html"},
		{"http://h/commit/4f3a2b9c0d1e4f3a2b9c0d1e", "http://h/commit/77ab01de4f3a2b9c0d1e4f3a"},
		{"http://h/watch?v=4f3a2b9c", "http://h/watch?v=77ab01de"},
		{"http://h/page.php?v=17", "http://h/page.php?v=18"},
		{"http://h/a.html?id=4f3a2b9c", "http://h/a.html?id=77ab01de"},
		{"http://h/GettingStarted.html", "http://h/GettingFurther.html"},
		{"http://h/JavaScript", "http://h/TypeScript"},
		{"http://h/list.html?page=2", "http://h/list.html?page=3"},
	} {
		if shared(other[0], other[1]) {
			t.Errorf("%s and %s are not editions of one file: %q", other[0], other[1],
				editions(parse(t, other[0]), false))
		}
	}
}

// Any address has editions that can be found, and is one of its own.
func TestEditionsOfAnyAddress(t *testing.T) {
	r := rand.New(rand.NewPCG(58, 5))
	const letters = "av01.-_/?=&#%2Z@~+v"
	for range 20_000 {
		b := []byte("http://h/")
		for range r.IntN(30) {
			b = append(b, letters[r.IntN(len(letters))])
		}
		u, _, err := site.Parse(string(b))
		if err != nil {
			continue
		}
		for _, k := range editions(u, r.IntN(2) == 0) {
			if !strings.Contains(k, edition) {
				t.Fatalf("%s has %q", u, k)
			}
		}
	}
}

// An edition that waited as an orphan has its successor in a run before: it leaves with others, each of which
// has come since the one before was no longer linked.
func TestEditionsThatWaited(t *testing.T) {
	home := page(t, "http://h/")
	var records []record.Resource
	for i := range 5 {
		rec := left(page(t, fmt.Sprintf("http://h/js/app.4f3a2%d.js", i)), site.Unchanged, 0)
		records = append(records, rec)
	}
	records = append(records, page(t, "http://h/js/app.4f3a25.js")) // number 6, the one in use
	at := func(id uint32) (s record.IDs) {
		s.Add(id)
		return s
	}
	c := known(t, append([]record.Resource{home}, records...)...)
	c.Orphans = Orphans{4: 4, 5: 6} // app.…23 since run 4, when 24 came; 24 since run 6, when 25 came
	c.Records.(*memory).observed = []record.Observation{
		{Run: 4, Version: 1, Entered: at(5)}, {Run: 6, Version: 2, Entered: at(6)},
	}
	l, err := c.leaving([]uint32{4, 5})
	if err != nil || l != (leaving{renamed: 2}) {
		t.Errorf("two that waited: %+v, %v", l, err)
	}
	if l, err = c.leaving([]uint32{1, 2, 4, 5}); err != nil || l != (leaving{renamed: 2, lost: 2}) {
		t.Errorf("and two to which nothing has come: %+v, %v", l, err)
	}
	c.Orphans = Orphans{5: 7}
	if l, err = c.leaving([]uint32{5}); err != nil || l != (leaving{lost: 1}) {
		t.Errorf("one that was linked after the other had come: %+v, %v", l, err)
	}
}
