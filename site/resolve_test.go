// SPDX-License-Identifier: Apache-2.0

package site

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	whatwg "github.com/nlnwa/whatwg-url/url"
)

const testBase = "https://example.org/docs/guide/index.html?v=1"

func TestResolve(t *testing.T) {
	for _, c := range []struct{ name, ref, want, frag string }{
		{"empty", "", testBase, ""},
		{"fragment only", "#top", testBase, "top"},
		{"blank", " \t\n ", testBase, ""},
		{"file", "a.html", "https://example.org/docs/guide/a.html", ""},
		{"file and fragment", "a.html#x y", "https://example.org/docs/guide/a.html", "x%20y"},
		{"fragment trimmed at its end", "a# x \n", "https://example.org/docs/guide/a", "%20x"},
		{"fragment with line end", "a#x\ny", "https://example.org/docs/guide/a", "xy"},
		{"dot", ".", "https://example.org/docs/guide/", ""},
		{"dot slash", "./a", "https://example.org/docs/guide/a", ""},
		{"up", "..", "https://example.org/docs/", ""},
		{"up and down", "../img/a.png", "https://example.org/docs/img/a.png", ""},
		{"above the root", "../../../../a", "https://example.org/a", ""},
		{"inner dots", "a/./b/../c", "https://example.org/docs/guide/a/c", ""},
		{"last dots", "a/b/..", "https://example.org/docs/guide/a/", ""},
		{"three dots are a name", "...", "https://example.org/docs/guide/...", ""},
		{"escaped dots", "%2E%2e/a/%2e/b", "https://example.org/docs/a/b", ""},
		{"half escaped dots", ".%2e/a/%2e./b", "https://example.org/docs/b", ""},
		{"escaped slash is no slash", "..%2fa", "https://example.org/docs/guide/..%2fa", ""},
		{"root", "/", "https://example.org/", ""},
		{"root-relative", "/a/b?c=d#e", "https://example.org/a/b?c=d", "e"},
		{"root and dots", "/../a", "https://example.org/a", ""},
		{"empty segments stay", "/a//b///", "https://example.org/a//b///", ""},
		{"up over an empty segment", "/a//../b", "https://example.org/a/b", ""},
		{"query only", "?x=1", "https://example.org/docs/guide/index.html?x=1", ""},
		{"empty query", "?", "https://example.org/docs/guide/index.html?", ""},
		{"question marks in a query", "a?b?c/../d", "https://example.org/docs/guide/a?b?c/../d", ""},
		{"query encodes quote", "?a='b'", "https://example.org/docs/guide/index.html?a=%27b%27", ""},
		{"path keeps quote", "a'b", "https://example.org/docs/guide/a'b", ""},
		{"path set", "a b\"<>`{}^|", "https://example.org/docs/guide/a%20b%22%3C%3E%60%7B%7D%5E|", ""},
		{"query set", "?a b\"<>`{}^|", "https://example.org/docs/guide/index.html?a%20b%22%3C%3E`{}^|", ""},
		{"percent is left", "100%/a%zz%4", "https://example.org/docs/guide/100%/a%zz%4", ""},
		{"escapes keep their case", "%7e%7E", "https://example.org/docs/guide/%7e%7E", ""},
		{"control character", "a\x01\x7f", "https://example.org/docs/guide/a%01%7F", ""},
		{"non-ASCII", "/ü/日?é", "https://example.org/%C3%BC/%E6%97%A5?%C3%A9", ""},
		{"bad UTF-8", "/\xff", "https://example.org/%EF%BF%BD", ""},
		{"backslashes", "\\a\\..\\b", "https://example.org/b", ""},
		{"backslash in query stays", "?a\\b", "https://example.org/docs/guide/index.html?a\\b", ""},
		{"tab inside", "/a\tb/.\n./c", "https://example.org/c", ""},
		{"tab in scheme", "ht\ntp://h/", "http://h/", ""},
		{"tab hides slashes", "/\t/h/x", "https://h/x", ""},
		{"tab before blank before mark", "a\tb #", "https://example.org/docs/guide/ab%20", ""},
		{"tab in query", "?a\r\nb", "https://example.org/docs/guide/index.html?ab", ""},
		{"blanks around", "  /a  ", "https://example.org/a", ""},
		{"scheme-relative", "//www.example.net/a", "https://www.example.net/a", ""},
		{"scheme-relative backslashes", "\\\\h\\a", "https://h/a", ""},
		{"more slashes", "////h/a", "https://h/a", ""},
		{"absolute", "http://example.net/a?b#c", "http://example.net/a?b", "c"},
		{"absolute, same host", "https://example.org/x", "https://example.org/x", ""},
		{"no path", "http://example.net", "http://example.net/", ""},
		{"query without path", "http://example.net?a", "http://example.net/?a", ""},
		{"same scheme, no slashes", "https:a", "https://example.org/docs/guide/a", ""},
		{"same scheme, one slash", "https:/a", "https://example.org/a", ""},
		{"other scheme, no slashes", "http:h/a", "http://h/a", ""},
		{"other scheme, one slash", "http:/h/a", "http://h/a", ""},
		{"upper case", "HTTP://EXAMPLE.Net/A", "http://example.net/A", ""},
		{"default port", "https://h:443/", "https://h/", ""},
		{"empty port", "https://h:/", "https://h/", ""},
		{"foreign default port", "http://h:443/", "http://h:443/", ""},
		{"port with zeros", "http://h:008080/", "http://h:8080/", ""},
		{"credentials", "http://u:p@h/", "http://h/", ""},
		{"credentials with at sign", "http://u@x:p@h:81/", "http://h:81/", ""},
		{"IDN", "http://bücher.example/", "http://xn--bcher-kva.example/", ""},
		{"escaped host", "http://%65xample.net/", "http://example.net/", ""},
		{"IPv4", "http://192.0.2.1/", "http://192.0.2.1/", ""},
		{"IPv4, hexadecimal", "http://0x7f.1/", "http://127.0.0.1/", ""},
		{"IPv4, one number", "http://2130706433/", "http://127.0.0.1/", ""},
		{"a name that ends with a signed number", "http://127.%2B1/", "http://127.+1/", ""},
		{"a signed number and a trailing dot", "//-1%2e#@", "https://-1./", "@"},
		{"a number and a trailing dot", "//0x7f.1.", "https://127.0.0.1/", ""},
		{"hexadecimal, without digits", "//1.0x", "https://1.0.0.0/", ""},
		{"IPv6", "http://[2001:DB8::0:1]:8080/", "http://[2001:db8::1]:8080/", ""},
		{"trailing dot", "http://h.example./", "http://h.example./", ""},
		{"underscore", "http://a_b.example/", "http://a_b.example/", ""},
		{"colon later is no scheme", "a/b:c", "https://example.org/docs/guide/a/b:c", ""},
		{"digit first is no scheme", "1a:b", "https://example.org/docs/guide/1a:b", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			base := mustParse(t, testBase)
			got, frag, err := base.Resolve(c.ref)
			if err != nil || got.String() != c.want || frag != c.frag {
				t.Errorf("Resolve(%q) = %q, %q, %v; want %q, %q", c.ref, got, frag, err, c.want, c.frag)
			}
		})
	}
}

func TestResolveErrors(t *testing.T) {
	long := strings.Repeat("a", MaxLen)
	for _, c := range []struct {
		name, base, ref string
		want            error
	}{
		{"mail", testBase, "mailto:a@example.org", ErrNotWeb},
		{"script", testBase, " javascript:void(0)", ErrNotWeb},
		{"big data", testBase, "data:;base64," + long, ErrNotWeb},
		{"file", testBase, "file:///etc/passwd", ErrNotWeb},
		{"ftp", "", "ftp://h/", ErrNotWeb},
		{"relative without base", "", "a/b", ErrRelative},
		{"scheme-relative without base", "", "//h/", ErrRelative},
		{"nothing", "", "", ErrRelative},
		{"too long", testBase, long + "a", ErrTooLong},
		{"too long with its base", testBase, long, ErrTooLong},
		{"too long encoded", testBase, strings.Repeat("ü", MaxLen/4), ErrTooLong},
		{"no host", "", "http://", ErrHost},
		{"only credentials", "", "http://u@/", ErrHost},
		{"only port", "", "http://:80/", ErrHost},
		{"host with space", "", "http://a b/", ErrHost},
		{"host with NUL", "", "http://a\x00b/", ErrHost},
		{"escaped slash in host", "", "http://a%2fb/", ErrHost},
		{"long host", "", "http://" + strings.Repeat("é", 3000) + "/", ErrHost},
		{"IPv4 out of range", "", "http://256.0.0.1/", ErrHost},
		{"number at the end", "", "http://a.1/", ErrHost},
		{"signed number", "", "http://+127.1/", ErrHost},
		{"signed number at the end, refused for others", "", "http://a b.+1/", ErrHost},
		{"signed number in the middle", "", "http://10.-0.1/", ErrHost},
		{"escaped sign", "", "http://%2b127.1/", ErrHost},
		{"wide sign", "", "http://\uff0b127.1/", ErrHost},
		{"open bracket", "", "http://[::1/", ErrHost},
		{"big port", "", "http://h:65536/", ErrPort},
		{"huge port", "", "http://h:99999999999999999999999999/", ErrPort},
		{"word port", "", "http://h:http/", ErrPort},
	} {
		t.Run(c.name, func(t *testing.T) {
			var base URL
			if c.base != "" {
				base = mustParse(t, c.base)
			}
			u, _, err := base.Resolve(c.ref)
			if !errors.Is(err, c.want) || !u.IsZero() {
				t.Errorf("Resolve(%.60q) = %v, %v; want %v", c.ref, u, err, c.want)
			}
			if err != nil && len(err.Error()) > 1000 {
				t.Errorf("error of %d bytes", len(err.Error()))
			}
		})
	}
}

// As Chromium requests them.
func TestResolveLocation(t *testing.T) {
	base, _, err := Parse("http://h.example/dir/page")
	if err != nil {
		t.Fatal(err)
	}
	for field, want := range map[string]string{
		"/caf\xe9":                "http://h.example/caf%E9",
		"/caf\xc3\xa9":            "http://h.example/caf%C3%A9",
		"/\xd0\xba\xe9?\xe9#\xe9": "http://h.example/%D0%BA%E9?%E9",
		"x\xa0":                   "http://h.example/dir/x%A0",
		"http://bücher.example/ü": "http://xn--bcher-kva.example/%C3%BC",
		"/a b%":                   "http://h.example/a%20b%",
	} {
		got, fragment, err := base.ResolveLocation(field)
		if err != nil || got.String() != want || (fragment != "" && fragment != "%E9") {
			t.Errorf("%q: %s, %q, %v; want %s", field, got, fragment, err, want)
		}
	}
}

func TestAppendResolveFragmentIndex(t *testing.T) {
	base := mustParse(t, testBase)
	for _, c := range []struct {
		ref  string
		want int
	}{
		{"", -1}, {"a", -1}, {"#", 0}, {"a#b#c", 1}, {"  a#b ", 3}, {" \ta\tb#c\t", 5}, {"http://h:x/#a", -1},
		{"x:#a", -1},
	} {
		out, frag, err := base.AppendResolve([]byte("kept"), []byte(c.ref))
		if frag != c.want || !strings.HasPrefix(string(out), "kept") || (err != nil && len(out) != 4) {
			t.Errorf("AppendResolve(%q) = %q, %d, %v; want %d", c.ref, out, frag, err, c.want)
		}
	}
}

func TestAppendResolveAllocates(t *testing.T) {
	base := mustParse(t, testBase)
	buf := make([]byte, 0, 256)
	for _, ref := range []string{
		"../img/logo.png#x", "/a/b", "?q", "", "http://www.example.net/a/b", "mailto:x", "//example.org/ü",
	} {
		b := []byte(ref)
		if n := testing.AllocsPerRun(100, func() { base.AppendResolve(buf, b) }); n != 0 {
			t.Errorf("%q: %v allocations", ref, n)
		}
	}
}

// libraryResolve is the slow obvious version. The library does not know yet that a path encodes '^'.
func libraryResolve(base, ref string) (href, frag string, web bool, err error) {
	ref = string([]rune(ref)) // the standard's input is characters
	var w *whatwg.Url
	if base == "" {
		w, err = whatwg.Parse(ref)
	} else {
		w, err = whatwg.ParseRef(base, ref)
	}
	if err != nil {
		return "", "", false, err
	}
	if p := w.Protocol(); p != "http:" && p != "https:" {
		return "", "", false, nil
	}
	frag = w.Fragment()
	w.SetUsername("")
	w.SetPassword("")
	href = w.Href(true)
	path, query, has := strings.Cut(href, "?")
	href = strings.ReplaceAll(path, "^", "%5E")
	if has {
		href += "?" + query
	}
	return href, frag, true, nil
}

var (
	ipv4Host    = regexp.MustCompile(`^https?://[0-9.]+[:/]`)
	signedLabel = regexp.MustCompile(`\+|(^|\.)(0x?)?-`)
)

func FuzzResolve(f *testing.F) {
	bases := []string{"", testBase, "http://h/", "http://[::1]:8080/a//b/?",
		"https://xn--bcher-kva.example/a/..b/c?d/e"}
	for _, ref := range []string{
		"", "#a", "../b/./c?d#e", "//h:80/x", "http:foo", "HTTPS:\\\\H\\..\\x", "http://u:p@[::1]:8080/%2e%2E/a",
		"http://0x7f.1/", "http://bücher.de/ü?ü#ü",
		" /a\tb\n", "mailto:x", "http://a..b/", "http://-a-.b/", "http://xn--a/", "http://a.1./",
		"/\xff^`{|}'?'\"<>#'\"<>`", "http://h:000/x", "http://a%00b", "http://ab--c/",
		"http://192.0.2.1/", "http://192.0.2.1.:80/a", "http://0.0.0.0/", "http://255.255.255.255:8/",
		"http://1.2.3.256/", "http://1.2.3.04/", "http://01.2.3.4/", "http://1.2.3/", "http://1.2.3.4.5/",
		"http://a.1.2.3.4/", "http://1.2.3.4a/", "//-0", "//1.+2",
		"http://1.2..3/", "http://00.0.0.0/", "http://1.2.3.0x4/", "http://1111.2.3.4/",
	} {
		for i := range bases {
			f.Add(uint8(i), ref)
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, ref string) {
		bs := bases[int(which)%len(bases)]
		b := Canonical(bs)
		u, frag, err := b.Resolve(ref)
		want, wantFrag, web, libErr := libraryResolve(bs, ref)
		// The library takes numbers with signs for numbers, and "[[::1]" for an address.
		refused := ipv4Host.MatchString(want) || strings.Count(ref, "[") > 1 || strings.Count(ref, "]") > 1
		differs := signedLabel.MatchString(u.Hostname()) || (errors.Is(err, ErrHost) && refused)
		switch {
		case errors.Is(err, ErrNotWeb) && !web, errors.Is(err, ErrTooLong), differs:
			return
		case (err == nil) != web:
			t.Fatalf("Resolve(%q) = %q, %v; library %q, %v", ref, u, err, want, libErr)
		case err != nil:
			return
		case u.String() != want || frag != wantFrag:
			t.Fatalf("Resolve(%q) = %q, %q; library %q, %q", ref, u, frag, want, wantFrag)
		}
		again, _, err := Parse(u.String())
		if err != nil || again != u {
			t.Fatalf("Parse(%q) = %q, %v", u, again, err)
		}
		out, at, err := b.AppendResolve(nil, []byte(ref))
		if err != nil || Canonical(string(out)) != u || (at >= 0 && ref[at] != '#') {
			t.Fatalf("AppendResolve(%q) = %q, %d, %v; Resolve %q", ref, out, at, err, u)
		}
		key := u.Key(nil)
		if back, err := URLFromKey(key); err != nil || back != u {
			t.Fatalf("URLFromKey(%q) = %q, %v; want %q", key, back, err, u)
		}
	})
}

func BenchmarkAppendResolve(b *testing.B) {
	base := Canonical(testBase)
	for _, c := range []struct{ name, ref string }{
		{"relative", "../reference/page.html#section"},
		{"root", "/docs/reference/page.html"},
		{"absolute", "https://www.example.net/docs/page.html"},
		{"same host", "https://example.org/docs/page.html"},
		{"address", "http://192.0.2.1:8080/docs/page.html"},
		{"nonASCII", "../bücher/日本.html"},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			buf, ref := make([]byte, 0, 256), []byte(c.ref)
			for b.Loop() {
				base.AppendResolve(buf, ref)
			}
		})
	}
	b.Run("library", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			whatwg.ParseRef(testBase, "../reference/page.html#section")
		}
	})
}

func mustParse(t testing.TB, s string) URL {
	t.Helper()
	u, _, err := Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}
