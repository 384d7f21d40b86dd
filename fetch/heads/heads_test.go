// SPDX-License-Identifier: Apache-2.0

package heads

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

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

func TestDecodeGivesTheHeadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := &Head{Status: rapid.String().Draw(t, "status"), Normalised: rapid.Bool().Draw(t, "normalised")}
		for _, name := range rapid.SliceOf(rapid.String()).Draw(t, "names") {
			h.Fields = append(h.Fields, Field{name, rapid.String().Draw(t, "value")})
		}
		if got, err := Decode(h.Append([]byte("x"))[1:]); err != nil || !got.Equal(h) {
			t.Fatalf("%v\n%+v\n%+v", err, got, h)
		}
	})
}

// older are heads that commit 7f94b91d coded alone or over one another, as three kinds of servers send them.
func older(t testing.TB) (coded [][]byte, bases, all []*Head) {
	t.Helper()
	text, err := os.ReadFile("testdata/older.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		var x struct {
			Over  int // of the lines before, from 1; 0: none
			Coded string
			Head  *Head
		}
		b, err := []byte(nil), json.Unmarshal(line, &x)
		if err == nil {
			b, err = hex.DecodeString(x.Coded)
		}
		if err != nil {
			t.Fatal(err)
		}
		var base *Head
		if x.Over > 0 {
			base = all[x.Over-1]
		}
		coded, bases, all = append(coded, b), append(bases, base), append(all, x.Head)
	}
	return coded, bases, all
}

func TestDecodeOlder(t *testing.T) {
	coded, bases, all := older(t)
	for i, b := range coded {
		if got, err := DecodeOlder(b, bases[i]); err != nil || !got.Equal(all[i]) {
			t.Errorf("line %d: %v\n%v\n%v", i+1, err, got, all[i])
		}
		if got, err := DecodeOlder(b[:len(b)-1], bases[i]); err == nil {
			t.Errorf("line %d: a head that is cut is %v", i+1, got)
		}
	}
	if got, err := Decode(coded[0]); err != nil || !got.Equal(all[0]) {
		t.Errorf("%v %v", got, err)
	}
}

func FuzzDecode(f *testing.F) {
	coded, bases, all := older(f)
	for i, b := range coded {
		f.Add(b, bases[i] != nil)
	}
	f.Add(all[0].Append(nil), false)
	f.Fuzz(func(t *testing.T, b []byte, over bool) {
		got, err := Decode(b)
		if over {
			got, err = DecodeOlder(b, all[0])
		}
		if err != nil {
			return
		}
		if got.Size() > max(2*MaxSize, 4*len(b)) {
			t.Fatalf("%d bytes", got.Size())
		}
		again, err := Decode(got.Append(nil))
		if err != nil || !again.Equal(got) {
			t.Fatalf("%v\n%+v\n%+v", err, again, got)
		}
		got.Freshened(all[0])
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
		got, err := Decode(h.Append(nil))
		if err != nil || !got.Equal(h) {
			t.Fatalf("%v\n%+v\n%+v", err, got, h)
		}
	})
}
