// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"mirrord/site"
)

func TestTell(t *testing.T) {
	for _, c := range []struct{ page, cookies, want string }{
		{`<meta charset=utf-8><meta name="generator" content="MediaWiki 1.43.0"/>`, "", "mediawiki"},
		{`<META CONTENT='WordPress 6.6' NAME=generator>`, "", "wordpress"},
		{`<meta name=generator content=DokuWiki>`, "", "dokuwiki"},
		{`<meta http-equiv="generator" content="WebSVN 2.8"/>`, "", "websvn"},
		{`<a href="https://www.mantisbt.org" title="bug tracking software">MantisBT</a>`, "", "mantisbt"},
		{`<p>a tracker`, "MANTIS_PROJECT_COOKIE", "mantisbt"},
		{`<meta name="generator" content="Elementor 3"><meta name=generator content="WordPress 6.8">`, "", "wordpress"},
		{`<meta name="generator" content="Hugo 0.1"><img src="/wp-includes/js/a.png">`, "", ""}, // moved here
		{`<link href="/wp-includes/css/dashicons.min.css" rel=stylesheet>`, "", "wordpress"},
		{`<p>board</p>`, "phpbb3_k2x_sid", "phpbb"},
		{`<meta name="generator" content="Piwigo (aka PWG), see piwigo.org">`, "", "piwigo"},
		{`<p>a page about MediaWiki 1.43, &lt;meta name="generator" content="MediaWiki 1.43"></p>`, "", ""},
		{`<meta name="description" content="MediaWiki 1.43">`, "", ""},
		{`<p>we moved from Shaarli and hglogo.png, with its css/shaarli.min.css, to &lt;!--beginarticle-->`, "", ""},
		{`<p>on css/shaarli.min.css<link rel=stylesheet href="/tpl/css/shaarli.min.css?v=1">`, "", "shaarli"},
		{`<!--beginarticle--><pre>Hello`, "", "pipermail"},
		{`<meta name="generator" content="TikiWiki CMS/Groupware - http://TikiWiki.org" />`, "", "tiki"},
		{"<pre><a\nid=mirror\nhref=\"_/text/mirror/\">mirror</a>", "", "public-inbox"},
		{``, "", ""},
	} {
		var cookies []string
		if c.cookies != "" {
			cookies = []string{c.cookies}
		}
		got := ""
		if p := Known().Tell([]byte(c.page), cookies); p != nil {
			got = p.Name
		}
		if got != c.want {
			t.Errorf("%s with %q is of %q, want %q", c.page, c.cookies, got, c.want)
		}
	}
}

func TestLeaves(t *testing.T) {
	for _, c := range []struct{ program, url, line string }{
		{"mediawiki", "http://h.example/wiki/Talk:Ships", ""},
		{"mediawiki", "http://h.example/w/index.php?title=Ships&action=history", "?action=history"},
		{"mediawiki", "http://h.example/w/index.php?title=Ships&action=historic", ""},
		{"mediawiki", "http://h.example/w/index.php?title=Special:Log&type=move", "?title=Special:*"},
		{"mediawiki", "http://h.example/wiki/Sp%C3%A9cial:Pages_li%C3%A9es/Quai", "**/Spécial:**"},
		{"mediawiki", "http://h.example/wiki/Special:RecentChanges", "**/Special:**"},
		{"mediawiki", "http://h.example/wiki/Specials", ""},
		{"dokuwiki", "http://h.example/doku.php?id=start&do=export_xhtml", "?do=export_xhtml*"},
		{"dokuwiki", "http://h.example/feed.php", ""},
		{"dokuwiki", "http://h.example/doku.php?id=a:b&rev=1795&do=diff", ""},
		{"dokuwiki", "http://h.example/feed.php?mode=list&ns=a", "?mode"},
		{"dokuwiki", "http://h.example/doku.php?id=a:b&rev2=1795&do=diff", "?do=diff"},
		{"dokuwiki", "http://h.example/doku.php?id=start", ""},
		{"gitweb", "http://h.example/?p=a.git;a=blobdiff;f=x", "?a=blobdiff"},
		{"wordpress", "http://h.example/2024/05/tides/feed/", "**/feed/"},
		{"wordpress", "http://h.example/feed/", ""},
		{"wordpress", "http://h.example/category/tides/page/2/", ""},
		{"hyperkitty", "http://h.example/list/l@h.example/thread/ABC/", ""},
		{"hyperkitty", "http://h.example/list/l@h.example/thread/ABC/?sort=date", "?sort"},
		{"hyperkitty", "http://h.example/list/l@h.example/thread/ABC/reply", "**/reply"},
		{"hyperkitty", "http://h.example/list/l@h.example/2026/11/?page=2", ""},
		{"hyperkitty", "http://h.example/list/l@h.example/2026/11/28/", "**/list/*/*/*/*/"},
		{"klaus", "http://h.example/r/blob/main/a.txt", ""},
		{"klaus", "http://h.example/r/blob/0123456789abcdef0123456789abcdef01234567/a.txt",
			"**/blob/????????????????????????????????????????/**"},
		{"klaus", "http://h.example/r/commit/0123456789abcdef0123456789abcdef01234567/", ""},
		{"gitit", "http://h.example/Ships?printable", "?printable"},
		{"piwigo", "http://h.example/picture.php?/26/most_visited", `**\?**/most_visited**`},
		{"piwigo", "http://h.example/index.php?/most_visited", `**\?**/most_visited**`},
		{"piwigo", "http://h.example/index.php?/category/5&image_order=2", "?image_order"},
		{"piwigo", "http://h.example/index.php?/category/5/start-15", ""},
		{"piwigo", "http://h.example/picture.php?/26/category/5", ""},
		{"piwigo", "http://h.example/index.php?/categories/created-monthly-list", `**\?**/created-*`},
		{"mybb", "http://h.example/ratethread.php?tid=2&rating=1&my_post_key=2be9", "**/ratethread.php"},
		{"mybb", "http://h.example/showthread.php?tid=2&page=2", ""},
		{"public-inbox", "http://h.example/list/a@h.example/", ""},
		{"public-inbox", "http://h.example/list/a@h.example/t.mbox.gz", "**/t.mbox.gz"},
		{"opengrok", "http://h.example/source/xref/p/s", ""},
		{"opengrok", "http://h.example/source/more/p/a.c?full=x", "**/more/**"},
		{"pmwiki", "http://h.example/pmwiki.php?n=Main.Ships", ""},
		{"pmwiki", "http://h.example/pmwiki.php?n=Main.Ships?action=edit", `**\?*\?action=*`},
		{"pmwiki", "http://h.example/Main/Ships?action=diff", "?action"},
		{"vbulletin", "http://h.example/showthread.php?s=0123456789abcdef0123456789abcdef&t=7&page=2", ""},
		{"vbulletin", "http://h.example/showthread.php?t=7&goto=newpost", "?goto"},
		{"xenforo", "http://h.example/threads/ships.7/page-2", ""},
		{"xenforo", "http://h.example/threads/ships.7/post-1234", "**/threads/*/post-*"},
		{"xenforo", "http://h.example/index.php?threads/ships.7/page-2", ""},
		{"xenforo", "http://h.example/index.php?threads/ships.7/post-1234", `**/index.php\?threads/*/post-*`},
		{"xenforo", "http://h.example/index.php?login/", `**/index.php\?login/**`},
		{"xwiki", "http://h.example/xwiki/wiki/docs/view/Ships/", ""},
		{"xwiki", "http://h.example/xwiki/wiki/docs/edit/Ships/WebHome", "**/wiki/*/edit/**"},
		{"hgweb", "http://h.example/file/tip/doc/a.txt", ""},
		{"hgweb", "http://h.example/file/0123456789ab/doc/a.txt", "**/file/**"},
	} {
		p := Known().Find(c.program)
		if p == nil {
			t.Fatalf("there is no profile %s", c.program)
		}
		if got := p.Leaves(site.Canonical(c.url)); got != c.line {
			t.Errorf("%s, %s: left by %q, want %q", c.program, c.url, got, c.line)
		}
	}
}

// Files of users add to the known ones and take their place; a broken one costs itself only, and is named.
func TestWith(t *testing.T) {
	set, errs := Known().With(fstest.MapFS{
		"ours.toml":      {Data: []byte("generator = ['Ours']\nleft = ['?z', '/x/**']\nsame = ['s']")},
		"mediawiki.toml": {Data: []byte(`generator = ['Other']`)},
		"typo.toml":      {Data: []byte(`lefts = ['?z']`)},
		"glob.toml":      {Data: []byte(`left = ['a/b', '?']`)},
		"none.toml":      {Data: []byte(`about = 'x'`)},
		"text.toml":      {Data: []byte(`about = `)},
		"noise.toml":     {Data: []byte(`noise = ["made in #-->", "a#b", "no place"]`)},
		"notes.txt":      {Data: []byte(`left`)},
	})
	var said strings.Builder
	for _, err := range errs {
		said.WriteString(err.Error() + "\n")
	}
	for _, want := range []string{
		"profile typo: lefts is not known here", "profile glob: left: bad pattern", `"?": a parameter has a name`,
		`profile noise: noise: "a#b": want a text`, `"no place": want`,
		"profile none: the name", "profile text: ",
	} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("%q is missing in:\n%s", want, &said)
		}
	}
	if len(set.All()) != len(Known().All())+1 || len(errs) != 5 {
		t.Errorf("%d profiles, %d errors", len(set.All()), len(errs))
	}
	if p := set.Tell([]byte(`<meta name=generator content="MediaWiki 1.43">`), nil); p != nil {
		t.Errorf("it is still of %s", p.Name)
	}
	ours := set.Find("ours")
	at := func(uri string) site.URL { return site.Canonical("http://h.example" + uri) }
	if u, had := ours.Fold(at("/a?s=1&b=2")); !had || u != at("/a?b=2") {
		t.Errorf("folded: %s, %v", u, had)
	}
	if ours.Leaves(at("/x/y")) != "/x/**" || ours.Leaves(at("/y")) != "" {
		t.Error("a pattern of a user does not count")
	}
}

// A list of changes in JSON is described, not programmed: where it is, and which fields name page and time.
func TestLists(t *testing.T) {
	at := func(entry bool, uri string) string {
		var all []string
		for _, p := range Known().All() {
			for _, l := range p.ListsBeside(site.Canonical("http://h.example"+uri), entry) {
				if p.ListAt(l) == nil || !p.IsEdits(l) || p.Leaves(l) != "" {
					t.Errorf("%s does not know its list %s", p.Name, l)
				}
				all = append(all, p.Name+" "+l.RequestURI())
			}
		}
		return strings.Join(all, ", ")
	}
	got, want := at(false, "/w/api.php?action=rsd"), "mediawiki /w/api.php?action=query&list=recentchanges"
	if !strings.HasPrefix(got, want) || strings.Contains(got, ", ") {
		t.Errorf("beside an address: %s, want %s", got, want)
	}
	got, want = at(true, "/forum/"), "discourse /forum/latest.json, "
	if !strings.HasPrefix(got, want) {
		t.Errorf("at an entry point: %s, want %s", got, want)
	}
	for _, c := range []struct{ program, body, want string }{
		{"mediawiki", `{"query":{"recentchanges":[{"title":"Talk:A & B (c)","timestamp":"2026-11-28T12:00:00Z"},
			{"timestamp":"2026"},{"title":"C","timestamp":"2026-11-27"},{"title":"C","timestamp":"2026-11-28"}]}}`,
			"/wiki/Talk:A_%26_B_(c) 2026-11-28T12:00:00Z, /wiki/C 2026-11-28"},
		{"discourse", `{"topic_list":{"topics":[{"slug":"tides","id":1234567,"bumped_at":"2026-11-28T12:00:00.5Z"}]}}`,
			"t/tides/1234567 2026-11-28T12:00:00.5Z"},
		{"gitlab", `[{"path_with_namespace":"sea/tide-1","last_activity_at":1795867200}]`,
			"sea/tide-1 2026-11-28T12:00:00Z"},
		{"redmine", `{"issues":[]}`, ""},
		{"redmine", `{"errors":["no"]}`, "no list"},
		{"redmine", `<html>`, "no list"},
	} {
		items, ok := Known().Find(c.program).lists[0].Read([]byte(c.body))
		var all []string
		for _, i := range items {
			all = append(all, i.Pages[0]+" "+i.Time)
		}
		got := strings.Join(all, ", ")
		if !ok {
			got = "no list"
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.program, got, c.want)
		}
	}
	page := func(names ...string) (items []Item) {
		for _, n := range names {
			items = append(items, Item{Pages: []string{n}, Time: "2026"})
		}
		return items
	}
	for _, c := range []struct {
		was, is []Item
		want    bool
	}{
		{page("a", "b"), page("a", "b"), true},
		{page("a", "b"), page("a"), true},
		{page("a", "b"), nil, true},
		{page("a", "b"), page("b"), false},
		{page("a"), page("a", "b"), false},
	} {
		if got := ShowsNone(c.was, c.is); got != c.want {
			t.Errorf("%v after %v shows none: %v", c.is, c.was, got)
		}
	}
	for _, text := range []string{
		"", "ask = 'x'", "ask = 'x'\npages = ['{p}']", "ask = 'https://a.example/x'\npages = ['{p}']\ntime = 't'",
		"ask = 'x'\npages = ['{p}']\ntime = 't'\nbeside = 'a/b'", "ask = 'x'\npages = ['{p}']\ntime = 't'\nx = 1",
	} {
		if _, err := Parse("ours", []byte("[[list]]\n"+text)); err == nil {
			t.Errorf("%q is no list", text)
		}
	}
}

var update = flag.Bool("update", false, "write the list of profiles in docs")

// The list of programs in docs is that of the profiles, and each has a sign.
func TestListIsCurrent(t *testing.T) {
	const page, begin = "../../docs/profiles.md", "| --- | --- |\n"
	const end = "\n<!-- end of the list"
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(b), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatal("the page has no place for the list")
	}
	var list strings.Builder
	for _, p := range Known().All() {
		fmt.Fprintf(&list, "| `%s` | %s |\n", p.Name, p.About)
		if len(p.Signs.Generator)+len(p.Signs.Cookie)+len(p.Signs.Markup) == 0 || p.About == "" {
			t.Errorf("profile %s: it has no sign, or no description", p.Name)
		}
	}
	now := before + begin + list.String() + end + after
	if now == string(b) {
		return
	}
	if !*update {
		t.Fatalf("%s has another list: run go test ./site/profile -update", page)
	}
	if err := os.WriteFile(page, []byte(now), 0o644); err != nil {
		t.Fatal(err)
	}
}
