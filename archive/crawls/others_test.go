// SPDX-License-Identifier: Apache-2.0

package crawls

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// moved is a redirect.
func moved(url, date, to string) rec {
	return of("response", url, date, "",
		"HTTP/1.1 301 Moved\r\nLocation: "+to+"\r\nContent-Type: text/html\r\n\r\n")
}

// linking is a page with links.
func linking(url string, links ...string) rec {
	body := "<!doctype html><html><body>" + url
	for _, l := range links {
		body += `<a href="` + l + `">x</a>`
	}
	return page(url, day1, body)
}

func after(seconds int) string {
	at, err := time.Parse(time.RFC3339, day1)
	if err != nil {
		panic(err)
	}
	return at.Add(time.Duration(seconds) * time.Second).Format(time.RFC3339)
}

// What a site answers later in a crawl that is no page does not hide one that it gave before.
func TestSeveralAnswers(t *testing.T) {
	good := page("http://h.test/a", day1, "good")
	other := page("http://h.test/b", day1, "other")
	const wall = "<p>May we set cookies?"
	const consent = "<title>%s</title><p>Before you continue to %s: we and our partners store and read " +
		"cookies on your device to measure how the site is used, to show you advertisements and to make it " +
		"better. Do you agree? <form action=/agree><input name=n value=%d></form>"
	for name, c := range map[string]struct {
		later []rec
		want  string
	}{
		"to itself":  {[]rec{moved("http://h.test/a", after(1), "/a")}, "/a 200 good; /b 200 other; "},
		"to a login": {[]rec{moved("http://h.test/a", after(1), "/login?to=a")}, "/a 200 good; /b 200 other; "},
		"not modified": {
			[]rec{of("response", "http://h.test/a", after(1), "", "HTTP/1.1 304 Not Modified\r\n\r\n")},
			"/a 200 good; /b 200 other; ",
		},
		"not modified in another crawl": {
			[]rec{of("response", "http://h.test/a", day2, "", "HTTP/1.1 304 Not Modified\r\n\r\n")},
			"/a 200 good; /b 200 other; |/a 200 good; /b 200 other; ",
		},
		"forbidden": {
			[]rec{of("response", "http://h.test/a", after(1), "", "HTTP/1.1 403 Forbidden\r\n\r\nno")},
			"/a 200 good; /b 200 other; ",
		},
		"a wall": {
			[]rec{page("http://h.test/a", after(1), wall), page("http://h.test/b", after(2), wall)},
			"/a 200 good; /b 200 other; ",
		},
		"a wall before": {
			[]rec{page("http://h.test/a", after(-2), wall), page("http://h.test/b", after(-1), wall)},
			"/a 200 good; /b 200 other; ",
		},
		"walls with what differs": {
			[]rec{
				page("http://h.test/a", after(1), fmt.Sprintf(consent, "a", "a", 17)),
				page("http://h.test/b", after(2), fmt.Sprintf(consent, "b", "b", 23)),
			},
			"/a 200 good; /b 200 other; ",
		},
		"one wall, at a page that has no other": {
			[]rec{
				page("http://h.test/a", after(1), fmt.Sprintf(consent, "a", "a", 17)),
				page("http://h.test/c", after(2), fmt.Sprintf(consent, "c", "c", 4711)),
			},
			"/a 200 good; /b 200 other; /c 200 " + fmt.Sprintf(consent, "c", "c", 4711) + "; ",
		},
		"pages without words": {
			[]rec{
				page("http://h.test/a", after(1), "<script>look(1)</script>"),
				page("http://h.test/b", after(2), "<script>look(2)</script>"),
			},
			"/a 200 good; /b 200 other; ",
		},
		"pages of one layout": {
			[]rec{
				page("http://h.test/a", after(1), "new menu good"), page("http://h.test/c", after(1), "new menu cats"),
			},
			"/a 200 new menu good; /b 200 other; /c 200 new menu cats; ",
		},
		"another page": {[]rec{page("http://h.test/a", after(1), "new")}, "/a 200 new; /b 200 other; "},
		"gone": {
			[]rec{of("response", "http://h.test/a", after(1), "", "HTTP/1.1 410 Gone\r\n\r\n")},
			"/a 410 ; /b 200 other; ",
		},
	} {
		a, err := Read(inputs(members(append([]rec{good, other}, c.later...)...)), options())
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := strings.Join(bodies(t, a), "|"); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// An archive begins with the page that people come to, wherever redirects and frames are.
func TestEntries(t *testing.T) {
	home := linking("https://www.h.test/", "/a", "/b")
	rest := []rec{linking("https://www.h.test/a", "/"), linking("https://www.h.test/b", "/")}
	frame := page("https://challenge.test/frame", day1, "<p>are you human")
	args := of("warcinfo", "", day1, "", "software: Wget/1.21\r\n"+
		"wget-arguments: \"-e\" \"http_proxy=http://proxy.test/\" \"https://www.h.test/a\"\r\n")
	font := of("response", "https://fonts.test/f.woff2", day1, "",
		"HTTP/1.1 200 OK\r\nContent-Type: font/woff2\r\n\r\nfont")
	for name, c := range map[string]struct {
		recs []rec
		want string
	}{
		"apex to www": {[]rec{moved("https://h.test/", day1, "https://www.h.test/"), home}, "https://www.h.test/"},
		"two hops": {[]rec{moved("http://h.test/", day1, "https://h.test/"), moved("https://h.test/",
			day1, "https://www.h.test/"), home}, "https://www.h.test/"},
		"a loop": {[]rec{moved("http://h.test/x", day1, "/y"), moved("http://h.test/y", day1, "/x"),
			home}, "https://www.h.test/"},
		"a frame": {append([]rec{frame, home}, rest...), "https://www.h.test/"},
		"a font":  {[]rec{font, home}, "https://www.h.test/"},
		"other domain": {[]rec{moved("http://short.test/", day1, "https://www.h.test/"), home},
			"https://www.h.test/"},
		"an argument": {append([]rec{args, home}, rest...), "https://www.h.test/a"},
		"only redirects": {
			[]rec{moved("http://h.test/", day1, "https://h.test/")}, "http://h.test/",
		},
	} {
		a, err := Read(inputs(members(c.recs...)), options())
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if u := a.Entry(); u.String() != c.want {
			t.Errorf("%s: it begins at %v", name, u)
		}
	}
}

// A record without a date has that of its answer, of its crawl or of its file; request records that say
// nothing cost no answer; a file of other answers says what it holds.
func TestIncomplete(t *testing.T) {
	modified := time.Date(2019, 1, 2, 3, 4, 5, 0, time.UTC)
	info := rec{kind: "warcinfo", date: day2, block: "software: x\r\n"}
	bare := page("http://h.test/", "now", "one")
	withDate := bare
	withDate.block = strings.Replace(bare.block, "\r\n", "\r\nDate: Wed, 01 May 2024 10:00:00 GMT\r\n", 1)
	for want, recs := range map[string][]rec{
		day1: {info, withDate}, day2: {info, bare}, modified.Format(time.RFC3339): {bare},
	} {
		in := inputs(members(recs...))
		in[0].Modified = modified
		a, err := Read(in, options())
		if err != nil || a.Counted.Undated != 1 || a.Crawls[0].First.Format(time.RFC3339) != want {
			t.Errorf("%s: %+v, %v", want, a, err)
		}
	}
	for name, block := range map[string]string{
		"empty": "", "an answer": "HTTP/1.1 200 OK\r\n\r\n", "no line": "\r\n", "GET": "GET / HTTP/1.1\r\n\r\n",
		"old": "GET /\r\n", "POST": "POST / HTTP/1.1\r\n\r\n",
	} {
		one := page("http://h.test/", day1, "one")
		one.fields = "WARC-Record-ID: <urn:uuid:1>\r\n"
		request := of("request", "http://h.test/", day1, "WARC-Concurrent-To: <urn:uuid:1>\r\n", block)
		a, err := Read(inputs(members(info, one, request)), options())
		if name == "POST" {
			want := "it holds 1 request, 1 response, 1 warcinfo; left out: 1 answer to other requests"
			if !errors.Is(err, ErrEmpty) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", name, err)
			}
		} else if err != nil || a.Counted.Answers != 1 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A revisit whose body is in another file is no damage: its URL is not there. Of nothing else an archive is
// not made.
func TestElsewhere(t *testing.T) {
	again := of("revisit", "http://h.test/b", day1, "WARC-Refers-To: <urn:uuid:9>\r\n",
		"HTTP/1.1 200 OK\r\n\r\n")
	a, err := Read(inputs(members(page("http://h.test/", day1, "one"), again)), options())
	if err != nil || a.Counted.Elsewhere != 1 || a.Counted.Damaged != 0 {
		t.Fatalf("%+v, %v", a, err)
	}
	if got := bodies(t, a); got[0] != "/ 200 one; " {
		t.Errorf("%q", got)
	}
	if _, err := Read(inputs(members(again)), options()); !errors.Is(err, ErrEmpty) {
		t.Errorf("nothing else: %v", err)
	}
}

// Times of an index are compared with those of the records as precisely as both are.
func TestTimesOfIndex(t *testing.T) {
	one := page("http://h.test/", "2024-05-01T10:00:00.245Z", "one")
	data := members(one)
	const form = `test,h)/ %s {"url":"http://h.test/","offset":"0","length":"%d","filename":"data.warc.gz"}`
	for stamp, good := range map[string]bool{
		"20240501100000": true, "20240501100000245": true, "202405011000": true, "20240501100001": false,
	} {
		file := zipped(t, data, fmt.Sprintf(form, stamp, len(data)))
		if _, err := Read(inputs(file), options()); (err == nil) != good {
			t.Errorf("%s: %v", stamp, err)
		}
	}
}

// A file that is packed in pieces of any size is read like any other.
func TestPieces(t *testing.T) {
	all := plain(page("http://h.test/", day1, "one"), page("http://h.test/b", day1, "two"),
		page("http://h.test/c", day1, "three"))
	for _, size := range []int{10, 100, 250, len(all)} {
		packed := ""
		for at := 0; at < len(all); at += size {
			packed += gz(all[at:min(at+size, len(all))])
		}
		a, err := Read(inputs(packed), options())
		if err != nil || a.Counted.Records != 3 {
			t.Errorf("pieces of %d: %v", size, err)
			continue
		}
		if got := bodies(t, a); got[0] != "/ 200 one; /b 200 two; /c 200 three; " {
			t.Errorf("pieces of %d: %q", size, got)
		}
	}
}
