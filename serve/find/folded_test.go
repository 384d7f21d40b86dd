// SPDX-License-Identifier: Apache-2.0

package find

import "testing"

// What isFolded lets through is what folding makes of it, alone and beside others.
func TestIsFolded(t *testing.T) {
	f, all := newFolder(), "e"
	for r := rune(1); r < 0x30000; r++ {
		if s := string(r); isFolded(s) {
			if got := f.fold("É" + s); got != "e"+s {
				t.Errorf("%U is folded to %+q", r, got)
			}
			all += s
		}
	}
	if got := f.fold("É" + all[1:]); got != all || len(all) < 80_000 {
		t.Errorf("%d bytes of letters are folded to %d others", len(all), len(got))
	}
}

// Letters that the database's own tokenizer does not know are words, too.
func TestYoungScripts(t *testing.T) {
	x, _ := newIndex(t)
	put(t, x, "a", map[string]PageText{"http://h.test/adlam": {Said: "𞤀𞤣𞤤𞤢𞤥 𞤆𞤵𞤤𞤢𞤪"}})
	if got := urls(t, x, TextSearch{Words: "𞤆𞤵𞤤𞤢𞤪"}); len(got) != 1 {
		t.Errorf("a word of Adlam is in %v", got)
	}
}
