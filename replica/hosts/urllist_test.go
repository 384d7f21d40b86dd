// SPDX-License-Identifier: Apache-2.0

package hosts

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"mirrord/replica/hash"
)

func gz(s string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	io.WriteString(w, s)
	w.Close()
	return b.String()
}

func zst(s string) string {
	w, err := zstd.NewWriter(nil)
	if err != nil {
		panic(err)
	}
	return string(w.EncodeAll([]byte(s), nil))
}

func TestReadURLs(t *testing.T) {
	plain := "http://a.test/1\n\n# a comment\r\nhttps://b.test/2\r\ngarbage\nhttp:///x\nhttp://c.test/a b\n" +
		strings.Repeat("y", 2*maxURL) + "\nhttp://d.test"
	long := strings.Repeat("y", 200)
	for _, tc := range []struct {
		name, in  string
		urls, bad []string
	}{
		{"empty", "", nil, nil},
		{"lines", plain, []string{"http://a.test/1", "https://b.test/2", "http://d.test"},
			[]string{"5 garbage", "6 http:///x", "7 http://c.test/a b", "8 " + long}},
		{"gzip", gz("http://a.test/1\n") + gz("http://a.test/2\n"), []string{"http://a.test/1", "http://a.test/2"},
			nil},
		{"zstd", zst(plain[:16]), []string{"http://a.test/1"}, nil},
		{"CDX",
			" CDX N b a m s k r M S V g\ntest,a)/x 20200101000000 http://a.test/x text/html 200 AAAA - - 5 0 f\nx " +
				"y z\n", []string{"http://a.test/x"}, []string{"3 x y z"}},
		{"CDXJ", `test,a)/ 20200101000000 {"mime": "x", "url": "http:\/\/a.test\/y"}` + "\n",
			[]string{"http://a.test/y"}, nil},
		{"CDXJ with escapes", `test,a)/ 20200101000000 {"url": "http://a.test/?x=1\u0026y=\u00e9"}` + "\n" +
			`test,a)/ 20200101000000 {"url": "http://a.test/\q"}`, []string{"http://a.test/?x=1&y=é"},
			[]string{`2 test,a)/ 20200101000000 {"url": "http://a.test/\q"}`}},
		{"the shortest", "http://a\nhttps://\nhttp://\n", []string{"http://a"},
			[]string{"2 https://", "3 http://"}},
		{"CDX cut", "test,a)/x 20200101000000 http://a.test/x text/html 200\ntest,a)/y 2020010",
			[]string{"http://a.test/x"}, []string{"2 test,a)/y 2020010"}},
		{"CDXJ cut", `test,a)/ 20200101000000 {"mime": "x", "url": "http://a.te`, nil,
			[]string{`1 test,a)/ 20200101000000 {"mime": "x", "url": "http://a.te`}},
		{"a bomb of gzip", gz(strings.Repeat("\x00", 4<<20) + "\nhttp://a.test/1\n"), []string{"http://a.test/1"},
			[]string{"1 " + strings.Repeat("\x00", 200)}},
		{"a bomb of zstd", zst(strings.Repeat("\x00", 4<<20) + "\nhttp://a.test/1\n"), []string{"http://a.test/1"},
			[]string{"1 " + strings.Repeat("\x00", 200)}},
		{"binary", "\x00\x01\x02\nhttp://a.test/1\n", []string{"http://a.test/1"}, []string{"1 \x00\x01\x02"}},
	} {
		var urls, bad []string
		count, err := ReadURLs(strings.NewReader(tc.in), func(u []byte) error {
			if _, _, err := SplitURL(u); err != nil {
				return err
			}
			urls = append(urls, string(u))
			return nil
		}, func(line int, text string, err error) error {
			bad = append(bad, fmt.Sprint(line, " ", text))
			return nil
		})
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
		}
		if !slices.Equal(urls, tc.urls) || !slices.Equal(bad, tc.bad) {
			t.Errorf("%s: %q and bad %q; want %q and %q", tc.name, urls, bad, tc.urls, tc.bad)
		}
		if count.URLs != len(tc.urls) || count.Bad != len(tc.bad) {
			t.Errorf("%s: %+v", tc.name, count)
		}
	}
}

// failsOnce is a reader whose first call fails.
type failsOnce struct {
	err  error
	then string
}

func (r *failsOnce) Read(b []byte) (n int, err error) {
	if err = r.err; err == nil && r.then == "" {
		return 0, io.EOF
	}
	if r.err = nil; err == nil {
		n = copy(b, r.then)
		r.then = r.then[n:]
	}
	return n, err
}

// Who reads may stop, and what cannot be read is said.
func TestReadURLsErrors(t *testing.T) {
	stop := errors.New("enough")
	ignore := func(int, string, error) error { return nil }
	if _, err := ReadURLs(strings.NewReader("http://a.test/\n"), func([]byte) error {
		return stop
	}, ignore); !errors.Is(err, stop) {
		t.Errorf("add: %v", err)
	}
	if _, err := ReadURLs(strings.NewReader("x\n"), nil, func(int, string, error) error {
		return stop
	}); !errors.Is(err, stop) {
		t.Errorf("bad: %v", err)
	}
	if _, err := ReadURLs(&failsOnce{
		err:  stop,
		then: "http://a.test/1\n",
	}, func([]byte) error { return nil }, ignore); !errors.Is(err, stop) {
		t.Errorf("an error that comes once: %v", err)
	}
	cut := gz(strings.Repeat("http://a.test/1\n", 50_000))
	if _, err := ReadURLs(strings.NewReader(cut[:len(cut)/2]), func([]byte) error {
		return nil
	}, ignore); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a cut file: %v", err)
	}
	zcut := zst(strings.Repeat("http://a.test/1\n", 50_000))
	for _, in := range []string{
		zcut[:len(zcut)-3], "\x1f\x8b", "\x1f\x8bnot gzip at all", "\x28\xb5\x2f\xfdno zstd",
	} {
		if _, err := ReadURLs(strings.NewReader(in), func([]byte) error { return nil }, ignore); err == nil {
			t.Errorf("%.20q is read", in)
		}
	}
}

func FuzzReadURLs(f *testing.F) {
	for _, s := range []string{
		"", "http://a.test/1\n", gz("x\n"), zst("x\n"), "a 2020 {\"url\": \"http://x/\"}",
		"http://a.test/1\nhttp://a.test/2?x\nhttp://a.test?y=/\nhttp://A.:80/\nhttp://u@[::1]:8/%zz#\n", "\x1f\x8b",
		"\x28\xb5\x2f\xfd",
		`a 2020 {"url": "http://x/\u0026\""}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v, each := NewInventory(StageOne{MinURLs: 1}), NewInventory(StageOne{MinURLs: 1})
		_, _ = ReadURLs(strings.NewReader(s), func(url []byte) error {
			err := v.AddURL(url)
			host, path, other := SplitURL(url)
			if (err == nil) != (other == nil) {
				t.Fatalf("%q: %v and %v", url, err, other)
			}
			if err == nil {
				each.Add(host, path)
			}
			return err
		}, func(int, string, error) error { return nil })
		got := v.Samples()
		for _, h := range got {
			if h.Host == "" || h.URLs < 1 {
				t.Fatalf("%+v", h)
			}
			for _, p := range h.Paths {
				if host, path, err := SplitURL([]byte("http://" + h.Host + p)); err != nil || string(host) != h.Host ||
					string(path) != p {
					t.Fatalf("%q%q is cut into %q and %q: %v", h.Host, p, host, path, err)
				}
			}
		}
		if want := each.Samples(); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%+v, want %+v", got, want)
		}
		v.Pairs()
	})
}

// Of any order, the inventory is the same.
func TestInventoryInAnyOrder(t *testing.T) {
	var urls [][]byte
	for i := range 30_000 {
		x := hash.Mix(uint64(i))
		urls = append(urls,
			fmt.Appendf(nil, "http://h%d.test/dir%d/sub%d/f%d.html", x%3, x>>8%7, x>>16%5, x>>24%9000))
	}
	o := StageOne{MaxLeaves: 4000}
	whole, back := NewInventory(o), NewInventory(o)
	for i, u := range urls {
		if err := errors.Join(whole.AddURL(u), back.AddURL(urls[len(urls)-1-i])); err != nil {
			t.Fatal(err)
		}
	}
	same := func(a, b HostSample) bool {
		return a.Host == b.Host && a.URLs == b.URLs && slices.Equal(a.Paths, b.Paths)
	}
	if a, b := whole.Samples(), back.Samples(); !slices.EqualFunc(a, b, same) {
		t.Errorf("samples differ: %v and %v", a, b)
	}
	if got, want := back.Pairs(), whole.Pairs(); !slices.Equal(got, want) {
		t.Errorf("pairs\n%v, want\n%v", got, want)
	}
}

// Slashes of a query are in the last segment.
func TestQueryTerms(t *testing.T) {
	features, _ := PathFeatures("/docs/View?page=/old/news%3F/x", StageOne{})
	var got []string
	for _, f := range features {
		got = append(got, fmt.Sprint(f.A, " ", f.B, " ", f.Position))
	}
	if want := []string{"docs view 0", "news x 1", "old news 1", "page old 1", "view page 1"}; !slices.Equal(
		got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// Logs of proxies, in Squid's native form and in the combined one, name what was had; tunnels, failures and
// what was sent are skipped, and the log of a server, which names no host, is refused.
func TestReadProxyLogs(t *testing.T) {
	native := func(from, result, request string) string {
		return "1286536309.586 " + from + " 192.168.0.68 " + result + " 507 " + request + " - HIER_NONE/- -\n"
	}
	combined := func(request, status string) string {
		return `192.168.0.68 - joe [08/Oct/2010:13:11:49 +0200] "` + request + `" ` + status +
			` 507 "-" "Mozilla/5.0" TCP_MISS:DIRECT` + "\n"
	}
	log := native("   921", "TCP_MISS/200", "GET http://a.test/x/1.html") +
		native("     5", "TCP_MEM_HIT/304", "HEAD https://a.test/x/2.html?q=1") +
		native("  1921", "TCP_TUNNEL/200", "CONNECT b.test:443") +
		native("     1", "TCP_DENIED/403", "GET http://c.test/") +
		native("     1", "TCP_MISS/200", "POST http://c.test/form") +
		native("     1", "NONE/400", "GET error:invalid-request") +
		combined("GET http://a.test/x/3.html HTTP/1.1", "200") +
		combined("GET http://a.test/x/4.html HTTP/1.1", "404") +
		combined("GET /x/5.html HTTP/1.0", "200") +
		"1286536310.001 short\n"
	var got []string
	bad := 0
	count, err := ReadURLs(strings.NewReader(log), func(url []byte) error {
		got = append(got, string(url))
		return nil
	}, func(int, string, error) error {
		bad++
		return nil
	})
	want := "[http://a.test/x/1.html https://a.test/x/2.html?q=1 http://a.test/x/3.html]"
	if err != nil || fmt.Sprint(got) != want || bad != 2 || fmt.Sprint(count) != "{10 3 2 5}" {
		t.Errorf("%v, %v, %+v", got, err, count)
	}
}
