// SPDX-License-Identifier: Apache-2.0

package relocate

import (
	"slices"
	"testing"
)

func TestApplet(t *testing.T) {
	for _, c := range []struct {
		name, doc, to string // every link is to mirror path to
		links         []string
		want          string
	}{
		{"archives", `<applet code=Clock.class codebase="/java" archive="clock.jar, lib/util.jar">`, "j/x.jar",
			[]string{"requisite /java/clock.jar", "requisite /java/lib/util.jar"},
			`<applet code=Clock.class codebase="" archive="j/x.jar, j/x.jar">`},
		{"archives without codebase", `<applet archive=a.jar,,/b.jar code="p.C">`, "j.jar",
			[]string{"requisite /dir/a.jar", "requisite /b.jar"}, `<applet archive=j.jar,,j.jar code="p.C">`},
		{"archives of another site",
			`<applet codebase=http://other.test/x archive='a.jar,/b.jar,http://zoo.test/c.jar'>`, "j.jar",
			[]string{"requisite http://other.test/x/a.jar", "requisite http://other.test/b.jar", "requisite /c.jar"},
			`<applet codebase="" archive='j.jar,j.jar,j.jar'>`},
		{"codebase", `<applet code="Clock.class" codebase="/java/">`, "../java/Clock.class",
			[]string{"requisite /java/Clock.class"}, `<applet code="Clock.class" codebase="../java/">`},
		{"codebase before code", `<applet codebase=java code=Clock style="background:url(b.png)">`,
			"java/Clock.class", []string{"requisite /dir/java/Clock.class", "requisite /dir/b.png"},
			`<applet codebase=java/ code=Clock style="background:url(java/Clock.class)">`},
		{"package", `<applet code="org.zoo.Clock.class" codebase="/java">`, "../j/org/zoo/Clock.class",
			[]string{"requisite /java/org/zoo/Clock.class"}, `<applet code="org.zoo.Clock.class" codebase="../j/">`},
		{"beside the page", `<applet code="org/Clock.class" codebase="http://zoo.test/dir/">`, "org/Clock.class",
			[]string{"requisite /dir/org/Clock.class"}, `<applet code="org/Clock.class" codebase="./">`},
		{"outside", `<applet code="C" codebase="//other.test/j">`, "http://other.test/j/C.class",
			[]string{"requisite http://other.test/j/C.class"}, `<applet code="C" codebase="http://other.test/j/">`},
		{"no codebase", `<applet code="Clock.class">`, "x", []string{"discovered /dir/Clock.class"},
			`<applet code="Clock.class">`},
		{"a package too deep to be written", `<applet code="a.b.c.d.E" codebase="/j/">`, "x", nil,
			`<applet code="a.b.c.d.E" codebase="/j/">`},
		{"no class",
			`<applet code="javascript:x()" codebase="/j/"><applet codebase=/j/><applet code=".class"><applet code=/C>`,
			"x", nil,
			`<applet code="javascript:x()" codebase="/j/"><applet codebase=/j/><applet code=".class"><applet code=/C>`},
		{"not on other elements", `<div code=C codebase=/j archive=a.jar>`, "x", nil,
			`<div code=C codebase=/j archive=a.jar>`},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := Input{URL: mustURL(t, "http://zoo.test/dir/page.html"), Format: HTML}
			var d Doc
			if err := d.Scan([]byte(c.doc), in); err != nil {
				t.Fatal(err)
			}
			checkSpans(t, []byte(c.doc), &d)
			var links []string
			for _, l := range d.Links {
				u := string(l.URL)
				if rest, ok := cutOrigin(u); ok {
					u = rest
				}
				links = append(links, l.Kind.String()+" "+u)
			}
			if !slices.Equal(links, c.links) {
				t.Fatalf("links %q, want %q", links, c.links)
			}
			splice := func(raw []byte, d *Doc) string {
				out, _ := replaceLinks(nil, raw, d.Charset, d.Links, d.Edits, func(int) ([]byte, bool, bool) {
					return []byte(c.to), true, true
				})
				return string(out)
			}
			got := splice([]byte(c.doc), &d)
			if got != c.want {
				t.Fatalf("got  %s\nwant %s", got, c.want)
			}
			var d2 Doc
			if err := d2.Scan([]byte(got), in); err != nil {
				t.Fatal(err)
			}
			if again := splice([]byte(got), &d2); again != got {
				t.Fatalf("a second relocation changed\n%s to\n%s", got, again)
			}
		})
	}
}

func cutOrigin(u string) (string, bool) {
	const origin = "http://zoo.test"
	if len(u) > len(origin) && u[:len(origin)] == origin {
		return u[len(origin):], true
	}
	return u, false
}

// TestAppletOutside: an applet whose class is not in the set finds it at the origin.
func TestAppletOutside(t *testing.T) {
	for _, c := range []struct{ doc, want string }{
		{`<applet code="Clock.class" width=3></applet>`,
			`<applet code="Clock.class" codebase="http://zoo.test/dir/" width=3></applet>`},
		{`<applet code=Clock></applet>`, `<applet code=Clock codebase="http://zoo.test/dir/"></applet>`},
		{`<applet code='org.zoo.Clock.class'>`, `<applet code='org.zoo.Clock.class' codebase="http://zoo.test/dir/">`},
		{`<applet code="a.b.c.d.E">`, `<applet code="a.b.c.d.E">`}, // too deep to be found
		{`<applet codebase="" code=Clock.class>`, `<applet codebase="http://zoo.test/dir/" code=Clock.class>`},
		{`<applet code=Clock.class codebase=" ">`, `<applet code=Clock.class codebase="http://zoo.test/dir/">`},
		{`<base href="/a&b/"><applet code=C>`, `<base href=""><applet code=C codebase="http://zoo.test/a&amp;b/">`},
	} {
		in := Input{URL: mustURL(t, "http://zoo.test/dir/page.html"), Format: HTML}
		splice := func(raw []byte, in bool) (string, []Edit) {
			var d Doc
			if err := d.Scan(raw, Input{URL: mustURL(t, "http://zoo.test/dir/page.html"), Format: HTML}); err != nil {
				t.Fatal(err)
			}
			out, edits := replaceLinks(nil, raw, d.Charset, d.Links, d.Edits, func(i int) ([]byte, bool, bool) {
				return d.Links[i].URL, in, !in
			})
			return string(out), edits
		}
		got, edits := splice([]byte(c.doc), false)
		if got != c.want || (got != c.doc) != (len(edits) > 0) {
			t.Errorf("%s: %s, %v, want %s", c.doc, got, edits, c.want)
		}
		if again, _ := splice([]byte(got), false); again != got {
			t.Errorf("a second relocation changed\n%s to\n%s", got, again)
		}
		var d Doc
		if err := d.Scan([]byte(c.doc), in); err != nil {
			t.Fatal(err)
		}
		checkSpans(t, []byte(c.doc), &d)
		if got, _ := splice([]byte(c.doc), true); got != c.doc && c.doc[1] == 'a' {
			t.Errorf("with its class inside: %s", got)
		}
	}
}
