// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"mirrord/serve/find"
)

// The base host searches the texts of mirrors; hosts of mirrors do not, and what sites say stays text.
func TestFindPage(t *testing.T) {
	const evil = `<img src=x onerror=alert(1)>`
	until := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	var asked find.TextSearch
	var fails error
	texts := func(_ context.Context, q find.TextSearch) (*find.SearchResults, error) {
		asked = q
		return &find.SearchResults{Lines: 25, Matches: 40, Results: []find.FoundPage{
			{
				Job:     "one",
				URL:     "https://one.test/a",
				Path:    "a b.html",
				Title:   evil,
				First:   1,
				Excerpt: []find.Excerpt{{Text: evil}, {Text: evil, Hit: true}},
				Collection: &find.FoundCollection{
					At:       "one.test/a&b",
					Matches:  3,
					Replicas: []find.FoundReplica{{At: "two.test/" + evil}},
				},
			},
			{
				Job:   "two",
				URL:   "http://two.test:81/x",
				Path:  "x.html",
				First: 1,
				Last:  2,
				Gone:  true,
				Until: &until,
			},
		}}, fails
	}
	made := true
	lookup := &TextLookup{Find: texts, Made: func() bool { return made }}
	s := testServer(t, func(o *Options) { o.Texts = lookup })
	get := func(address string, want int) *goquery.Document {
		t.Helper()
		resp := ask(t, s, "GET", address)
		policy := resp.Header.Get("Content-Security-Policy")
		if resp.StatusCode != want || !strings.Contains(policy, "default-src 'none'") ||
			!strings.Contains(policy, "form-action 'self'") || !strings.Contains(policy, "frame-ancestors 'none'") {
			t.Errorf("%s: %d, want %d; %s", address, resp.StatusCode, want, policy)
		}
		doc, err := goquery.NewDocumentFromReader(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		if n := doc.Find("img, script, [onerror]").Length(); n > 0 {
			t.Errorf("%s: %d elements of a site", address, n)
		}
		return doc
	}
	const at = "http://mirrors.test" + findPath
	if to, _ := get("http://mirrors.test/", 200).Find("form").Attr("action"); to != findPath {
		t.Errorf("the list has a form to %q", to)
	}
	doc := get(at+"?q=one+two&page=2&site=one&under=x", 200)
	if q := (find.TextSearch{
		Words: "one two",
		Only:  []string{"one"},
		Under: "x",
		Skip:  10,
		Limit: 10,
	}); !reflect.DeepEqual(asked, q) {
		t.Errorf("asked for %+v", asked)
	}
	var links []string
	doc.Find("section a, nav a").Each(func(_ int, a *goquery.Selection) {
		links = append(links, a.AttrOr("href", ""))
	})
	want := []string{
		"http://one.mirrors.test/a%20b.html", findPath + "?q=one+two&site=one&under=one.test%2Fa%26b",
		findPath + "?q=one+two&site=one&under=two.test%2F%3Cimg+src%3Dx+onerror%3Dalert%281%29%3E",
		"http://two.mirrors.test" + wellKnown + "memento/20260301235959/http://two.test:81/x",
		findPath + "?q=one+two&site=one&under=x", findPath + "?page=3&q=one+two&site=one&under=x",
	}
	if strings.Join(links, "\n") != strings.Join(want, "\n") {
		t.Errorf("links:\n%s\nwant\n%s", strings.Join(links, "\n"), strings.Join(want, "\n"))
	}
	if got := doc.Find("mark").Text(); got != evil {
		t.Errorf("marked: %q", got)
	}
	doc = get("http://127.0.0.1"+findPath+"?q=a", 200)
	if to, _ := doc.Find("section a").Attr("href"); to != "/one/a%20b.html" {
		t.Errorf("by an address, it redirects to %q", to)
	}
	if asked.Only != nil {
		t.Errorf("only %v is searched", asked.Only)
	}
	asked = find.TextSearch{}
	get(at, 200)
	get(at+"?q=++", 200)
	get(at+"?q=a&site=..%2fx", 404)
	get(at+"?q=a&site=nosuch", 404)
	if asked.Words != "" {
		t.Errorf("asked for %+v", asked)
	}
	lookup.Find = func(context.Context, find.TextSearch) (*find.SearchResults, error) {
		return &find.SearchResults{Behind: []string{"one", "two"}}, nil
	}
	early := get(at+"?q=a", 200).Text()
	if strings.Contains(early, "Results:") || !strings.Contains(early, "Not searched yet: one, two") {
		t.Errorf("before the index is made: %s", early)
	}
	lookup.Find = texts
	fails = &find.QueryError{}
	get(at+"?q="+strings.Repeat("x", 12_000), 422)
	fails = find.ErrNoIndex
	get(at+"?q=a", 503)
	fails = errors.New("disk /secret is broken")
	if text := get(at+"?q=a", 503).Text(); strings.Contains(text, "secret") {
		t.Errorf("the page says %q", text)
	}
	// the host of a mirror has what the site has there: nothing
	for _, address := range []string{byHost + findPath + "?q=a", byPath + findPath + "?q=a"} {
		if resp := ask(t, s, "GET", address); resp.StatusCode == http.StatusOK {
			t.Errorf("%s: %d", address, resp.StatusCode)
		}
	}
	if resp := ask(t, s, "POST", at+"?q=a"); resp.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", resp.StatusCode)
	}
	// so many at a time
	fails = nil
	for range maxFinds {
		s.finds <- struct{}{}
	}
	get(at+"?q=a", 503)
	// mirrors that are not served are not searched
	s = testServer(t, func(o *Options) { o.Texts, o.Only = lookup, []string{"two"} })
	get(at+"?q=a", 200)
	if got := strings.Join(asked.Only, " "); got != "two" {
		t.Errorf("searched: %s", got)
	}
	get(at+"?q=a&site=one", 404)
	if site, _ := get("http://mirrors.test/", 200).Find("#site").Attr("value"); site != "two" {
		t.Errorf("the box is for %q", site)
	}
	made = false
	if resp := ask(t, s, "GET", "http://mirrors.test/"); strings.Contains(bodyOf(t, resp), "<form") {
		t.Error("a box without an index")
	}
	s = testServer(t, nil)
	for address, want := range map[string]int{"http://mirrors.test/": 200, at + "?q=a": 404} {
		if resp := ask(t, s, "GET", address); resp.StatusCode != want {
			t.Errorf("without an index, %s: %d", address, resp.StatusCode)
		}
	}
}
