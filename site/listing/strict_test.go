// SPDX-License-Identifier: Apache-2.0

package listing

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	nginxHead = "<html>\r\n<head><title>Index of /pub/</title></head>\r\n" +
		"<body>\r\n<h1>Index of /pub/</h1><hr><pre><a href=\"../\">../</a>\r\n"
	nginxTail = "</pre><hr></body>\r\n</html>\r\n"
	nginxRow  = "<a href=\"a.txt\">a.txt</a>                        29-Feb-2024 13:05                 999\r\n"

	apacheHead = `<html><head><title>Index of /pub</title></head><body><h1>Index of /pub</h1><table><tr><th valign="top"><img src="/icons/blank.gif" alt="[ICO]"></th>` +
		`<th><a href="?C=N;O=D">Name</a></th><th><a href="?C=M;O=A">Last modified</a></th><th><a href="?C=S;O=A">Size</a></th><th><a href="?C=D;O=A">Description</a></th></tr>`
	apacheParent = `<tr><td><img src="/icons/back.gif" alt="[PARENTDIR]"></td><td><a href="/">Parent Directory</a></td><td>&nbsp;</td><td align="right">  - </td><td>&nbsp;</td></tr>`
	apacheRow    = `<tr><td><img src="/icons/text.gif" alt="[TXT]"></td><td><a href="a.txt">a.txt</a></td><td align="right">2024-02-29 13:05  </td><td align="right">1.5K</td><td>&nbsp;</td></tr>`
	apacheTail   = "</table></body></html>"
)

// What differs from a server's page in one point is no listing.
func TestNoListing(t *testing.T) {
	nginx := nginxHead + nginxRow + nginxTail
	apache := apacheHead + apacheParent + apacheRow + apacheTail
	python := "<title>Directory listing for /pub/</title><body><h1>Directory listing for " +
		"/pub/</h1><hr><ul><li><a href=\"a\">a</a></li></ul><hr>"
	for name, page := range map[string]string{
		"empty":                 "",
		"white":                 " \r\n",
		"text":                  "Index of /pub/",
		"ordinary":              `<title>News</title><h1>News</h1><ul><li><a href="a">a</a></li><li><a href="b">b</a></li></ul>`,
		"no heading":            strings.ReplaceAll(nginx, "Index of /pub/", "My files"),
		"other directory":       strings.ReplaceAll(nginx, "Index of /pub/", "Index of /other/"),
		"root heading":          strings.ReplaceAll(nginx, "Index of /pub/", "Index of /"),
		"title of another":      strings.Replace(nginx, "Index of /pub/", "Index of /other/", 1),
		"not directly below":    strings.Replace(nginx, "<hr><pre>", "<p>These are the files.</p><pre>", 1),
		"words directly below":  strings.Replace(nginx, "<hr><pre>", "<hr>Files:<pre>", 1),
		"no parent":             strings.Replace(nginx, "<a href=\"../\">../</a>\r\n", "", 1),
		"base":                  strings.Replace(nginx, "<title>", "<base href=\"/x/\"><title>", 1),
		"link elsewhere":        strings.Replace(nginx, `href="a.txt"`, `href="/other/a.txt"`, 1),
		"link to another host":  strings.Replace(nginx, `href="a.txt"`, `href="http://other.example/pub/a.txt"`, 1),
		"link further down":     strings.Replace(nginx, `href="a.txt"`, `href="a/a.txt"`, 1),
		"link with query":       strings.Replace(nginx, `href="a.txt"`, `href="a.txt?x"`, 1),
		"link with empty query": strings.Replace(nginx, `href="a.txt"`, `href="a.txt?"`, 1),
		"link with fragment":    strings.Replace(nginx, `href="a.txt"`, `href="a.txt#x"`, 1),
		"link to script":        strings.Replace(nginx, `href="a.txt"`, `href="javascript:a.txt"`, 1),
		"encoded slash":         strings.Replace(nginx, `href="a.txt">a.txt`, `href="a%2Fb.txt">a/b.txt`, 1),
		"encoded NUL":           strings.Replace(nginx, `href="a.txt">a.txt`, `href="a%00.txt">a.txt`, 1),
		"dot segments": strings.Replace(nginx, nginxRow,
			nginxRow+strings.Replace(nginxRow, `"a.txt">a.txt`, `"%2e%2e/">..`, 1), 1),
		"parent among entries": strings.Replace(nginx, nginxTail, nginxHead[strings.Index(nginxHead, "<a"):]+
			nginxTail, 1),
		"other name":          strings.Replace(nginx, ">a.txt<", ">Read me first<", 1),
		"cut to other name":   strings.Replace(nginx, ">a.txt<", ">b..&gt;<", 1),
		"no date":             strings.Replace(nginx, "29-Feb-2024 13:05", "                 ", 1),
		"bad date":            strings.Replace(nginx, "29-Feb-2024", "30-Feb-2024", 1),
		"bad hour":            strings.Replace(nginx, "13:05", "24:05", 1),
		"words for size":      strings.Replace(nginx, " 999", " big", 1),
		"words after size":    strings.Replace(nginx, " 999", " 999 new", 1),
		"words between rows":  strings.Replace(nginx, nginxTail, "And more:\r\n"+nginxTail, 1),
		"two links in a row":  strings.Replace(nginx, "a.txt</a>", "a.txt</a> <a href=\"a.txt.asc\">asc</a>", 1),
		"twice the same name": strings.Replace(nginx, nginxRow, nginxRow+nginxRow, 1),
		"twice, other encoding": strings.Replace(nginx, nginxRow,
			nginxRow+strings.Replace(nginxRow, `"a.txt"`, `"%61.txt"`, 1), 1),
		"file and directory": strings.Replace(nginx, nginxRow,
			nginxRow+strings.Replace(nginxRow, `"a.txt">a.txt`, `"a.txt/">a.txt/`, 1), 1),
		"two listings": apache + apacheHead[strings.Index(apacheHead, "<table>"):] + apacheRow +
			apacheTail,
		"table in table": strings.Replace(apache, "<td align=\"right\">1.5K",
			"<td><table><tr><td>1.5K</td></tr></table>", 1),
		"table without titles":   strings.ReplaceAll(strings.ReplaceAll(apache, "<th", "<td"), "</th>", "</td>"),
		"titles of other things": strings.Replace(apache, ">Name<", ">Project<", 1),
		"titles link elsewhere":  strings.Replace(apache, "?C=N;O=D", "/sort", 1),
		"words in name column":   strings.Replace(apache, "a.txt</a>", "a.txt</a> (new)", 1),
		"row without link": strings.Replace(apache, apacheRow, apacheRow+"<tr><td></td><td>b.txt</td></tr>",
			1),
		"link in other column": strings.Replace(apache, `<a href="a.txt">a.txt</a>`, "a.txt", 1),
		"no heading, no parent": strings.ReplaceAll(strings.ReplaceAll(apache, "Index of /pub", "Files"),
			apacheParent, ""),
		"rows run together": strings.Replace(apache, "1.5K</td><td>&nbsp;",
			"1.5K</td><td>12M see <a href='/x>and</td></tr><tr title='><td><a href=\"b.txt\">b.txt</a>", 1),
		"python, nested list": strings.Replace(python, "a</a>", "a</a><ul><li><a href=\"b\">b</a></li></ul>",
			1),
		"python, words":           strings.Replace(python, "a</a>", "a</a>: the first", 1),
		"python, list below":      strings.Replace(python, "<hr><ul>", "<p>Files</p><ul>", 1),
		"iis, other host":         strings.ReplaceAll(string(sample(t, "iis.html")), "h.example", "other.example"),
		"iis, size with unit":     strings.Replace(string(sample(t, "iis.html")), "10239 ", "10.2K ", 1),
		"json, other array":       `[1,2,3]`,
		"json, empty":             `[]`,
		"json, objects":           `[{"name":"a","id":1}]`,
		"json, file without size": `[{"name":"a","type":"file","mtime":"Thu, 29 Feb 2024 13:05:07 GMT"}]`,
		"json, other zone":        `[{"name":"a","type":"file","mtime":"Thu, 29 Feb 2024 13:05:07 CET","size":1}]`,
		"json, more members":      `[{"name":"a","type":"file","mtime":"Thu, 29 Feb 2024 13:05:07 GMT","size":1,"x":1}]`,
		"json, negative size":     `[{"name":"a","type":"file","mtime":"Thu, 29 Feb 2024 13:05:07 GMT","size":-1}]`,
		"json, dots":              `[{"name":"..","type":"directory","mtime":"Thu, 29 Feb 2024 13:05:07 GMT"}]`,
		"json, path":              `[{"name":"a/b","type":"file","mtime":"Thu, 29 Feb 2024 13:05:07 GMT","size":1}]`,
		"json, two servers":       `[{"name":"a","type":"file","mtime":"Thu, 29 Feb 2024 13:05:07 GMT","size":1},{"name":"b","size":1,"url":"./b","mod_time":"2024-02-29T13:05:07Z","mode":420,"is_dir":false,"is_symlink":false}]`,
		"json, url elsewhere":     `[{"name":"b","size":1,"url":"/b","mod_time":"2024-02-29T13:05:07Z","mode":420,"is_dir":false,"is_symlink":false}]`,
		"json, trailing":          `[{"name":"a","type":"file","mtime":"Thu, 29 Feb 2024 13:05:07 GMT","size":1}] x`,
		"xml, other list":         "<?xml version=\"1.0\"?>\r\n<list>\r\n<item>a</item>\r\n</list>\r\n",
		"xml, markup in name": "<?xml version=\"1.0\"?>\r\n<list>\r\n<file mtime=\"2024-02-29T13:05:07Z\" " +
			"size=\"1\"><b>a</b></file>\r\n</list>\r\n",
		"xml, dots": "<?xml version=\"1.0\"?>\r\n<list>\r\n<directory " +
			"mtime=\"2024-02-29T13:05:07Z\">..</directory>\r\n</list>\r\n",
		"xml, trailing": "<?xml version=\"1.0\"?>\r\n<list>\r\n</list>\r\n<x>",
	} {
		t.Run(name, func(t *testing.T) {
			if l, ok := Parse([]byte(page), mustURL(t, "http://h.example/pub/")); ok {
				t.Errorf("recognized as a listing: %+v", l)
			}
		})
	}
	for _, page := range []string{nginx, apache, python} {
		if l, ok := Parse([]byte(page), mustURL(t, "http://h.example/pub/")); !ok || len(l.Entries) != 1 {
			t.Errorf("not recognized: %s", page)
		}
		for _, u := range []string{
			"http://h.example/pub", "http://h.example/pub/index.html", "http://h.example/", "http://h.example/other/",
		} {
			if _, ok := Parse([]byte(page), mustURL(t, u)); ok {
				t.Errorf("%s recognized as a listing of %s", page, u)
			}
		}
	}
}

// What servers are set to do otherwise is still a listing.
func TestVariants(t *testing.T) {
	nginx := nginxHead + nginxRow + nginxTail
	apache := apacheHead + apacheParent + apacheRow + apacheTail
	for _, c := range []struct{ name, page, url, server string }{
		{"behind a proxy that adds", nginx, "http://h.example/mirror/pub/", Nginx},
		{"behind a proxy that removes", strings.ReplaceAll(nginx, "/pub/<", "/backend/pub/<"),
			"http://h.example/pub/", Nginx},
		{"sorted by the client", apache, "http://h.example/pub/?C=M;O=D", Apache},
		{"old date", strings.Replace(apache, "2024-02-29 13:05", "29-Feb-2024 13:05", 1),
			"http://h.example/pub/", Apache},
		{"header instead of heading",
			"<title>Our mirror</title><ul><li><a href=\"/about\">about</a></ul><pre>Welcome</pre>" +
				apache[strings.Index(apache, "<table>"):], "http://h.example/pub/", Apache},
		{"header in a layout table", "<title>Our mirror</title><table><tr><td><a href=/>Home</a><td>" +
			apache[strings.Index(apache, "<table>"):] + "</table>", "http://h.example/pub/", Apache},
		{"header before the list",
			strings.Replace(apache, "<table>", "<p>See <a href=\"/policy\">policy</a>.</p><table>", 1),
			"http://h.example/pub/", Apache},
		{"readme behind",
			strings.Replace(apache, "</body>",
				"<h2>Index of /elsewhere</h2><ul><li><a href=x>x</a></ul><table><tr><th>Year<tr><td>1999</table></body>",
				1), "http://h.example/pub/", Apache},
		{"upper case", strings.NewReplacer("html>", "HTML>", "title>", "TITLE>", "<table", "<TABLE", "tr>", "TR>",
			"td>", "TD>", "<td", "<TD", "a href", "A HREF").Replace(apache), "http://h.example/pub/", Apache},
		{"no end tags", strings.NewReplacer("</td>", "", "</tr>", "", "</th>", "").Replace(apache),
			"http://h.example/pub/", Apache},
		{"absolute links", strings.Replace(apache, `href="a.txt"`, `href="http://h.example/pub/a.txt"`, 1),
			"http://h.example/pub/", Apache},
		{"description with a link",
			strings.Replace(apache, "1.5K</td><td>&nbsp;", "1.5K</td><td>12M see <a href=\"/x\">x</a>", 1),
			"http://h.example/pub/", Apache},
		{"stylesheet", strings.Replace(apache, "<table>", `<table id="indexlist">`, 1),
			"http://h.example/pub/", Apache},
		{"unknown table", strings.NewReplacer("?C=N;O=D", "?sort=name", "?C=M;O=A", "?sort=date", "?C=S;O=A",
			"?sort=size", "?C=D;O=A", "?sort=x").Replace(apache), "http://h.example/pub/", Caddy},
		{"table without sort links",
			strings.NewReplacer(`<a href="?C=N;O=D">Name</a>`, "Name", `<a href="?C=M;O=A">Last modified</a>`,
				"Modified", `<a href="?C=S;O=A">Size</a>`, "Size", `<a href="?C=D;O=A">Description</a>`,
				"").Replace(apache), "http://h.example/pub/", Other},
		{"byte order mark", "\ufeff" + apache, "http://h.example/pub/", Apache},
		{"cut name", strings.Replace(nginx, ">a.txt<", ">a.t..&gt;<", 1), "http://h.example/pub/", Nginx},
		{"other character set", strings.Replace(apache, `"a.txt">a.txt`, `"a.txt">`+"\xe9a.\xfftxt", 1),
			"http://h.example/pub/", Apache},
		{"iis in German", strings.ReplaceAll(string(sample(t, "iis.html")), "[To Parent Directory]",
			"[Zum übergeordneten Verzeichnis]"), "http://h.example/pub/", IIS},
		{"python, symbolic link",
			"<title>Directory listing for /pub/</title><body><h1>Directory listing for /pub/</h1><hr><ul><li><a " +
				"href=\"a.txt\">a.txt@</a></ul>", "http://h.example/pub/", Python},
		{"python 2",
			"<title>Directory listing for /pub/</title><body><h2>Directory listing for " +
				"/pub/</h2>\n<hr>\n<ul>\n<li><a href=\"a.txt\">a.txt</a>\n</ul><hr>", "http://h.example/pub/", Python},
		{"apache 1.3",
			"<TITLE>Index of /pub</TITLE><BODY><H1>Index of /pub</H1>\n<PRE><IMG SRC=\"/icons/blank.gif\" " +
				"ALT=\"     \"> <A HREF=\"?N=D\">Name</A>  <A HREF=\"?M=A\">Last modified</A>  <A " +
				"HREF=\"?S=A\">Size</A>  <A HREF=\"?D=A\">Description</A>\n<HR>\n<IMG SRC=\"/icons/back.gif\" " +
				"ALT=\"[DIR]\"> <A HREF=\"/\">Parent Directory</A>   12-Feb-2001 10:11   -  \n<IMG " +
				"SRC=\"/icons/text.gif\" ALT=\"[TXT]\"> <A HREF=\"a.txt\">a.txt</A>   12-Feb-2001 10:11  2.0k " +
				"\n</PRE><HR>", "http://h.example/pub/", Apache},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, ok := Parse([]byte(c.page), mustURL(t, c.url))
			if !ok {
				t.Fatal("not recognized")
			}
			if l.Server != c.server || len(l.Entries) == 0 {
				t.Errorf("%s, %d entries", l.Server, len(l.Entries))
			}
			for _, e := range l.Entries {
				if !e.Dir && l.Server != Python && (e.Precision == TimeUnknown || e.Size < 0) {
					t.Errorf("%s: time or size unknown", e)
				}
			}
		})
	}
}

// Apache with a HEADER and a README that have links, lists and a <pre>, with descriptions, style sheet and
// linked icons.
func TestApacheHeader(t *testing.T) {
	for file, path := range map[string]string{
		"apache-header.html":     "/pre/dl/",
		"apache-stylesheet.html": "/css/dl/",
	} {
		l, ok := Parse(sample(t, file), mustURL(t, "http://h.example"+path))
		if !ok || l.Server != Apache {
			t.Fatalf("%s: %+v, %v", file, l, ok)
		}
		var got []string
		for _, e := range l.Entries {
			got = append(got, e.String())
		}
		const at = " 2026-11-20T07:19 "
		want := []string{"HEADER.html" + at + "90", "README.html" + at + "85", "a.txt" + at + "2",
			"b-1.0.tar.gz" + at + "2", "sub/" + at + "?"}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", file, got, want)
		}
	}
}

// What a page lists that ends too early is right.
func TestCutOff(t *testing.T) {
	for _, c := range pages() {
		page, u := sample(t, c.file), mustURL(t, "http://h.example"+c.path)
		whole, _ := Parse(page, u)
		for n := 0; n < len(page); n += 1 + len(page)/200 {
			l, ok := Parse(page[:n], u)
			if !ok {
				continue
			}
			for _, e := range l.Entries {
				w, ok := whole.Find(e.Name)
				if c.server == IIS && e.Precision == TimeUnknown {
					w.Modified, w.Precision, w.Local = e.Modified, e.Precision, e.Local
				}
				if !ok || w != e {
					t.Fatalf("%s cut at %d: %s, want %s", c.file, n, e, w)
				}
			}
		}
	}
}

// Pages of documentation, in which directories and files are much talked about, are no listings.
func TestDocumentation(t *testing.T) {
	files, err := filepath.Glob("../../relocate/testdata/*.html")
	if err != nil || len(files) == 0 {
		t.Fatal("no pages", err)
	}
	for _, name := range files {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := Parse(raw, mustURL(t, "http://h.example/docs/")); ok {
			t.Errorf("%s recognized as a listing", name)
		}
	}
}

func TestHostile(t *testing.T) {
	many := func(s string, n int) string { return strings.Repeat(s, n) }
	for name, page := range map[string]string{
		"links in a row":    nginxHead + many("<a href=a>a</a>", 200_000) + nginxTail,
		"cells in a row":    apacheHead + "<tr>" + many("<td>", 200_000) + apacheTail,
		"text in a cell":    apacheHead + "<tr><td>" + many("x", 4<<20) + apacheTail,
		"tables":            "<title>Index of /pub/</title>" + many("<table>", 200_000),
		"headings":          many("<h1>Index of /pub/", 200_000),
		"title without end": "<title>Index of /pub/" + many("x", 4<<20),
		"attributes":        "<title>Index of /pub/</title><a" + many(" href=x", 200_000) + ">",
		"xml without end":   "<?xml version=\"1.0\"?><list><file mtime=\"" + many("x", 4<<20),
		"xml many starts":   "<?xml version=\"1.0\"?><list>" + many("<file mtime=\"", 200_000),
		"json nested":       many("[", 200_000),
		"json open":         many("[{\"name\":", 100_000),
	} {
		t.Run(name, func(t *testing.T) {
			if _, ok := Parse([]byte(page), mustURL(t, "http://h.example/pub/")); ok {
				t.Error("recognized as a listing")
			}
		})
	}
}

// A large directory is read whole, in each form.
func TestLarge(t *testing.T) {
	for name, n := range map[string]int{"html": 200_000, "table": 20_000, "json": 20_000, "xml": 20_000} {
		page := largePage(name, n)
		l, ok := Parse([]byte(page), mustURL(t, "http://h.example/pub/"))
		if !ok || len(l.Entries) != n {
			t.Fatalf("%s: %v", name, ok)
		}
		if e, ok := l.Find("file-012345.tar.gz"); !ok || e.Precision == TimeUnknown || e.Size != 12345 {
			t.Errorf("%s: %v, %v", name, e, ok)
		}
	}
}

// largePage is the listing of n files in one of the forms.
func largePage(form string, n int) string {
	var b strings.Builder
	switch form {
	case "html":
		b.WriteString(nginxHead)
		for i := range n {
			fmt.Fprintf(&b,
				"<a href=\"file-%06d.tar.gz\">file-%06d.tar.gz</a>                                 29-Feb-2024 13:05 "+
					"%19d\r\n", i, i, i)
		}
		b.WriteString(nginxTail)
	case "table":
		b.WriteString(strings.Replace(apacheHead, "<table>", `<table id="list">`, 1) + apacheParent)
		for i := range n {
			fmt.Fprintf(&b,
				"<tr><td></td><td class=\"link\"><a href=\"file-%06d.tar.gz\">file-%06d.tar.gz</a></td><td "+
					"class=\"date\">2024-Feb-29 13:05</td><td class=\"size\">%19d</td></tr>\n", i, i, i)
		}
		b.WriteString(apacheTail)
	case "json":
		b.WriteString("[\r\n")
		for i := range n {
			if i > 0 {
				b.WriteString(",\r\n")
			}
			fmt.Fprintf(&b,
				`{ "name":"file-%06d.tar.gz", "type":"file", "mtime":"Thu, 29 Feb 2024 13:05:07 GMT", "size":%d }`, i, i)
		}
		b.WriteString("\r\n]")
	case "xml":
		b.WriteString("<?xml version=\"1.0\"?>\r\n<list>\r\n")
		for i := range n {
			fmt.Fprintf(&b, "<file mtime=\"2024-02-29T13:05:07Z\" size=\"%d\">file-%06d.tar.gz</file>\r\n", i, i)
		}
		b.WriteString("</list>\r\n")
	}
	return b.String()
}
