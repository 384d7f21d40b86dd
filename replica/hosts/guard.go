// SPDX-License-Identifier: Apache-2.0

package hosts

import (
	"slices"
	"strings"

	"mirrord/replica/hash"
)

// guards keep hosts that answer every request from counting as mirrors: by the answers to what cannot
// exist, and by answers that repeat. The paper has none.
type guards struct {
	StageTwo
	answers map[TestRequest]TestAnswer
	pages   map[string][]hostPage // by host, once they are requested
}

func (g guards) probe(host string) TestAnswer { return g.answers[TestRequest{host, ProbePath(host)}] }

func (g guards) likeness(host string, page TestAnswer) float64 {
	probe := g.probe(host)
	if probe.Kind != GotPage {
		return 0
	}
	return page.Body.likeness(probe.Body)
}

// explained says whether a resemblance of a page to one of another host, high as it is, comes from what the
// page has in common with the answer to a path that does not exist: of what it says beyond that, it must be
// as high.
func (g guards) explained(host string, page TestAnswer, resemblance float64) bool {
	return 1-resemblance > (1-g.likeness(host, page))*(1-highAlike)
}

// hostPage is a page that was had of a host.
type hostPage struct {
	path string
	body PageBody
}

// pagesOf returns the pages that were had of a host, by their paths.
func (g guards) pagesOf(host string) []hostPage {
	list, ok := g.pages[host]
	if ok {
		return list
	}
	probe := ProbePath(host)
	for ask, a := range g.answers {
		if ask.Host == host && ask.Path != probe && a.Kind == GotPage {
			list = append(list, hostPage{ask.Path, a.Body})
		}
	}
	slices.SortFunc(list, func(a, b hostPage) int { return strings.Compare(a.path, b.path) })
	g.pages[host] = list
	return list
}

// templateOf is how many pages around one tell its template, and templateLeast how many must have been had.
const (
	templateOf    = 8
	templateLeast = 3
)

// template returns what at least two of the pages around one say, of each of the two hosts of a test; a host
// of which fewer than three other pages were had has none.
func (g guards) template(t Test) hash.Set {
	var out hash.Set
	for _, host := range []string{t.Source, t.Target} {
		var near []hostPage
		for _, p := range g.pagesOf(host) {
			if p.path != t.Path {
				near = append(near, p)
			}
		}
		if len(near) < templateLeast {
			continue
		}
		slices.SortStableFunc(near, func(a, b hostPage) int {
			return commonDirs(b.path, t.Path) - commonDirs(a.path, t.Path)
		})
		var around []PageBody
		for _, p := range near[:min(len(near), templateOf)] {
			around = append(around, p.body)
		}
		out = append(out, Template(around)...)
	}
	return hash.NewSet(out)
}

// commonDirs counts the directories that two paths have in common from the top.
func commonDirs(a, b string) int {
	n := 0
	for {
		i, j := strings.IndexByte(a, '/'), strings.IndexByte(b, '/')
		if i < 0 || j < 0 || a[:i] != b[:j] {
			return n
		}
		a, b = a[i+1:], b[j+1:]
		n++
	}
}

// probed says whether a host said what it answers to a path that does not exist.
func (g guards) probed(host string) bool {
	kind := g.probe(host).Kind
	return kind == GotPage || kind == GotFailure
}

// onePage says whether more than half of the paths that were had at their source, "/" left out, have one and
// the same page there.
func (g guards) onePage(tests []Test) bool {
	type class struct {
		body PageBody
		n    int
	}
	of := map[string][]class{} // by host
	had := map[TestRequest]bool{}
	n := map[string]int{}
	for _, t := range tests {
		ask := TestRequest{t.Source, t.Path}
		if t.Outcome == SourceFailed || t.Path == "/" || had[ask] {
			continue
		}
		had[ask] = true
		n[t.Source]++
		body, found := g.answers[ask].Body, false
		for i := range of[t.Source] {
			if c := &of[t.Source][i]; c.body.likeness(body) >= 1 {
				c.n++
				found = true
				break
			}
		}
		if !found {
			of[t.Source] = append(of[t.Source], class{body, 1})
		}
	}
	for host, classes := range of {
		for _, c := range classes {
			if c.n > 1 && 2*c.n > n[host] {
				return true
			}
		}
	}
	return false
}
