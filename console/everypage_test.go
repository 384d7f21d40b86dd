// SPDX-License-Identifier: Apache-2.0

package console

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"mirrord/app/access"
	"mirrord/app/daemon"
	"mirrord/app/orders"
	"mirrord/docs"
	"mirrord/scheduler/status"
	"mirrord/store/shared"
	"mirrord/testing/orderstest"
)

// pageAddresses has addresses of the pages of each GET route, for the tests of all pages. They belong to
// newWhole. A route that draws no page has none.
func pageAddresses() map[string][]string {
	return map[string][]string{
		"GET /{$}": {"/", "/?by=name&page=2", "/?q=nosuch", "/?q=" + url.QueryEscape(evilText)},
		"GET /jobs/{job}": {
			"/jobs/job0000", "/jobs/job0001", "/jobs/site", "/jobs/site?said=run", "/jobs/nosuch",
			"/jobs/" + url.PathEscape(evilText),
		},
		"GET /jobs/{job}/versions": {
			"/jobs/site/versions", "/jobs/site/versions?since=2020-01-01", "/jobs/site/versions?url=docs/1.html",
		},
		"GET /jobs/{job}/diff": {
			"/jobs/site/diff?from=1&to=2", "/jobs/site/diff?from=2&to=1", "/jobs/site/diff?held=1",
			"/jobs/site/diff?from=1&to=2&path=docs/1.html", "/jobs/site/diff?from=1&to=2&path=docs/1.html&text=1",
		},
		"GET /jobs/{job}/view": {
			"/jobs/site/view?version=1", "/jobs/site/view?path=docs/1.html&version=1",
			"/jobs/site/view?path=docs/1.html&version=2&says=state+2",
		},
		"GET /jobs/{job}/beside": {
			"/jobs/site/beside?from=1&to=2", "/jobs/site/beside?from=1&to=2&path=docs/1.html",
		},
		"GET /jobs/{job}/search": {
			"/jobs/site/search", "/jobs/site/search?q=page", "/jobs/site/search?q=nosuch",
		},
		"GET /jobs/{job}/changes": {"/jobs/site/changes"},
		"GET /jobs/{job}/explain": {"/jobs/site/explain", "/jobs/site/explain?url=docs/1.html"},
		"GET /jobs/{job}/plan":    {"/jobs/site/plan"},
		"GET /jobs/{job}/file":    {"/jobs/site/file"},
		"GET /jobs/{job}/gc":      {"/jobs/site/gc"},
		"GET /jobs/{job}/repair":  {"/jobs/site/repair"},
		"GET /jobs/{job}/rename":  {"/jobs/site/rename"},
		"GET /jobs/{job}/remove":  {"/jobs/site/remove"},
		"GET /jobs/{job}/forget": {
			"/jobs/site/forget", "/jobs/site/forget?what=*.iso&reason=why", "/jobs/site/forget?what=%25&reason=why",
		},
		"GET /jobs/{job}/equivalents": {"/jobs/site/equivalents"},
		"GET /new":                    {"/new", "/new?url=" + url.QueryEscape(evilText)},
		"GET /order":                  {"/order", "/order?url=http%3A%2F%2Fa.example%2F", "/order?like=1"},
		"GET /orders":                 {"/orders"},
		"GET /orders/{n}":             {"/orders/1", "/orders/2", "/orders/3", "/orders/99"},
		"GET /find":                   {"/find", "/find?q=winbind&page=2", "/find?q=a*"},
		"GET /replicas":               {"/replicas"},
		"GET /spaces":                 {"/spaces"},
		"GET /settings":               {"/settings"},
		"GET /users":                  {"/users"},
		"GET /about":                  {"/about"},
		"GET /audit":                  {"/audit"},
		"GET /help":                   {"/help"},
		"GET /help/{page}":            {"/help/jobs", "/help/troubleshooting"},
		"GET /login":                  {"/login?key=" + url.QueryEscape(evilText)},
		"GET /password":               {"/password"},
		"/":                           {"/nosuch"},

		"GET /jobs/{job}/side":         nil, // a frame of a page
		"GET /jobs/{job}/step":         nil, // redirects to another page
		"GET /jobs/{job}/live":         nil, // streams of what TestBrowser sees
		"GET /orders/{n}/live":         nil,
		"GET /jobs/{job}/over":         nil,
		"GET /orders/{n}/over":         nil,
		"GET /feed.atom":               nil,
		"GET /jobs/{job}/feed.atom":    nil,
		"GET /jobs/{job}/export":       nil,
		"GET /orders/{n}/files/{name}": nil,
		"GET /login/oidc":              nil, // redirects to the provider
		"GET " + access.OIDCCallback:   nil,
	}
}

// allPages are all addresses of pageAddresses, in order.
func allPages() (out []string) {
	for _, addresses := range pageAddresses() {
		out = append(out, addresses...)
	}
	slices.Sort(out)
	return out
}

// A page that is added is looked at by all tests of all pages.
func TestAllRoutesAreLookedAt(t *testing.T) {
	got := slices.Sorted(maps.Keys(pageAddresses()))
	var want []string
	for _, r := range routes() {
		if !strings.HasPrefix(r.pattern, "POST ") {
			want = append(want, r.pattern)
		}
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("pageAddresses has\n%v\nthe console has\n%v", got, want)
	}
}

// evilText is what sites, users and other machines may say.
const evilText = `<script>alert(1)</script><img src=x onerror=alert(1)>"'--><form action=//evil.test>`

// newWhole is a console in which everything is on and has something to show: 1 002 jobs, of which one is a
// mirror with versions and something held back, orders, users, replicas; and markup wherever others write.
func newWhole(t testing.TB) (o func(*Options), fill func(b *browser)) {
	t.Helper()
	a, all := mirrored(t), orderFrom(t)
	putSpace(t, a)
	texts := &fakeTexts{wanted: true, known: knownReplicas()}
	users := &fakeUsers{users: map[string]shared.UserFact{}}
	h := access.NewHasher(64)
	o = func(o *Options) {
		o.App, o.Orders, o.Texts, o.Mirrors = a, all, texts, "https://mirrors.example"
		o.Keep = time.Hour
		o.Passwords = &Passwords{Book: access.NewBook(users, o.Now), Hasher: h, Change: users.change}
	}
	return o, func(b *browser) {
		users.set(h, "zoe", Operate, annsPassword, true, b.now)
		b.ordered(all)
		d := b.daemon
		d.mu.Lock()
		defer d.mu.Unlock()
		d.jobs = testJobs(1000)
		evil := daemon.MirrorTitle{Title: evilText, Primary: "javascript:alert(1)//", Entry: evilText}
		d.titles = map[string]daemon.MirrorTitle{"site": evil}
		d.jobs[0].Activity, d.jobs[0].Started = status.Running, &b.now
		d.jobs[0].Progress = &status.Progress{
			Phase:    status.Retrieving,
			Done:     17,
			Hosts:    1,
			Busy:     []status.BusyHost{{Host: evilText, Queued: 3}},
			WaitWhy:  status.ForHost,
			WaitHost: evilText,
			WaitFor:  90 * time.Second,
			Down:     []string{evilText},
			Recent:   []status.AnsweredURL{{URL: "https://a.example/" + evilText, Outcome: "gone"}},
		}
		for i := range d.jobs { // texts that differ, as those of sites do
			j := &d.jobs[i]
			j.Reasons = []string{fmt.Sprintf("%d pages got no answer, of %d", i*7919%10007, i*104729%20011)}
			title := fmt.Sprintf("A site of %x and more", i*104729)
			d.titles[j.Name] = daemon.MirrorTitle{Title: title, Entry: "index.html"}
		}
		site := testJobs(1)[0]
		site.Name, site.Health, site.Version = "site", status.Suspicious, 2
		site.Fix, site.NextText, site.Why, site.Schedule = "mirrord accept site", evilText, evilText, evilText
		site.Reasons = []string{"8 of 9 files would be removed", evilText}
		site.Problems, site.Forgotten, site.Hooks = []string{evilText}, []string{evilText}, []string{evilText}
		site.File = filepath.Join(b.srv.App.Jobs, "site.toml")
		site.Last = &status.Run{
			Waiting: []string{"0 added, 0 changed, 8 removed", evilText},
			Verdict: status.VerdictSuspicious,
			Reasons: []string{evilText},
			Ended:   b.now,
		}
		d.jobs = append(d.jobs, site)
		for i, v := range []string{"suspicious", "complete", "gaps", "partial", "error", "complete"} {
			d.runs = append(d.runs, status.Run{
				Verdict:  v,
				Requests: int64(9 * i),
				Reasons:  []string{evilText},
				Spared:   map[string]int64{evilText: 1, "rule": 7},
				Started:  b.now,
				Ended:    b.now,
			})
		}
		b.facts.AddAudit(shared.AuditEntry{
			At:    b.now,
			Who:   evilText,
			What:  evilText,
			About: evilText,
			Error: evilText,
		})
	}
}

// ordered makes an order that is done, one that waits for an operator, and one that was not placed.
func (b *browser) ordered(all *orders.Orders) {
	b.Helper()
	who := orders.User{Name: "ann"}
	for i, files := range []int64{100, 5000, 50} {
		w := orders.Wish{
			URL:   "http://site.example/docs/",
			Scope: "directory",
			Files: files,
			Size:  1e6,
			Forms: []string{"phm"},
		}
		o, err := all.Draft(who, w)
		if err != nil {
			b.Fatal(err)
		}
		orderstest.Until(b.TB, all, o.OrderID, orders.Draft)
		if i == 2 {
			break
		}
		if err := all.PlaceOrder(o.OrderID, who, true); err != nil {
			b.Fatal(err)
		}
		orderstest.Until(b.TB, all, o.OrderID, []orders.State{orders.Done, orders.Asks}[i])
	}
}

// Every page is HTML as it was written, small on the wire, and shows what others say as text; it loads
// nothing from elsewhere, and cannot be framed.
func TestEveryPage(t *testing.T) {
	o, fill := newWhole(t)
	b := newBrowser(t, o)
	b.login(Operate)
	fill(b)
	asNobody, rendered := newBrowser(t, o), guide{}
	for _, role := range []Role{Anonymous, Read, Order, Operate} {
		v := b
		switch role {
		case Anonymous:
			v = asNobody
		default:
			b.login(role)
		}
		for _, path := range allPages() {
			at := role.String() + ": " + path
			v.change = func(r *http.Request) { r.Header.Set("Accept-Encoding", "gzip") }
			if n := v.do(path, nil).Body.Len(); n > 60_000 {
				t.Errorf("%s: %d bytes, compressed", at, n)
			}
			w := v.do(path, nil)
			if w.Code >= 500 || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") {
				t.Errorf("%s: %d, %v", at, w.Code, w.Header())
			}
			if role == Operate && w.Code != pageStatus(path) {
				t.Errorf("%s: %d, want %d", at, w.Code, pageStatus(path))
			}
			csp := w.Header().Get("Content-Security-Policy")
			if !strings.Contains(csp, "default-src 'none'") || !strings.Contains(csp, "frame-ancestors 'none'") ||
				strings.Contains(csp, "unsafe") {
				t.Errorf("%s: %s", at, csp)
			}
			page := w.Body.String()
			checkHTML(t, at, page)
			doc := parse(t, page)
			const foreign = "script:not([src^='/static/']), link[rel=stylesheet]:not([href^='/static/']), " +
				"img, object, embed, base, style, [style], [onerror], [onload], [onclick], " +
				"form:not([action^='/']), form[action^='//']"
			if n := doc.Find(foreign); n.Length() > 0 {
				html, _ := n.First().Html()
				t.Errorf("%s: %d elements that are not ours, or load from elsewhere: %s", at, n.Length(), html)
			}
			const ours = "javascript:location.href=%27http://" + testHost + "/order?url=%27"
			if n := doc.Find("a[href^='javascript:']:not([href^='" + ours + "'])").Length(); n > 0 {
				t.Errorf("%s: a link is a script", at)
			}
			rendered.helpLinks(t, at, page)
		}
	}
}

// guide are the pages of the guide that were rendered.
type guide map[string]string

// helpLinks holds each link of a page to the guide to a page, and a place in it, that exist.
func (g guide) helpLinks(t *testing.T, at, page string) {
	t.Helper()
	for _, m := range regexp.MustCompile(`href="/help/([^"#]*)(?:#([^"]*))?"`).FindAllStringSubmatch(page, -1) {
		if g[m[1]] == "" {
			_, body, err := docs.HTML(m[1], "/help/")
			if err != nil {
				t.Errorf("%s: no page for %s: %v", at, m[0], err)
			}
			g[m[1]] = body
		}
		if m[2] != "" && !strings.Contains(g[m[1]], `id="`+m[2]+`"`) {
			t.Errorf("%s: no place for %s", at, m[0])
		}
	}
}

// pageStatus is how an address of pageAddresses answers to an operator.
func pageStatus(path string) int {
	switch path {
	case "/nosuch", "/jobs/nosuch", "/orders/99", "/jobs/" + url.PathEscape(evilText):
		return http.StatusNotFound
	case "/find?q=a*":
		return http.StatusUnprocessableEntity
	}
	if strings.HasPrefix(path, "/login?key=") {
		return http.StatusForbidden
	}
	return http.StatusOK
}

// checkHTML holds a page to what parsers need not guess: each element is closed by its own tag, and the tree
// that the HTML standard makes of it is the one that was written. Identifiers are there once, and labels,
// descriptions and fragments lead to them.
func checkHTML(t *testing.T, at, page string) {
	t.Helper()
	void := " area base br col embed hr img input link meta source track wbr "
	var open, written []string
	z := html.NewTokenizer(strings.NewReader(page))
	if !strings.HasPrefix(strings.TrimSpace(page), "<!DOCTYPE html>") {
		t.Errorf("%s: no doctype", at)
	}
	for kind := z.Next(); kind != html.ErrorToken; kind = z.Next() {
		token := z.Token()
		switch kind {
		case html.StartTagToken, html.SelfClosingTagToken:
			written = append(written, fmt.Sprint(len(open), " ", token.Data))
			seen := map[string]bool{}
			for _, a := range token.Attr {
				if seen[a.Key] {
					t.Errorf("%s: %s has %s twice", at, token.Data, a.Key)
				}
				seen[a.Key] = true
			}
			if kind == html.StartTagToken && !strings.Contains(void, " "+token.Data+" ") {
				open = append(open, token.Data)
			}
		case html.EndTagToken:
			if len(open) == 0 || open[len(open)-1] != token.Data {
				t.Errorf("%s: </%s> within %v", at, token.Data, open)
				return
			}
			open = open[:len(open)-1]
		}
	}
	root, err := html.Parse(strings.NewReader(page))
	if err != nil || len(open) > 0 {
		t.Errorf("%s: %v; open at the end: %v", at, err, open)
		return
	}
	var parsed []string
	var walk func(n *html.Node, depth int)
	walk = func(n *html.Node, depth int) {
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			if c.Type == html.ElementNode {
				parsed = append(parsed, fmt.Sprint(depth, " ", c.Data))
				walk(c, depth+1)
			}
		}
	}
	walk(root, 0)
	for i := range min(len(parsed), len(written)) {
		if !strings.EqualFold(parsed[i], written[i]) {
			from := max(0, i-3)
			t.Errorf("%s: written is %q, a parser makes %q", at, written[from:i+1], parsed[from:i+1])
			return
		}
	}
	doc := parse(t, page)
	ids := map[string]int{}
	for _, n := range doc.Find("[id]").Nodes {
		for _, a := range n.Attr {
			if a.Key == "id" {
				if ids[a.Val]++; ids[a.Val] > 1 || a.Val == "" || strings.ContainsAny(a.Val, " \t\n") {
					t.Errorf("%s: id %q", at, a.Val)
				}
			}
		}
	}
	for _, key := range []string{"for", "aria-labelledby", "aria-describedby"} {
		for _, n := range doc.Find("[" + key + "]").Nodes {
			for _, a := range n.Attr {
				if a.Key == key && ids[a.Val] == 0 {
					t.Errorf("%s: %s=%q leads nowhere", at, key, a.Val)
				}
			}
		}
	}
	for _, once := range []string{"html[lang]", "head > title", "h1", "main"} {
		if n := doc.Find(once).Length(); n != 1 {
			t.Errorf("%s: %s is there %d times", at, once, n)
		}
	}
}
