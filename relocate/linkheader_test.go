// SPDX-License-Identifier: Apache-2.0

package relocate

import (
	"fmt"
	"strings"
	"testing"
)

func TestParseLinkHeader(t *testing.T) {
	for _, c := range []struct {
		in   []string
		want string
	}{
		{
			[]string{`<a.css>; rel=preload; as=style`},
			`[{Ref:a.css Rel:preload Anchor: As:style Type: Hreflang: Media:}]`,
		},
		{
			[]string{`<a>; rel="next  Prev"; title="x, y; <z>; rel=bad", </b>;rel=stylesheet`, `<c>`},
			`[{Ref:a Rel:next prev Anchor: As: Type: Hreflang: Media:} {Ref:/b Rel:stylesheet Anchor: As: Type: Hreflang: Media:} {Ref:c Rel: Anchor: As: Type: Hreflang: Media:}]`,
		},
		{
			[]string{`<a> ; REL = "alternate" ; hreflang=de;type="text/html";crossorigin; media=print`},
			`[{Ref:a Rel:alternate Anchor: As: Type:text/html Hreflang:de Media:print}]`,
		},
		{
			[]string{`<a>; rel=first; rel=second; anchor="#f\"o"`},
			`[{Ref:a Rel:first Anchor:#f"o As: Type: Hreflang: Media:}]`,
		},
		{
			[]string{`<a`, `a>; rel=x`, ``, `,,`, `<>; rel="self"`},
			`[{Ref: Rel:self Anchor: As: Type: Hreflang: Media:}]`,
		},
		{[]string{`<a,b>;rel="x`}, `[{Ref:a,b Rel:x Anchor: As: Type: Hreflang: Media:}]`},
		{
			[]string{`<a>; junk junk; rel=next, <b>`},
			`[{Ref:a Rel:next Anchor: As: Type: Hreflang: Media:} {Ref:b Rel: Anchor: As: Type: Hreflang: Media:}]`,
		},
	} {
		if got := fmt.Sprintf("%+v", ParseLinkHeader(c.in)); got != c.want {
			t.Errorf("%q:\n got %s\nwant %s", c.in, got, c.want)
		}
	}
	if n := len(ParseLinkHeader([]string{strings.Repeat("<a>,", 100_000)})); n != MaxHeaderLinks {
		t.Errorf("%d links kept, want %d", n, MaxHeaderLinks)
	}
	for rel, want := range map[string]string{
		"stylesheet": "requisite true",
		"next":       "hyperlink true",
		"preconnect": "reference false",
		"canonical":  "reference true",
	} {
		kind, ok := HeaderLink{Rel: rel}.Kind()
		if got := fmt.Sprint(kind, ok); got != want {
			t.Errorf("rel=%s is %s, want %s", rel, got, want)
		}
	}
}

func FuzzLinkHeader(f *testing.F) {
	f.Add(`<a>; rel="b\"c", <d>;x=y`)
	f.Fuzz(func(t *testing.T, s string) {
		for _, l := range ParseLinkHeader([]string{s}) {
			if !strings.Contains(s, l.Ref) {
				t.Fatalf("%q is not in %q", l.Ref, s)
			}
		}
	})
}
