// SPDX-License-Identifier: Apache-2.0

package urls

import (
	"fmt"
	"testing"

	"mirrord/site"
)

// Each trait is its own, and notes of one URL say nothing of another.
func TestTraits(t *testing.T) {
	var x Traits
	say := func(id uint32) string {
		return fmt.Sprint(x.Is(id, NamedSitemap), x.Is(id, IsBroken), x.Is(id, SetCookie), x.Spent(id, AfterGone),
			x.Hops(id))
	}
	const none = "false false false false 0"
	if got := say(1); got != none {
		t.Error(got)
	}
	x.Note(7, NamedSitemap)
	x.Note(1, NamedSitemap)
	x.Note(1, NamedSitemap)
	x.Spend(1, AfterGone)
	x.Spend(2, 0)
	if got := say(1); got != "true false false true 0" || x.Spent(1, AfterFailure) {
		t.Error(got)
	}
	if got := say(2); got != none {
		t.Error(got)
	}
	if got := fmt.Sprint(x.Sitemaps(), x.CountSitemaps()); got != "[1 7] 2" {
		t.Error(got)
	}
	x.Note(3, IsBroken)
	x.Note(3, SetCookie)
	if got := say(3); got != "false true true false 0" {
		t.Error(got)
	}
}

// An entry point redirects to what its target redirects to, and the longest way counts.
func TestTraitsRedirect(t *testing.T) {
	var x Traits
	if x.Redirect(1, 2, 1, false) || !x.Redirect(0, 1, 1, true) || !x.Redirect(1, 2, 2, false) ||
		x.Redirect(9, 2, 1, false) {
		t.Error("which URLs an entry point redirects to")
	}
	if x.Hops(2) != 2 || x.Hops(0) != 0 {
		t.Error(x.Hops(2), x.Hops(0))
	}
}

func TestVariants(t *testing.T) {
	v := NewVariants(site.Traps{MaxTemplate: 2})
	trapped := false
	for i := range 5 {
		_, trapped = v.Add(site.Canonical(fmt.Sprint("http://h/a?x=", i)))
	}
	if !trapped {
		t.Error("five variants where two are allowed")
	}
}
