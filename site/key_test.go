// SPDX-License-Identifier: Apache-2.0

package site

import (
	"bytes"
	"errors"
	"slices"
	"testing"
)

func TestKey(t *testing.T) {
	for _, c := range []struct{ url, want string }{
		{"https://www.example.org/docs/a?b=c", "org.example.www s/docs/a?b=c"},
		{"http://www.example.org:8080/", "org.example.www h8080/"},
		{"http://localhost/", "localhost h/"},
		{"http://192.0.2.1/a", "192.0.2.1 h/a"},
		{"https://[2001:db8::1]:8443/a", "[2001:db8::1] s8443/a"},
		{"http://example.org./a?", ".org.example h/a?"},
		{"http://1.2.example/", "example.2.1 h/"},
		{"http://1.2.3.4.example/", "example.4.3.2.1 h/"},
	} {
		u := mustParse(t, c.url)
		key := u.Key([]byte("x"))
		if string(key) != "x"+c.want {
			t.Errorf("%s: got %q, want %q", u, key, c.want)
		}
		if back, err := URLFromKey(key[1:]); err != nil || back != u {
			t.Errorf("%q: got %v, %v", key, back, err)
		}
		if p := u.hostKeyPrefix(nil); !bytes.HasPrefix(key[1:], p) {
			t.Errorf("%q does not start with %q", key, p)
		}
	}
}

func TestKeyOrder(t *testing.T) {
	want := []string{
		"http://example.org/", "http://example.org/a?b", "http://example.org:8080/", "https://example.org/",
		"https://example.org/a/b", "https://example.org/a/c/d", "https://example.org/a?b",
		"https://example.org/a?c", "https://example.org/b", "https://example-a.org/", "http://a.example.org/",
		"http://b.example.org/",
	}
	var keys []string
	for _, s := range want {
		keys = append(keys, string(mustParse(t, s).Key(nil)))
	}
	// "-" sorts below ".", so that another name may come between a domain and its hosts: the hosts still lie
	// together.
	slices.Sort(keys)
	for i, k := range keys {
		if u, _ := URLFromKey([]byte(k)); u.String() != want[i] {
			t.Errorf("place %d: got %s, want %s", i, u, want[i])
		}
	}
}

func TestURLFromKeyErrors(t *testing.T) {
	for _, s := range []string{
		"", " ", "org", "org ", "org s", "org s8", " s/", "org x/", "org s08/", "org sx/", "org s99999/",
	} {
		if u, err := URLFromKey([]byte(s)); !errors.Is(err, ErrBadKey) {
			t.Errorf("%q: got %v, %v", s, u, err)
		}
	}
}

func TestKeyAllocates(t *testing.T) {
	u, buf := mustParse(t, testBase), make([]byte, 0, 200)
	if n := testing.AllocsPerRun(100, func() { u.Key(buf) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestParts(t *testing.T) {
	u := mustParse(t, "http://h.example:8080/a/b/c.html?q=1/2")
	q, has := u.Query()
	for _, c := range [][2]string{
		{u.Scheme(), "http"}, {u.Origin(), "http://h.example:8080"}, {u.Host(), "h.example:8080"},
		{u.Hostname(), "h.example"},
		{u.Path(), "/a/b/c.html"}, {u.RequestURI(), "/a/b/c.html?q=1/2"}, {u.Dir(), "/a/b/"}, {q, "q=1/2"},
	} {
		if c[0] != c[1] {
			t.Errorf("got %q, want %q", c[0], c[1])
		}
	}
	if !has || u.IsZero() {
		t.Error("no query, or zero")
	}
	v6 := mustParse(t, "http://[::1]/?")
	if q, has := v6.Query(); v6.Hostname() != "[::1]" || v6.Host() != "[::1]" || q != "" {
		t.Errorf("%s: host %q, query %q %v", v6, v6.Hostname(), q, has)
	}
	var zero URL
	if zero.Scheme()+zero.Origin()+zero.Host()+zero.Hostname()+zero.Path()+zero.RequestURI()+zero.Dir() != "" ||
		!zero.IsZero() || Canonical("nonsense") != zero || Canonical("a://b") != zero {
		t.Error("the zero URL has parts")
	}
	if _, has := zero.Query(); has {
		t.Error("the zero URL has a query")
	}
}

func TestOutcomeNames(t *testing.T) {
	seen := map[string]bool{}
	for o := Pending; o <= Program; o++ {
		if s := o.String(); seen[s] || s == "unknown" {
			t.Errorf("outcome %d is called %q", o, s)
		} else {
			seen[s] = true
		}
	}
	if Outcome(200).String() != "unknown" {
		t.Error("an outcome beyond the last has a name")
	}
}

func TestCheckJobName(t *testing.T) {
	long := "a123456789012345678901234567890123456789012345678901234567890123"
	for _, s := range []string{"a", "samba", "0x", "a.b-c_d", "www.samba.org", "a.", long} {
		if err := CheckJobName(s); err != nil {
			t.Errorf("%q: %v", s, err)
		}
	}
	for _, s := range []string{
		"", ".", "..", "a..b", "-a", "_a", "A", "aB", "a b", "a/b", "a\\b", "ä", "a\x00", "a\n", long + "x",
	} {
		if CheckJobName(s) == nil {
			t.Errorf("%q is a job name", s)
		}
	}
}

// hostKeyPrefix appends the common prefix of the keys of all URLs of u's host, regardless of their
// scheme and port.
func (u URL) hostKeyPrefix(dst []byte) []byte {
	return append(appendReversed(dst, u.Hostname()), ' ')
}
