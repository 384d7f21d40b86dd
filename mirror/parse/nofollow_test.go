// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"testing"
	"time"
)

// A page that says nofollow, in the spelling of its program, is one like the stored one that said so.
func TestSaysNoFollow(t *testing.T) {
	for page, want := range map[string]bool{
		`<head><meta name="robots" content="noindex, nofollow">`:        true,
		`<head><meta charset=utf-8><meta content='NONE' name='robots'>`: true,
		`<HEAD><META NAME="ROBOTS" CONTENT="NOINDEX, NOFOLLOW" />`:      true, // Trac
		`<head><meta name="robots" content="index, follow">`:            false,
		`<head><meta name="author" content="nofollow">`:                 false,
		`<head><title>nofollow</title>`:                                 false,
	} {
		if got := SaysNoFollow([]byte(page), time.Now()); got != want {
			t.Errorf("%s: %v", page, got)
		}
	}
}
