// SPDX-License-Identifier: Apache-2.0

package zoo

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// exhibits are all of the zoo.
func exhibits() []Exhibit {
	return slices.Concat(originCases(), partCases(), paceCases(), silenceCases(), contentCases(), sitemapCases(),
		issueCases(), changeCases(), trapCases())
}

// TestZooInBulk plays each site as it is, and every fifth of them, all with MIRRORD_LONG, once more with one
// page more that is broken for ever. Each way to be broken comes up in both.
func TestZooInBulk(t *testing.T) {
	ways := breakages()
	for i, c := range exhibits() {
		t.Run(c.Name, func(t *testing.T) {
			site := c.Site()
			without := c.Play(t, site, lasting)
			var problems []string
			for _, w := range c.Want {
				r := &without[w.Run-1]
				if p := w.Check(site, r); p != nil {
					problems = append(problems, append(p, indented(r.Text))...)
				}
			}
			expect(t, c.Name, problems)
			if i%5 != 0 && os.Getenv("MIRRORD_LONG") == "" {
				return
			}
			way := ways[(i/5+i%5)%len(ways)]
			t.Run(way.name, func(t *testing.T) {
				s := c.Site()
				part := c.leaf(s)
				with := c.Play(t, damaged(s, way, 1, part), lasting)
				expect(t, "a broken page beside: "+c.Name, sameBut(without, with, s, part, strings.Fields(c.Part)...))
			})
		})
	}
}

// expect fails for problems.
func expect(t *testing.T, name string, problems []string) {
	t.Helper()
	if len(problems) > 0 {
		t.Errorf("%q\n%s", name, strings.Join(problems, "\n"))
	}
}
