// SPDX-License-Identifier: Apache-2.0

package site

import "testing"

// A label in its xn-- form has letters of ASCII alone, as in browsers.
func TestMixedLabel(t *testing.T) {
	for host, ok := range map[string]bool{
		"xn--mnchen-3ya.example":                true,
		"bücher.example":                        true,
		"xn--bcher-kva。example":                 true,
		"xn--mnchen-3ya\u00ad":                  true,
		"xn--mnchen-3ya\u00ad1日本-":              false,
		"。xn--mnchen-3ya1日本-":                   false,
		"a.XN--mnchen-3ya1日本-.example":          false,
		"xn--mnchen-3ya1%E6%97%A5%E6%9C%AC-.de": false,
	} {
		if _, _, err := Parse("http://" + host + "/"); (err == nil) != ok {
			t.Errorf("%s: %v", host, err)
		}
	}
}
