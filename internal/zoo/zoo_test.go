// SPDX-License-Identifier: Apache-2.0

package zoo

import (
	"slices"
	"strings"
	"testing"
)

// failing are the cases that the program does not pass yet, each with the reason. It is empty when it does.
func failing() map[string]string {
	return map[string]string{}
}

// cases are all of the zoo.
func cases() []Exhibit {
	return slices.Concat(originCases(), partCases(), paceCases(), contentCases(), sitemapCases(), issueCases())
}

func TestZoo(t *testing.T) {
	for _, c := range cases() {
		t.Run(c.Name, func(t *testing.T) {
			site := c.Site()
			last := 0
			for _, w := range c.Want {
				last = max(last, w.Run)
			}
			var problems []string
			results := c.Play(t, site, last)
			for _, w := range c.Want {
				r := &results[w.Run-1]
				if p := w.Check(site, r); p != nil {
					problems = append(problems, append(p, "\t"+strings.ReplaceAll(r.Text, "\n", "\n\t"))...)
				}
			}
			expect(t, c.Name, problems)
		})
	}
}

// expect fails for problems, unless the case is known to fail; then it fails when there are none.
func expect(t *testing.T, name string, problems []string) {
	t.Helper()
	why, known := failing()[name]
	switch {
	case known && len(problems) == 0:
		t.Errorf("passes, but is listed as failing: %s", why)
	case known:
		t.Logf("known to fail: %s:\n%s", why, strings.Join(problems, "\n"))
	case len(problems) > 0:
		t.Errorf("\n%s", strings.Join(problems, "\n"))
	}
}
