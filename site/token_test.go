// SPDX-License-Identifier: Apache-2.0

package site

import (
	"fmt"
	"slices"
	"testing"
)

func TestTokens(t *testing.T) {
	const hex = "0123456789abcdef0123456789abcdef"
	for in, want := range map[string][]string{
		"/p?visit=" + hex:                {"?visit= http://h/p?visit=… " + hex},
		"/p?a=1&visit=" + hex + "&b=2#x": {"?visit= http://h/p?a=1&visit=…&b=2 " + hex},
		"/p.html;visit=" + hex:           {";visit= http://h/p.html;visit=… " + hex},
		"/p;a=1;visit=" + hex + "/q;x=2": {";visit= http://h/p;a=1;visit=…/q;x=2 " + hex},
		"/s/" + hex + "/page":            {"/s/… http://h/s/…/page " + hex},
		"/" + hex + "/page":              {"/… http://h/…/page " + hex},
		"/s/" + hex + "/p?t=1700000000123": {"/s/… http://h/s/…/p?t=1700000000123 " + hex,
			"?t= http://h/s/" + hex + "/p?t=… 1700000000123"},
		"/" + hex:                      nil,
		"/index.html?page=2&sort=name": nil,
		"/20261123/page":               nil,
		"/chapter-2/page":              nil,
		"/documentation/reference":     nil,
	} {
		u, _, err := Parse("http://h" + in)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, x := range Tokens(u) {
			got = append(got, fmt.Sprintf("%s %s %s", x.Kind[len("http://h"):], x.Form, x.Value))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q", in, got)
		}
	}
}
