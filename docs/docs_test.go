// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"errors"
	"io/fs"
	"regexp"
	"strings"
	"testing"

	"mirrord/job"
)

// guide renders all pages of the guide.
func guide(t *testing.T) map[string]string {
	t.Helper()
	names, err := fs.Glob(Pages(), "*.md")
	if err != nil || len(names) < 30 {
		t.Fatalf("%d pages, %v", len(names), err)
	}
	out := map[string]string{}
	for _, name := range names {
		name = strings.TrimSuffix(name, ".md")
		title, body, err := HTML(name, "/help/")
		if err != nil || title == "" {
			t.Errorf("%s: title %q, %v", name, title, err)
		}
		out[name] = body
	}
	return out
}

// Each link of the guide names a page, and a place in it, that exist.
func TestGuideLinks(t *testing.T) {
	pages := guide(t)
	links := 0
	for name, body := range pages {
		for _, m := range regexp.MustCompile(`<a href="([^"]*)"`).FindAllStringSubmatch(body, -1) {
			page, fragment, _ := strings.Cut(m[1], "#")
			if strings.Contains(page, ":") {
				continue
			}
			at, ok := strings.CutPrefix(page, "/help/")
			if page == "" {
				at, ok = name, true
			}
			if !ok || pages[at] == "" || (fragment != "" && !strings.Contains(pages[at], `id="`+fragment+`"`)) {
				t.Errorf("%s: a link to %s is broken", name, m[1])
			}
			links++
		}
		if strings.Contains(body, "<img") || strings.Contains(body, `href="engineering/`) {
			t.Errorf("%s shows a file that only the repository has", name)
		}
	}
	if links < 150 {
		t.Errorf("only %d links: the test sees nothing", links)
	}
	for _, page := range Contents() {
		if pages[page] == "" || Title(page) == "" {
			t.Errorf("the list names %s, which is not there", page)
		}
	}
}

// Each key of a job file has its place in the page of the keys, and no other has the same.
func TestGuideHasEachKey(t *testing.T) {
	body := guide(t)["jobs"]
	for _, k := range job.Keys() {
		if n := strings.Count(body, `id="`+k.Name+`"`); n != 1 {
			t.Errorf("%s: %d places", k.Name, n)
		}
	}
}

func TestUnknownPage(t *testing.T) {
	for _, page := range []string{"", "nosuch", "../go", "/etc/passwd", "jobs.md"} {
		if _, _, err := HTML(page, "/help/"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%q: %v", page, err)
		}
	}
}
