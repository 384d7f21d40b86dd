// SPDX-License-Identifier: Apache-2.0

package heads

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

const nginxHead = "HTTP/1.1 200 OK\r\nServer: nginx/1.22.1\r\nDate: Fri, 20 Nov 2026 18:11:13 " +
	"GMT\r\nContent-Type: text/html\r\nContent-Length: 5230\r\n" +
	"Last-Modified: Wed, 18 Nov 2026 10:00:00 GMT\r\nConnection: keep-alive\r\nETag: " +
	"\"691c4160-146e\"\r\nset-cookie: a=1\r\nSET-COOKIE: b=2\r\nAccept-Ranges: bytes\r\n\r\n"

func parse(t testing.TB, raw string) *Head {
	t.Helper()
	h, err := Parse([]byte(strings.ReplaceAll(raw, "\n", "\r\n")))
	if err != nil {
		t.Fatalf("%q: %v", raw, err)
	}
	return h
}

func TestParseKeepsOrderAndSpelling(t *testing.T) {
	h, err := Parse([]byte(nginxHead + "<html>"))
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.ReplaceAll(h.String(), "\n", "\r\n") + "\r\n"; got != nginxHead {
		t.Errorf("got\n%s", got)
	}
	if h.Code() != 200 || !slices.Equal(h.Values("Set-Cookie"), []string{"a=1", "b=2"}) {
		t.Errorf("code %d, cookies %q", h.Code(), h.Values("Set-Cookie"))
	}
	folded, err := Parse([]byte("HTTP/1.0 404\nX:  a \n  b\t\nEmpty:\n\n"))
	if err != nil || folded.Status != "HTTP/1.0 404" || folded.Code() != 404 ||
		!slices.Equal(folded.Fields, []Field{
			{"X", "a b"}, {"Empty", ""},
		}) {
		t.Errorf("%v %+v", err, folded)
	}
	for _, bad := range []string{
		"", "HTTP/1.1 200 OK", "ICY 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\n: x\r\n\r\n",
		"HTTP/1.1 200 OK\r\n x\r\n\r\n", "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
	} {
		if h, err := Parse([]byte(bad)); err == nil {
			t.Errorf("%q is %+v", bad, h)
		}
	}
}

// The end of a head is found wherever the network cuts it.
func TestEnd(t *testing.T) {
	for _, raw := range []string{
		nginxHead, "HTTP/1.1 200 OK\nA: b\n\n", "HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\nA: b\n\r\n",
	} {
		all := raw + "\r\n\r\nbody"
		for cut := range len(all) {
			if got := End([]byte(all[:cut]), 0); got != 0 {
				if cut < len(raw) || got != len(raw) {
					t.Fatalf("%q: %d of the first %d bytes", raw, got, cut)
				}
				break
			} else if cut >= len(raw) {
				t.Fatalf("%q: no end in %d bytes", raw, cut)
			}
			if got := End([]byte(all), cut); cut < len(raw) && got != len(raw) {
				t.Fatalf("%q: %d when the first %d bytes were looked at before", raw, got, cut)
			}
		}
	}
}

func TestMatches(t *testing.T) {
	h := parse(t, "HTTP/1.1 200 OK\nb: 1\nTransfer-Encoding: chunked\nB: 2\nA: x\n\n")
	for _, c := range []struct {
		fields map[string][]string
		want   bool
	}{
		{map[string][]string{"A": {"x"}, "B": {"1", "2"}}, true},
		{map[string][]string{"A": {"x"}, "B": {"2", "1"}}, false},
		{map[string][]string{"A": {"x"}, "B": {"1"}}, false},
		{map[string][]string{"B": {"1", "2"}}, false},
		{map[string][]string{"A": {"x"}, "B": {"1", "2"}, "C": {"y"}}, false},
	} {
		if got := h.Matches(c.fields); got != c.want {
			t.Errorf("%v: %v", c.fields, got)
		}
	}
}

func TestSameAndFreshened(t *testing.T) {
	stored := "HTTP/1.1 200 OK\nServer: s\nETag: W/\"7\"\nDate: Fri, 20 Nov 2026 18:11:13 GMT\nage: " +
		"5\nContent-Type: text/html\nContent-Length: 10\nCache-Control: max-age=1\nLink: </a>\nlink: " +
		"</b>\nX-Request-Id: 1\n\n"
	for _, c := range []struct{ name, answer, want string }{
		{"nothing", "HTTP/1.1 304 Not Modified\n\n", ""},
		{"only fields of the exchange",
			"HTTP/1.1 304 Not Modified\nDate: Sat, 21 Nov 2026 18:11:13 GMT\nAge: 9\nExpires: 0\nSet-Cookie: " +
				"x=y\nx-request-id: 2\nCF-RAY: 1-FRA\nX-Amzn-RequestId: 7\nConnection: close\n\n", ""},
		{"what says nothing of the body",
			"HTTP/1.1 304 Not Modified\nContent-Length: 0\nContent-Type: text/plain\nTransfer-Encoding: chunked\n\n",
			""},
		{"an entity tag that is strong now", "HTTP/1.1 304 Not Modified\nETag: \"7\"\n\n", ""},
		{"a field that changed",
			"HTTP/1.1 304 Not Modified\nDate: Sat, 21 Nov 2026 18:11:13 GMT\nCache-Control: max-age=2\n\n",
			strings.NewReplacer("max-age=1", "max-age=2", "Fri, 20", "Sat, 21").Replace(stored)},
		{"a field of several values", "HTTP/1.1 304 Not Modified\nLINK: </a>\nLink: </c>\nLink: </d>\n\n",
			strings.Replace(stored, "Link: </a>\nlink: </b>\n", "Link: </a>\nLink: </c>\nLink: </d>\n", 1)},
		{"a new field", "HTTP/1.1 304 Not Modified\nVia: \"1\"\n\n", strings.TrimSuffix(stored, "\n") +
			"Via: \"1\"\n\n"},
	} {
		h := parse(t, stored)
		got, changed := h.Freshened(parse(t, c.answer))
		if changed != (c.want != "") || (!changed && got != h) {
			t.Errorf("%s: changed %v", c.name, changed)
		} else if changed && got.String()+"\n" != c.want {
			t.Errorf("%s: got\n%s", c.name, got)
		}
	}
	for _, c := range []struct {
		old, new string
		same     bool
	}{
		{"Age: 5", "age: 6", true}, {"age: 5\n", "", true}, {"X-Request-Id: 1", "X-Request-Id: 2\nVia: x", false},
		{"Cache-Control: max-age=1", "Cache-Control: max-age=2", false}, {"200 OK", "203 OK", false},
		{"Link: </a>\n", "", false},
	} {
		if got := parse(t, stored).Same(
			parse(t,
				strings.Replace(strings.Replace(stored, "age: 5", "Age: 5", 1), c.old, c.new, 1))); got != c.same {
			t.Errorf("%q to %q: same is %v", c.old, c.new, got)
		}
	}
	for _, list := range [][]string{ofExchange[:], notOfBody[:]} {
		if !slices.IsSorted(list) {
			t.Errorf("%q is not sorted", list)
		}
	}
}

func TestSum(t *testing.T) {
	stored := "HTTP/1.1 200 OK\nServer: s\nETag: \"7\"\nDate: Fri, 20 Nov 2026 18:11:13 GMT\nContent-Type: " +
		"text/html\n\n"
	for _, status := range []string{"200 OK", "304 Not Modified"} {
		text := strings.Replace(stored, "200 OK", status, 1)
		sum := parse(t, text).Sum()
		for _, c := range []struct {
			old, new string
			same     bool
		}{
			{"Fri, 20", "Sat, 21", true}, {"Server", "X-Request-Id: 4\nServer", true},
			{"Server: s", "Server: t", false}, {"Server: s\n", "", false},
			{"ETag: \"7\"", "ETag: \"8\"", false}, {"text/html", "text/plain", status[0] == '3'},
			{"Server: s\nETag: ", "Server: s ETag\nX: ", false},
			{status, "203 OK", false}, {"Server", "Via: x\nServer", false},
		} {
			if got := parse(t, strings.Replace(text, c.old, c.new, 1)).Sum() == sum; got != c.same {
				t.Errorf("%s, %q to %q: same sum is %v", status, c.old, c.new, got)
			}
		}
	}
}

func TestDateIsAsPackageTimeReadsIt(t *testing.T) {
	good := time.Date(2024, 2, 29, 23, 59, 58, 0, time.UTC).Format(timeFormat)
	check := func(s string) {
		t.Helper()
		want, err := time.Parse(timeFormat, s)
		is := err == nil && want.Format(timeFormat) == s
		if got, ok := date(s); ok != is || (ok && got != want.Unix()) {
			t.Errorf("%q: %d, %v", s, got, ok)
		}
	}
	for i := range len(good) {
		for _, c := range []byte(" 0123456789,:-GMTanFeSux\x00\xff") {
			check(good[:i] + string(rune(c)) + good[i+1:])
			check(good[:i] + string([]byte{c}) + good[i+1:])
		}
	}
	for day := range 3000 {
		check(time.Unix(int64(day)*86400*97-1<<36+int64(day*7919), 0).UTC().Format(timeFormat))
	}
	for _, s := range []string{
		"", "Thu, 30 Feb 2024 00:00:00 GMT", "Fri, 01 Mar 2024 24:00:00 GMT", "Fri, 01 Mar 2024 00:60:00 GMT",
		"Fri, 01 Mar 2024 00:00:60 GMT", "Fri, 00 Mar 2024 00:00:00 GMT",
		"Fri, 01 anF 2024 00:00:00 GMT", "Fri, 01 Mar 2024 00:00:00 UTC", "Sat, 01 Jan 0000 00:00:00 GMT",
	} {
		check(s)
	}
}

// Any date of a head is decoded exactly: many servers send the last one as Expires.
func TestDatesComeBack(t *testing.T) {
	other, _ := Parse([]byte(nginxHead))
	for _, s := range []string{
		"Fri, 31 Dec 9999 23:59:59 GMT", "Sat, 01 Jan 6400 00:00:00 GMT", "Sat, 01 Jan 0000 00:00:00 GMT",
		"Mon, 01 Jan 0001 00:00:00 GMT",
	} {
		if _, ok := date(s); !ok {
			t.Errorf("%s is no date", s)
		}
		h := parse(t, "HTTP/1.1 200 OK\nDate: Fri, 20 Nov 2026 18:11:13 GMT\nExpires: "+s+"\n\n")
		for _, base := range []*Head{nil, other, h} {
			if got, err := Decode(h.Append(nil, base), base); err != nil || !got.Equal(h) {
				t.Errorf("%s: %v, %v", s, got, err)
			}
		}
	}
}

func TestWithout(t *testing.T) {
	h := parse(t, "HTTP/1.1 200 OK\nX-Echo: Basic c2VjcmV0\nSet-Cookie: s=hush-hush; Path=/\nServer: s\n\n")
	got := h.Without([]string{"c2VjcmV0", "hush-hush"}).String()
	want := "HTTP/1.1 200 OK\nX-Echo: Basic [secret]\nSet-Cookie: s=[secret]; Path=/\nServer: s\n"
	if got != want {
		t.Errorf("got\n%s", got)
	}
	if h.Without([]string{"other"}) != h {
		t.Error("a head without secrets is copied")
	}
}

// genHead makes heads of few names and values that are like those of servers, and of others.
func genHead() *rapid.Generator[*Head] {
	value := rapid.OneOf(
		rapid.SampledFrom([]string{"", "text/html", "0", "00", "18446744073709551615", "18446744073709551616",
			"Fri, 20 Nov 2026 18:11:13 GMT", "Sat, 21 Nov 2026 18:11:13 GMT",
			"Fri, 21 Nov 2026 18:11:13 GMT", "Thu, 01 Jan 1970 00:00:00 GMT", "Fri, 31 Dec 9999 23:59:59 GMT",
			"\"691c4160-146e\"", "\"691C4160-99\"",
			"cache-iad-1, cache-fra-22", "cache-iad-1, cache-fra-33", "a-b", "-", "9999999999"}),
		rapid.StringMatching(`[0-9a-f]{0,20}-[A-Za-z0-9_]{0,9}`), rapid.StringMatching(`S[0-9]{3}\.[0-9]{2},VS0`),
		rapid.StringMatching(
			`cache-(iad|fra)-kiad70001[0-9]{2}-(IAD|FRA), cache-fra-kiad70001[0-9]{2}-FRA, x, y-[a-z]{9}[0-9]9, z`),
		rapid.String())
	field := rapid.Custom(func(t *rapid.T) Field {
		return Field{rapid.SampledFrom([]string{"Date", "Expires", "ETag", "X-A", "x-a", "X-B", ""}).Draw(t,
			"name"), value.Draw(t, "value")}
	})
	return rapid.Custom(func(t *rapid.T) *Head {
		return &Head{Status: rapid.SampledFrom([]string{"HTTP/1.1 200 OK", "HTTP/2.0 404 Not Found", ""}).Draw(t,
			"status"), Fields: rapid.SliceOfN(field, 0, 12).Draw(t, "fields"),
			Normalised: rapid.Bool().Draw(t, "normalised")}
	})
}

func TestCodeGivesTheHeadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h, base := genHead().Draw(t, "head"), genHead().Draw(t, "base")
		if rapid.Bool().Draw(t, "named alike") {
			base.Fields = slices.Clone(h.Fields)
			for i := range base.Fields {
				if rapid.Bool().Draw(t, "differs") {
					base.Fields[i].Value = genHead().Draw(t, "other").String()
				}
			}
		}
		for _, b := range []*Head{nil, base} {
			coded := h.Append([]byte("x"), b)[1:]
			got, err := Decode(coded, b)
			if err != nil || !got.Equal(h) {
				t.Fatalf("%x over %+v: %v\n%+v\n%+v", coded, b, err, got, h)
			}
			if len(coded) > 0 {
				if got, err := Decode(coded[:len(coded)-1], b); err == nil {
					t.Fatalf("a head that is cut is %+v", got)
				}
			}
		}
	})
}

func FuzzDecode(f *testing.F) {
	h, _ := Parse([]byte(nginxHead))
	other, _ := Parse(
		[]byte(strings.NewReplacer("20 Nov", "21 Nov", "5230", "9", "146e", "9", "nginx", "Apache").Replace(
			nginxHead)))
	f.Add(h.Append(nil, nil), false)
	f.Add(other.Append(nil, h), true)
	short, _ := Parse(
		[]byte("HTTP/1.1 404 Not Found\r\nDate: Fri, 20 Nov 2026 18:11:13 GMT\r\nETag: \"691c4161-146f\"\r\nX: " +
			"y\r\n\r\n"))
	f.Add(short.Append(nil, h), true)
	f.Fuzz(func(t *testing.T, b []byte, over bool) {
		var base *Head
		if over {
			base = h
		}
		got, err := Decode(b, base)
		if err != nil {
			return
		}
		if got.Size() > 2*MaxSize {
			t.Fatalf("%d bytes", got.Size())
		}
		again, err := Decode(got.Append(nil, base), base)
		if err != nil || !again.Equal(got) {
			t.Fatalf("%v\n%+v\n%+v", err, again, got)
		}
		got.Freshened(h)
	})
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(nginxHead))
	f.Add([]byte("HTTP/1.0 404\nX:  a \n  b\t\nEmpty:\n\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		end := End(raw, 0)
		h, err := Parse(raw)
		if err != nil {
			return
		}
		if end == 0 && bytes.Contains(raw, []byte("\n\n")) {
			t.Fatal("a head with an empty line has no end")
		}
		got, err := Decode(h.Append(nil, nil), nil)
		if err != nil || !got.Equal(h) {
			t.Fatalf("%v\n%+v\n%+v", err, got, h)
		}
	})
}
