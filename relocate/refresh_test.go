// SPDX-License-Identifier: Apache-2.0

package relocate

import (
	"bytes"
	"testing"
)

func TestHeaderRefresh(t *testing.T) {
	for _, c := range []struct{ name, refresh, header, doc, want string }{
		{"in the head", "5; url=next.html", "", `<!doctype html><html><head lang=x><a href=z>`,
			`<!doctype html><html><head lang=x><meta http-equiv="refresh" content="5;url=n0"><a href=n1>`},
		{"before a meta refresh, which browsers then ignore", "0;URL='/a b?c&d'", "",
			`<html manifest=m><meta http-equiv=refresh content="1;url=x">`,
			`<html manifest=n0><meta http-equiv="refresh" content="0;url=n1"><meta http-equiv=refresh content="1;url=n2">`},
		{"after a charset", "1.5,url=x", "utf-8", `<!doctype html>ü`,
			`<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="1.5;url=n0">ü`},
		{"an empty page", "0;url=../x.html", "", ``, `<meta http-equiv="refresh" content="0;url=n0">`},
		{"byte order mark", "0;url=x", "", "\xef\xbb\xbf<p>",
			"\xef\xbb\xbf<meta http-equiv=\"refresh\" content=\"0;url=n0\"><p>"},
		{"outside", "3;url=http://other.test/?a&b", "", `<p>`,
			`<meta http-equiv="refresh" content="3;url=http://other.test/?a&amp;b"><p>`},
		{"not under a base", "0;url=x", "", `<head><base href=/b/>`,
			`<head><meta http-equiv="refresh" content="0;url=n0"><base href="">`},
		{"an edit that depends on a link behind", "0;url=x", "", `<head><script integrity=a src=s.js></script>`,
			`<head><meta http-equiv="refresh" content="0;url=n0"><script integrity="" src=n1></script>`},

		{"only a time", "300", "", `<p>`, `<p>`},
		{"the page itself", "30;url=page.html#top", "", `<p>`, `<p>`},
		{"another scheme", "0;url=mailto:a@b", "", `<p>`, `<p>`},
		{"junk", "url=x", "", `<p>`, `<p>`},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := Input{
				URL:           mustURL(t, "http://zoo.test/dir/page.html"),
				Format:        HTML,
				HeaderCharset: c.header,
				Refresh:       c.refresh,
			}
			got, d := relocated(t, c.doc, in)
			if got != c.want {
				t.Fatalf("got\n%s\nwant\n%s", got, c.want)
			}
			checkSpans(t, []byte(c.doc), d)
			target := func(i int) string { return string(d.Links[i].URL) }
			stored := DeclaredRefresh(d.Links, d.Edits, target)
			if (stored == "") != (len(d.Edits) == 0) {
				t.Fatalf("the declared header is %q", stored)
			}
			in.Refresh = stored // a second scan of the stored body
			if again, _ := relocated(t, c.doc, in); again != got {
				t.Fatalf("with the declared header %q\n%s\nwant\n%s", stored, again, got)
			}
			in.Refresh, in.HeaderCharset = "", ""
			var d2 Doc // the copy needs no header
			if err := d2.Scan([]byte(got), in); err != nil || len(d2.Links) != len(d.Links) {
				t.Fatalf("the copy has %d links, not %d, %v", len(d2.Links), len(d.Links), err)
			}
		})
	}
}

// TestHeaderRefreshReported: one edit is reported, not one for each end, in documents of wide characters too.
func TestHeaderRefreshReported(t *testing.T) {
	raw := []byte("\xff\xfe<\x00h\x00e\x00a\x00d\x00>\x00")
	var d Doc
	if err := d.Scan(raw, Input{
		URL:     mustURL(t, "http://zoo.test/"),
		Format:  HTML,
		Refresh: "0;url=x",
	}); err != nil {
		t.Fatal(err)
	}
	out, edited := replaceLinks(nil, raw, d.Charset, d.Links, d.Edits, func(int) ([]byte, bool, bool) {
		return []byte("x"), true, true
	})
	if len(edited) != 1 || edited[0].Why.String() != "refresh" {
		t.Errorf("edits %v", edited)
	}
	if got, want := bytes.ReplaceAll(out[2:], []byte{0}, nil),
		`<head><meta http-equiv="refresh" content="0;url=x">`; string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestHeaderRefreshOnlyHTML(t *testing.T) {
	var d Doc
	if err := d.Scan([]byte("a{}"), Input{
		URL:     mustURL(t, "http://zoo.test/"),
		Format:  CSS,
		Refresh: "0;url=x",
	}); err != nil || len(d.Links)+len(d.Edits) > 0 {
		t.Errorf("links %v, edits %v, %v", d.Links, d.Edits, err)
	}
}
