// SPDX-License-Identifier: Apache-2.0

package find

import (
	"slices"
	"strings"
	"testing"
)

// What pages must not have is looked for in titles and texts, and beginnings too; tags are no words.
func TestPlainWords(t *testing.T) {
	x, _ := newIndex(t)
	put(t, x, "a", map[string]PageText{
		"https://a.example/1": {Title: "Samba", Said: "winbind maps users now"},
		"https://a.example/2": {Title: "Samba", Said: "configuration of shares in the past"},
		"https://a.example/3": {Title: "Winbind", Said: "samba configures j1"},
		"https://a.example/4": {Title: "Fractions", Said: "a cup of 1½ and 2¼ others, 2⑴"},
	})
	for words, want := range map[string][]string{
		"samba NOT winbind":        {"2"},
		"samba NOT configur*":      {"1"},
		"samba -win*":              {"2"},
		"con*":                     {"2", "3"},
		"conf*":                    {"2", "3"},
		"configura*":               {"2"},
		"con* OR win*":             {"1", "2", "3"},
		"now":                      {"1"},
		"past":                     {"2"},
		"j1":                       {"3"},
		"samba -now":               {"2", "3"},
		`samba "maps users" -con*`: {"1"},
		"1½":                       {"4"},
		"cup 1½":                   {"4"},
		"cup NOT 2¼":               {},
		"cup 2⑴":                   {"4"},
		"cup NOT 3¼":               {"4"},
		"\ue000now":                {"1"},
	} {
		got := urls(t, x, TextSearch{Words: words})
		slices.Sort(got)
		for i := range got {
			got[i] = strings.TrimPrefix(got[i], "https://a.example/")
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q finds %v, want %v", words, got, want)
		}
	}
}
