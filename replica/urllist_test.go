package replica

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

const warcSample = "WARC/1.0\r\nWARC-Type: warcinfo\r\nContent-Length: 7\r\n\r\nhello\r\n\r\n\r\n" +
	"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: <http://a.test/x>\r\nContent-Length: 20\r\n\r\nWARC/1.0 no record \n\r\n\r\n" +
	"WARC/1.0\r\nWARC-Type: request\r\nWARC-Target-URI: http://a.test/x\r\nContent-Length: 0\r\n\r\n\r\n\r\n" +
	"WARC/1.0\r\nWARC-Type: resource\r\nWARC-Target-URI: dns:a.test\r\nContent-Length: 0\r\n\r\n\r\n\r\n"

func TestReadURLs(t *testing.T) {
	plain := "http://a.test/1\n\n# a comment\r\nhttps://b.test/2\r\ngarbage\nhttp:///x\nhttp://c.test/a b\n" + strings.Repeat("y", 2*maxURL) + "\nhttp://d.test"
	long := strings.Repeat("y", 200)
	for _, tc := range []struct {
		name, in  string
		urls, bad []string
	}{
		{"empty", "", nil, nil},
		{"lines", plain, []string{"http://a.test/1", "https://b.test/2", "http://d.test"}, []string{"5 garbage", "6 http:///x", "7 http://c.test/a b", "8 " + long}},
		{"gzip", gz("http://a.test/1\n") + gz("http://a.test/2\n"), []string{"http://a.test/1", "http://a.test/2"}, nil},
		{"zstd", zst(plain[:16]), []string{"http://a.test/1"}, nil},
		{"CDX", " CDX N b a m s k r M S V g\ntest,a)/x 20200101000000 http://a.test/x text/html 200 AAAA - - 5 0 f\nx y z\n", []string{"http://a.test/x"}, []string{"3 x y z"}},
		{"CDXJ", `test,a)/ 20200101000000 {"mime": "x", "url": "http:\/\/a.test\/y"}` + "\n", []string{"http://a.test/y"}, nil},
		{"WARC", warcSample, []string{"http://a.test/x"}, []string{"4 "}},
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

// Who reads may stop, and what cannot be read is said.
func TestReadURLsErrors(t *testing.T) {
	stop := errors.New("enough")
	ignore := func(int, string, error) error { return nil }
	if _, err := ReadURLs(strings.NewReader("http://a.test/\n"), func([]byte) error { return stop }, ignore); !errors.Is(err, stop) {
		t.Errorf("add: %v", err)
	}
	if _, err := ReadURLs(strings.NewReader("x\n"), nil, func(int, string, error) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("bad: %v", err)
	}
	cut := gz(strings.Repeat("http://a.test/1\n", 50_000))
	if _, err := ReadURLs(strings.NewReader(cut[:len(cut)/2]), func([]byte) error { return nil }, ignore); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a cut file: %v", err)
	}
}

func FuzzReadURLs(f *testing.F) {
	for _, s := range []string{"", "http://a.test/1\n", warcSample, gz("x\n"), zst("x\n"), "a 2020 {\"url\": \"http://x/\"}", "\x1f\x8b", "\x28\xb5\x2f\xfd"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v := NewInventory(StageOne{MinURLs: 1})
		_, _ = ReadURLs(strings.NewReader(s), v.AddURL, func(int, string, error) error { return nil })
		for _, h := range v.Samples() {
			if h.Host == "" || h.URLs < 1 {
				t.Fatalf("%+v", h)
			}
		}
	})
}

// Of any order and split, the inventory is the same.
func TestInventoryMerges(t *testing.T) {
	var urls [][]byte
	for i := range 30_000 {
		x := mix(uint64(i))
		urls = append(urls, fmt.Appendf(nil, "http://h%d.test/dir%d/sub%d/f%d.html", x%3, x>>8%7, x>>16%5, x>>24%9000))
	}
	o := StageOne{MaxLeaves: 4000}
	whole, odd, even := NewInventory(o), NewInventory(o), NewInventory(o)
	for i, u := range urls {
		if err := whole.AddURL(u); err != nil {
			t.Fatal(err)
		}
		part := odd
		if i%2 == 0 {
			part = even
		}
		if err := part.AddURL(urls[len(urls)-1-i]); err != nil {
			t.Fatal(err)
		}
	}
	odd.Merge(even)
	same := func(a, b HostSample) bool {
		return a.Host == b.Host && a.URLs == b.URLs && slices.Equal(a.Paths, b.Paths)
	}
	if a, b := whole.Samples(), odd.Samples(); !slices.EqualFunc(a, b, same) {
		t.Errorf("samples differ: %v and %v", a, b)
	}
	if got, want := odd.Pairs(), whole.Pairs(); !slices.Equal(got, want) {
		t.Errorf("pairs\n%v, want\n%v", got, want)
	}
}
