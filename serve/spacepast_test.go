// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"mirrord/phm/space"
)

// spacedSite is a mirror of a space.
type spacedSite struct {
	*fakeSite
	others []space.Neighbour
}

func (s spacedSite) Neighbours() ([]space.Neighbour, error) { return s.others, nil }

// spacedSites are sites of which one is in a space.
type spacedSites struct {
	fakeSites
	one spacedSite
}

func (s spacedSites) Site(name string) (Site, error) {
	if name == "one" {
		return s.one, nil
	}
	return s.fakeSites.Site(name)
}

// Links of Mementos stay in their time, where the other mirror has a version of it with that page.
func TestMementoInSpace(t *testing.T) {
	const link = "http://two.test:81/sub/start.html"
	fakes := testSites()
	for _, v := range fakes["one"].versions {
		v.files = append(v.files, fakeFile{
			url:  "https://one.test/links.html",
			path: "links.html",
			mime: "text/html",
			body: `<a href="` + link + `#part">x</a> <a href="http://two.test:81/none">y</a> <a href="a.html">a</a>`,
		})
	}
	two := fakes["two"]
	two.versions[0].Time = day1.Add(time.Hour)
	two.versions = append(two.versions, &fakeVersion{Version: Version{2, day3}, site: two})
	sites := spacedSites{fakes, spacedSite{fakes["one"], []space.Neighbour{
		{Name: "nosuch", Places: []string{"two.test:81/sub/start"}},
		{Name: "two", Places: []string{"two.test:81/"}},
	}}}
	srv := testServer(t, func(o *Options) { o.Sites = sites })
	then := wellKnown + "memento/" + day2.Format(stamp) + "/" + link
	for _, tc := range []struct {
		host, prefix string
		at           time.Time
		want         string
	}{
		{"one.mirrors.test", "", day1, link},
		{"one.mirrors.test", "", day2, "http://two.mirrors.test" + then},
		{"one.mirrors.test", "", day3, link},
		{"127.0.0.1", "/one", day2, "/two" + then},
	} {
		r := httptest.NewRequest(http.MethodGet, tc.prefix+wellKnown+"memento/"+tc.at.Format(stamp)+
			"/https://one.test/links.html", nil)
		r.Host = tc.host
		rec := httptest.NewRecorder()
		srv.ServeHTTP(rec, r)
		body := rec.Body.String()
		if rec.Code != http.StatusOK || !strings.Contains(body, `"`+tc.want+`#part"`) ||
			!strings.Contains(body, `"http://two.test:81/none"`) || !strings.Contains(body, `"a.html"`) {
			t.Errorf("%s%s at %v: %d, %s, want %s", tc.host, tc.prefix, tc.at, rec.Code, body, tc.want)
		}
	}
}
