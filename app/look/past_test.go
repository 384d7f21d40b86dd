// SPDX-License-Identifier: Apache-2.0

package look

import (
	"errors"
	"fmt"
	"testing"

	"mirrord/site"
	"mirrord/store"
	"mirrord/testing/mirrortest"
)

// The history of a URL has the version that lost it, with what the site answered then.
func TestHistorySaysWhatLeft(t *testing.T) {
	const origin = "http://web.test"
	web := mirrortest.Start(t)
	page := func(links string) mirrortest.Page { return mirrortest.HTML("Page", links) }
	web.SetAll(origin, map[string]mirrortest.Page{
		"/": page(`<a href="a.html">a</a> <a href="b.html">b</a> <a href="secret/x">x</a>`),
		"/robots.txt": {
			Header: map[string]string{"Content-Type": "text/plain"},
			Body:   "User-agent: *\nDisallow: /secret/\n",
		},
	})
	web.Set(origin+"/a.html", page("first"))
	web.Set(origin+"/b.html", page("second"))
	m := mirrortest.New(t, web, fmt.Sprintf("url = %q\n", origin+"/"))
	m.Run()
	web.Set(origin+"/a.html", mirrortest.Page{Status: 410})
	web.Set(origin+"/b.html", page("changed"))
	m.Run()
	m.Run()
	web.Set(origin+"/a.html", page("first"))
	web.Set(origin+"/b.html", page("changed again"))
	m.Run()
	st, err := store.OpenState(m.Dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	kept := &KeptVersions{State: st}
	t.Cleanup(func() {
		if err := errors.Join(kept.Close(), st.Close()); err != nil {
			t.Error(err)
		}
	})
	for path, want := range map[string]string{
		"/a.html":   "1 here, 2 gone 410, 3 here, ",
		"/secret/x": "3 disallowed 0, ",
		"/never":    "3 pending 0, ",
	} {
		u, _, err := site.Parse(origin + path)
		if err != nil {
			t.Fatal(err)
		}
		all, err := kept.History(t.Context(), "test", u)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, x := range all {
			if x.Missing {
				got += fmt.Sprintf("%d %v %d, ", x.Number, x.Outcome, x.Status)
			} else {
				got += fmt.Sprintf("%d here, ", x.Number)
			}
		}
		if got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}
