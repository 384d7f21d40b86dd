// SPDX-License-Identifier: Apache-2.0

package relocate

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestSpliceToIsSplice(t *testing.T) {
	var doc bytes.Buffer
	doc.WriteString(`<!doctype html><base href="/x/"><p>`)
	for i := range 4000 {
		fmt.Fprintf(&doc, `<a href="page%d.html">%s</a>`, i, strings.Repeat("text ", i%37))
		if i == 2000 {
			doc.WriteString(strings.Repeat("a long stretch without links ", 10_000))
		}
	}
	for _, text := range []string{"", "<p>no link", doc.String()} {
		raw := []byte(text)
		var d Doc
		if err := d.Scan(raw, Input{URL: mustURL(t, "http://example.org/a/b.html"), Format: HTML}); err != nil {
			t.Fatal(err)
		}
		target := func(i int) ([]byte, bool, bool) { return fmt.Appendf(nil, "../%d/there.html", i), true, i%3 > 0 }
		want, wantEdits, wantSpans := SpliceNoting(nil, raw, d.Charset, d.Links, d.Edits, target, nil)
		var got bytes.Buffer
		gotEdits, gotSpans, err := SpliceTo(&got, raw, d.Charset, d.Links, d.Edits, target, nil)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got.Bytes(), want) || !slices.Equal(gotEdits, wantEdits) {
			t.Errorf("document of %d bytes: SpliceTo gives %d bytes and %d edits, Splice %d and %d", len(raw),
				got.Len(), len(gotEdits), len(want), len(wantEdits))
		}
		if !slices.Equal(gotSpans, wantSpans) {
			t.Errorf("document of %d bytes: SpliceTo notes %d spans, not the %d of SpliceNoting", len(raw),
				len(gotSpans), len(wantSpans))
		}
	}
}

type failingWriter struct{ n int }

func (w *failingWriter) Write(p []byte) (int, error) {
	w.n++
	return 0, bytes.ErrTooLarge
}

func TestSpliceToStopsWritingAfterAnError(t *testing.T) {
	raw := bytes.Repeat([]byte(`<a href="x">x</a>`), 20_000)
	var d Doc
	if err := d.Scan(raw, Input{URL: mustURL(t, "http://example.org/"), Format: HTML}); err != nil {
		t.Fatal(err)
	}
	w := new(failingWriter)
	_, _, err := SpliceTo(w, raw, d.Charset, d.Links, d.Edits, func(int) ([]byte, bool, bool) {
		return []byte("y"), true, true
	}, nil)
	if err != bytes.ErrTooLarge || w.n != 1 {
		t.Errorf("error %v after %d writes, want %v after 1", err, w.n, bytes.ErrTooLarge)
	}
}

// The fragment of a redirect takes the place of a link's own in a quoted attribute. Elsewhere the link's own
// stays, and a reference never has two.
func TestSpliceFragment(t *testing.T) {
	wide := func(s string) string { return strings.Join(append(strings.Split(s, ""), ""), "\x00") }
	for _, c := range []struct {
		format   Format
		in, want string
	}{
		{HTML, `<a href="x">`, `<a href="n.html#part">`},
		{HTML, `<a href="x# own ">`, `<a href="n.html#part">`},
		{HTML, `<a href='x#"own"'>`, `<a href='n.html#part'>`},
		{HTML, `<a href="x&num;own">`, `<a href="n.html#part">`},
		{HTML, `<a href=x#own>`, `<a href=n.html#own>`},
		{HTML, `<a href=x>`, `<a href=n.html#part>`},
		{HTML, `<img srcset="x#own 2x">`, `<img srcset="n.html#own 2x">`},
		{HTML, `<p style="background:url(x#own)">`, `<p style="background:url(n.html#own)">`},
		{HTML, `<iframe srcdoc="<a href='x#own'>">`, `<iframe srcdoc="<a href='n.html#own'>">`},
		{HTML, `<applet codebase="d/" code=C.class>`, `<applet codebase="./" code=C.class>`},
		{CSS, `a{background:url("x\23 own")}`, `a{background:url("n.html\23 own")}`},
		{CSS, `a{background:url(x)}`, `a{background:url(n.html#part)}`},
		{SVG, `<svg><use href="x#own"/></svg>`, `<svg><use href="n.html#own"/></svg>`},
		{HTML, "\xff\xfe" + wide(`<a href="x#own">`), "\xff\xfe" + wide(`<a href="n.html#own">`)},
		{HTML, "\xfe\xff\x00" + strings.TrimSuffix(wide(`<a href="x">`), "\x00"),
			"\xfe\xff\x00" + strings.TrimSuffix(wide(`<a href="n.html#part">`), "\x00")},
		{HTML, "\xfe\xff\x00" + strings.TrimSuffix(wide(`<a href="x#own">`), "\x00"),
			"\xfe\xff\x00" + strings.TrimSuffix(wide(`<a href="n.html#own">`), "\x00")},
	} {
		var d Doc
		if err := d.Scan([]byte(c.in), Input{URL: mustURL(t, "http://h/"), Format: c.format}); err != nil {
			t.Fatal(err)
		}
		target := func(int) ([]byte, bool, bool) { return []byte("n.html#part"), true, true }
		got, _ := replaceLinks(nil, []byte(c.in), d.Charset, d.Links, d.Edits, target)
		if !strings.HasSuffix(string(got), c.want) {
			t.Errorf("%q: %q, want %q", c.in, got, c.want)
		}
	}
}

// replaceLinks replaces links as a Doc does, and returns the edits that were applied too.
func replaceLinks(
	dst, raw []byte, charset string, links []Link, edits []Edit, target LinkTarget,
) (out []byte, edited []Edit) {
	out, edited, _ = SpliceNoting(dst, raw, charset, links, edits, target, nil)
	return out, edited
}
