// SPDX-License-Identifier: Apache-2.0

package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"mirrord/internal/volatile"
	"mirrord/site"
	"mirrord/store/disk"
)

func drawResource(t *rapid.T) Resource {
	text := rapid.String()
	u, _, err := site.Parse(
		"https://example.org/" + rapid.StringMatching(`[a-z/%.]{0,20}(\?[a-z=]{0,5})?`).Draw(t, "url"))
	if err != nil {
		t.Fatal(err)
	}
	r := Resource{
		ID:       rapid.Uint32().Draw(t, "id"),
		URL:      u,
		Outcome:  site.Outcome(rapid.IntRange(0, 10).Draw(t, "outcome")),
		Status:   rapid.IntRange(0, 999).Draw(t, "status"),
		Reason:   text.Draw(t, "reason"),
		Checked:  rapid.Int64Min(0).Draw(t, "checked"),
		Run:      rapid.IntMin(0).Draw(t, "run"),
		Failures: rapid.IntMin(0).Draw(t, "failures"),
		Gone:     rapid.IntMin(0).Draw(t, "gone"),
		InSet:    rapid.Bool().Draw(t, "in"),
		Path:     rapid.SampledFrom([]string{"", "a/b", "x.html", u.Path()[1:]}).Draw(t, "path"),
		Target:   rapid.Uint32().Draw(t, "target"),
		Changed:  rapid.IntMin(0).Draw(t, "changed"),
		Moved:    rapid.IntMin(0).Draw(t, "moved"),
		Referrer: rapid.Uint32().Draw(t, "ref"),
		Depth:    rapid.Int().Draw(t, "depth"),
		Requis:   rapid.Bool().Draw(t, "requis"),
		NoFollow: rapid.Bool().Draw(t, "nofollow"),
		ShapeNew: rapid.Bool().Draw(t, "shapenew"),
		Head: HeadPlace{rapid.SampledFrom([]uint32{0, 1, 1, 14, 15, 16, 5000}).Draw(t, "head file"),
			int64(rapid.Uint32().Draw(t, "head"))},
		LastHead: HeadPlace{rapid.SampledFrom([]uint32{0, 1, 1, 14, 15}).Draw(t, "last head file"),
			int64(rapid.Uint32().Draw(t, "last head"))},
		HeadSum: rapid.SampledFrom([]uint64{0, 0, 1, 1<<64 - 1}).Draw(t, "head sum"),
		Body:    BodyKind(rapid.IntRange(0, 2).Draw(t, "body")),
		Format:  rapid.Uint8().Draw(t, "format"),
	}
	r.NoETag, r.NoDate = rapid.Bool().Draw(t, "noetag"), rapid.Bool().Draw(t, "nodate")
	r.Source = rapid.SampledFrom([]string{"", "https://mirror.example.net/a"}).Draw(t, "source")
	r.Recent, r.Observed, r.Expires = rapid.Uint16().Draw(t, "recent"), rapid.IntMin(0).Draw(t, "observed"),
		rapid.Int64Min(0).Draw(t, "expires")
	r.Volatile = volatile.Rule{Seen: rapid.Uint8().Draw(t, "seen"), Held: rapid.Uint8().Draw(t, "held")}
	copy(r.Volatile.Templates[:], rapid.SliceOfN(rapid.Uint64(), 0, 8).Draw(t, "templates"))
	r.Cut = rapid.SampledFrom([]uint16{0, 0, 1, 1 << 15}).Draw(t, "cut")
	r.Name = rapid.SampledFrom([]string{"", "", "report 7.pdf"}).Draw(t, "name")
	if r.Target != 0 {
		r.Fragment = text.Draw(t, "fragment")
	}
	if r.Body != NoBody {
		r.Fetched, r.Size, r.Shape = rapid.Int64().Draw(t, "fetched"), rapid.Int64Min(0).Draw(t, "size"),
			rapid.Uint32().Draw(t, "shape")
		r.Modified = rapid.Int64().Draw(t, "modified")
		r.MIME, r.Charset, r.ETag, r.LastModified = text.Draw(t, "mime"), text.Draw(t, "charset"),
			text.Draw(t, "etag"), text.Draw(t, "lm")
		copy(r.Digest[:], rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "digest"))
	}
	if r.Body == PackBody {
		r.At = Place{
			Pack: rapid.Uint32().Draw(t, "pack"),
			Off:  rapid.Int64Min(0).Draw(t, "off"),
			Len:  rapid.Uint32().Draw(t, "len"),
			Doc:  rapid.SampledFrom([]uint32{0, 0, 1, 300}).Draw(t, "doc"),
		}
	}
	return r
}

func TestRecordRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawResource(t)
		b := want.Append(nil)
		var got Resource
		if err := got.Decode(want.URL, b); err != nil {
			t.Fatal(err)
		}
		if got != want {
			t.Fatalf("got %+v\nwant %+v", got, want)
		}
		for n := range b { // a value that is cut short is damage, never another record
			if err := got.Decode(want.URL, b[:n]); err == nil {
				t.Fatalf("%d of %d bytes were decoded as a record", n, len(b))
			}
		}
	})
}

// A record as format 1 wrote it, and one of a format to come.
func TestRecordOfOtherFormats(t *testing.T) {
	first := []byte("\x01\x05\x01\x01\x01\x07\xc8\x01\xe8\x07\x01\x00\x00\x00\x00\x00\x01\x00\x00\x00" +
		strings.Repeat("d", 32) +
		"\xe8\x07\x00\x03\x00\x09text/html\x00\x03\"e\"\x00\x01\x02\x03")
	want := Resource{
		ID:      7,
		URL:     pageURL(1),
		Outcome: site.Fetched,
		Status:  200,
		Checked: 1000,
		Run:     1,
		InSet:   true,
		Fetched: 1000,
		MIME:    "text/html",
		ETag:    "\"e\"",
		Size:    3,
		Format:  1,
		Body:    PackBody,
		At:      Place{Pack: 1, Off: 2, Len: 3},
		Changed: 1,
		Path:    "dir1/page1.html",
	}
	copy(want.Digest[:], strings.Repeat("d", 32))
	var got Resource
	if err := got.Decode(pageURL(1), first); err != nil || got != want {
		t.Errorf("%v\n%+v\n%+v", err, got, want)
	}
	if b := want.Append(nil); !bytes.Equal(b, first) {
		t.Errorf("a record without the new fields is written as %q", b)
	}
	next := want
	next.At.Doc = 200
	b := next.Append(nil)
	if i := bytes.Index(b, []byte{1 << 7, 1 << 3, 1, 200, 1}); i > 0 {
		b[i+2] |= 16
		if err := got.Decode(pageURL(1), b); errors.Is(err, ErrNewerFormat) {
			return
		}
	}
	t.Error("flags of a newer format are read")
}

// likeNothing returns records that say that their page says the same as another one, and whose number of this
// other page is no number.
func likeNothing() [][]byte {
	r := Resource{
		ID:       7,
		URL:      pageURL(1),
		Path:     "dir1/page1.html",
		Like:     1,
		SameText: true,
	}
	b := r.Append(nil)
	b = b[:len(b)-1]
	return [][]byte{
		binary.AppendUvarint(slices.Clone(b), 1),
		binary.AppendUvarint(slices.Clone(b), 0),
		binary.AppendUvarint(slices.Clone(b), 1<<33|1),
	}
}

func TestRecordLikeNothingIsDamaged(t *testing.T) {
	for _, b := range likeNothing() {
		var r Resource
		if err := r.Decode(pageURL(1), b); !errors.Is(err, disk.ErrDamaged) {
			t.Errorf("%x: %+v, %v", b[len(b)-5:], r, err)
		}
	}
}

func FuzzRecord(f *testing.F) {
	r := Resource{
		ID:   7,
		URL:  pageURL(1),
		Path: "dir1/page1.html",
		Body: PackBody,
		MIME: "text/html",
		At:   Place{Pack: 1, Off: 2, Len: 3},
	}
	f.Add(pageURL(1).String(), r.Append(nil))
	r.Recent, r.Observed, r.Expires, r.Volatile.Templates[1], r.NoETag = 5, 9, 1, 2, true
	r.Source = "https://mirror.example.net/pub/page1.html"
	f.Add(pageURL(1).String(), r.Append(nil))
	f.Add("", []byte{1, 0xff, 0, 0})
	for _, b := range likeNothing() {
		f.Add(pageURL(1).String(), b)
	}
	f.Fuzz(func(t *testing.T, u string, b []byte) {
		c, err := StoredURL(u)
		if err != nil {
			c = pageURL(0)
		}
		var r, again Resource
		if r.Decode(c, b) != nil {
			return
		}
		if err := again.Decode(c, r.Append(nil)); err != nil || again != r {
			t.Fatalf("%+v becomes %+v, %v", r, again, err)
		}
	})
}

func FuzzBatch(f *testing.F) {
	f.Add([]byte{0, 1, 5, 'h', 't', 't', 'p', ':', 0, 1, 0})
	f.Add([]byte{0, 0, 0xff, 0xff, 0xff, 0xff, 0x0f})
	f.Fuzz(func(t *testing.T, v []byte) {
		var b LogBatch
		if err := b.Decode(v); err != nil && !errors.Is(err, disk.ErrDamaged) {
			t.Fatal(err)
		}
		var r Resource
		for _, d := range b.Done {
			if u, err := StoredURL(string(d.URL)); err == nil {
				u.Key(nil)
				_ = r.Decode(u, d.Record)
				Targets(d.Targets, func(uint32) bool { return true })
			}
		}
	})
}

func TestTargetsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOf(rapid.Uint32Max(1<<32-2)).Draw(t, "ids")
		slices.Sort(ids)
		b := AppendTargets([]byte("x"), ids)[1:]
		var got []uint32
		if !Targets(b, func(id uint32) bool { got = append(got, id); return true }) {
			t.Fatal("not well formed")
		}
		if want := slices.Compact(ids); !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
	if Targets([]byte{0x80}, func(uint32) bool {
		return true
	}) || Targets(bytes.Repeat([]byte{0xff}, 12), func(uint32) bool { return true }) {
		t.Error("a damaged list was decoded")
	}
}

func TestStoredURL(t *testing.T) {
	for _, s := range []string{
		"", ":///", "ftp://a/b", "http://", "http:///x", "http://a", "https:", strings.Repeat("x", 100),
	} {
		if u, err := StoredURL(s); !errors.Is(err, disk.ErrDamaged) {
			t.Errorf("%q: %v, %v", s, u, err)
		}
	}
	if u, err := StoredURL("http://a/"); err != nil || u.Host() != "a" {
		t.Error(u, err)
	}
}

func pageURL(n int) site.URL {
	return site.Canonical(fmt.Sprintf("http://h%d.example/dir%d/page%d.html", n, n, n))
}

// The same bytes are another page by another type or encoding.
func TestTextSum(t *testing.T) {
	seen := map[uint64]bool{}
	for _, r := range []Resource{
		{MIME: "text/html"}, {MIME: "text/plain"}, {
			MIME:    "text/html",
			Charset: "koi8-r",
		}, {MIME: "text/html", Charset: "utf-8"}, {MIME: "text/html", Digest: [32]byte{1}},
	} {
		if sum := r.TextSum(); seen[sum] {
			t.Errorf("%+v is as another", r)
		} else if again := r; sum != again.TextSum() {
			t.Errorf("%+v is not as itself", r)
		}
		seen[r.TextSum()] = true
	}
}
