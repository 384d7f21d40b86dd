// SPDX-License-Identifier: Apache-2.0

package render

import (
	"strings"
	"testing"

	"mirrord/relocate"
)

func TestUsesSymbol(t *testing.T) {
	for text, want := range map[string]bool{
		`<svg><use href="s.svg#a"/></svg>`:                          true,
		`<svg><USE class="x" xlink:href='s.svg#a'></use></svg>`:     true,
		`<svg:use href=s.svg#a />`:                                  true,
		"<use\n\thref=\"s.svg#a\">":                                 true,
		`<svg><use href="s.svg"/></svg>`:                            false,
		`<svg><image href="s.svg#a"/></svg>`:                        false,
		`<a href="s.svg#a">use</a>`:                                 false,
		`<user href="s.svg#a">`:                                     false,
		`<use ` + strings.Repeat("x", 5000) + `="" href="s.svg#a">`: false,
	} {
		at := strings.Index(text, "s.svg")
		l := relocate.Link{Start: int32(at), End: int32(at + 5)}
		if got := usesSymbol([]byte(text), &l); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}
