// SPDX-License-Identifier: Apache-2.0

package layers

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// mostPhrases is how many of avoidedPhrases comments, strings and documents may have. It only falls.
const mostPhrases = 26

// avoidedPhrases returns phrases for which the field has a usual word: "no caller", "any", "continues",
// "no longer", "without one", "receives", "fetches", "links to", "repairs", "instead of", "space for",
// "treated as", "honors", "rarely", "is in", "results in".
func avoidedPhrases() []string {
	return []string{
		"nobody", "somebody", "whoever", "whatever", "goes on", "go on", "known of", "any more", "is none",
		"is told", "are told", "brings", "brought", "leads to", "led to", "heals", "healed", "mends", "mended",
		"in the place of", "room for", "taken for", "heeds", "seldom", "what is", "stands in", "lies in",
		"comes to",
	}
}

// phrasesIn counts the phrases of a text, also at the beginning of a sentence, but not within identifiers
// such as NoBody.
func phrasesIn(text string) int {
	var forms []string
	for _, p := range avoidedPhrases() {
		forms = append(forms, fmt.Sprintf("[%s%s]%s", p[:1], strings.ToUpper(p[:1]), p[1:]))
	}
	return len(regexp.MustCompile(`\b(?:`+strings.Join(forms, "|")+`)\b`).FindAllString(text, -1))
}

// TestPlainWords holds the number of phrases that a reader has to translate. CHANGELOG.md is history.
func TestPlainWords(t *testing.T) {
	if n := phrasesIn("Nobody lies in wait; NoBody is http.NoBody, whatever\nnobodyElse is."); n != 3 {
		t.Fatalf("%d phrases, want 3", n)
	}
	root, all := os.DirFS(top), 0
	byFolder := map[string]int{}
	err := fs.WalkDir(root, ".", func(p string, d fs.DirEntry, err error) error {
		switch name := d.Name(); {
		case err != nil:
			return err
		case d.IsDir() && (name == "testdata" || name == "node_modules" || (name[0] == '.' && p != ".")):
			return fs.SkipDir
		case d.IsDir() || p == "CHANGELOG.md" || name == "words_test.go":
			return nil
		case path.Ext(p) != ".go" && path.Ext(p) != ".md":
			return nil
		}
		text, err := fs.ReadFile(root, p)
		n := phrasesIn(string(text))
		all += n
		folder, _, _ := strings.Cut(p, "/")
		byFolder[folder] += n
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var counts []string
	for _, folder := range slices.Sorted(maps.Keys(byFolder)) {
		counts = append(counts, fmt.Sprintf("%s %d", folder, byFolder[folder]))
	}
	t.Logf("%d phrases: %s", all, strings.Join(counts, ", "))
	if all > mostPhrases {
		t.Errorf("%d of the phrases that plain words replace, at most %d: see avoidedPhrases", all, mostPhrases)
	}
}
