// SPDX-License-Identifier: Apache-2.0

package layers

import (
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Words of the documents, at most: of a page of the guide, of README, of the guide, of docs/design.md.
const (
	mostOfPage   = 2000
	mostOfReadme = 1200
	mostOfGuide  = 25_000
	mostOfDesign = 3000
)

// reference lists the pages of docs that are looked up, not read: formats, keys, calls. The others but
// design.md are the guide.
func reference() []string {
	return []string{
		"addresses", "api", "commands", "formats", "jobs", "json", "metrics", "mirror-protocol", "phm",
		"profiles", "replay", "which-command",
	}
}

// words returns how many words a page has.
func words(t *testing.T, page string) int {
	t.Helper()
	return len(strings.Fields(textOf(t, page)))
}

func textOf(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile(path.Join(top, page))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestGuideIsShort bounds the words of what users read.
func TestGuideIsShort(t *testing.T) {
	guide := words(t, "README.md")
	if guide > mostOfReadme {
		t.Errorf("README.md has %d words, want at most %d", guide, mostOfReadme)
	}
	if n := words(t, "docs/design.md"); n > mostOfDesign {
		t.Errorf("docs/design.md has %d words, want at most %d", n, mostOfDesign)
	}
	for _, page := range documents(t) {
		name := strings.TrimSuffix(path.Base(page), ".md")
		if path.Dir(page) != "docs" || name == "design" || slices.Contains(reference(), name) {
			continue
		}
		n := words(t, page)
		if guide += n; n > mostOfPage {
			t.Errorf("%s has %d words, want at most %d", page, n, mostOfPage)
		}
	}
	t.Logf("the guide has %d words", guide)
	if guide > mostOfGuide {
		t.Errorf("the guide has %d words, want at most %d", guide, mostOfGuide)
	}
}

// anchors returns the names by which the headings of a page are linked, as forges make them.
func anchors(text string) map[string]bool {
	out, code := map[string]bool{}, false
	link := regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	sign := regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			code = !code
		}
		title := strings.TrimLeft(line, "#")
		if code || title == line || !strings.HasPrefix(title, " ") {
			continue
		}
		title = sign.ReplaceAllString(strings.ToLower(link.ReplaceAllString(strings.TrimSpace(title), "$1")), "")
		out[strings.ReplaceAll(title, " ", "-")] = true
	}
	return out
}

// brokenLinks returns the links of a page that lead to no file or heading.
func brokenLinks(t *testing.T, page, text string) (broken []string) {
	t.Helper()
	for _, m := range regexp.MustCompile(`\]\(([^)\s]+)\)`).FindAllStringSubmatch(text, -1) {
		if strings.Contains(m[1], ":") {
			continue
		}
		file, heading, _ := strings.Cut(m[1], "#")
		to, at := page, text
		if file != "" {
			to = path.Join(path.Dir(page), file)
			if _, err := os.Stat(path.Join(top, to)); err != nil {
				broken = append(broken, m[1])
				continue
			}
		}
		if heading == "" {
			continue
		}
		if file != "" {
			at = textOf(t, to)
		}
		if !anchors(at)[heading] {
			broken = append(broken, m[1])
		}
	}
	return broken
}

// TestLinks follows the links between the documents, to their headings too.
func TestLinks(t *testing.T) {
	const bad = "[a](#one) [b](#two) [c](nothing.md) [d](https://e.example/x) ![e](README.md)\n" +
		"# One\n```\n# Two\n```\n"
	if got := brokenLinks(t, "x.md", bad); !slices.Equal(got, []string{"#two", "nothing.md"}) {
		t.Fatal(got)
	}
	for _, page := range append(documents(t), "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md") {
		for _, link := range brokenLinks(t, page, textOf(t, page)) {
			t.Errorf("%s links to %s, which does not exist", page, link)
		}
	}
}

// TestQuestions holds the index by question to the guide: each page of it answers some.
func TestQuestions(t *testing.T) {
	index := textOf(t, "docs/questions.md")
	if n := strings.Count(index, "? |"); n < 25 {
		t.Errorf("%d questions", n)
	}
	for _, page := range documents(t) {
		name := path.Base(page)
		apart := []string{"questions.md", "design.md", "mirror-protocol.md"}
		if path.Dir(page) != "docs" || slices.Contains(apart, name) {
			continue
		}
		if !strings.Contains(index, "("+name) {
			t.Errorf("docs/questions.md has no question that %s answers", name)
		}
	}
}
