// SPDX-License-Identifier: Apache-2.0

package volatile

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// rankedPage is a page with a list: of each item its name, its number, and another one.
func rankedPage(form string, items ...string) []byte {
	var b strings.Builder
	b.WriteString("<h1>Most viewed 2026</h1><table id=list><tr><th>Name<th>Views<th>Size</tr>\n")
	for i, x := range items {
		var name string
		var views, size int
		fmt.Sscanf(x, "%s %d %d", &name, &views, &size)
		if form == "" {
			const row = "<tr class=row%d><td class=n><a href=/%s>%[2]s</a></td><td class=v>%d</td><td>%d</td></tr>\n"
			fmt.Fprintf(&b, row, i%2, name, views, size)
		} else {
			fmt.Fprintf(&b, form, name, views, size)
		}
	}
	b.WriteString("</table><p>end</p>")
	return []byte(b.String())
}

// The order of a list follows from numbers where these alone say it, in both answers.
func TestRanked(t *testing.T) {
	for name, c := range map[string]struct {
		old, now, want []string // want: nil for the order that it has
	}{
		"moved by its number": {
			[]string{"a 9 5", "b 8 1", "c 3 7", "d 1 7"},
			[]string{"b 12 1", "a 10 5", "c 3 7", "d 1 7"},
			[]string{"a 10 5", "b 12 1", "c 3 7", "d 1 7"},
		},
		"upwards": {
			[]string{"a 1 5", "b 2 1", "c 3 7", "d 5 7"},
			[]string{"b 2 1", "c 3 7", "a 4 5", "d 5 7"},
			[]string{"a 4 5", "b 2 1", "c 3 7", "d 5 7"},
		},
		"another number too": {
			[]string{"a 9 5", "b 8 1", "c 3 7", "d 1 7"},
			[]string{"b 12 2", "a 10 5", "c 3 7", "d 1 7"},
			[]string{"a 10 5", "b 12 2", "c 3 7", "d 1 7"},
		},
		"level before": {
			[]string{"a 8 5", "b 8 1", "c 3 7"},
			[]string{"b 9 1", "a 8 5", "c 3 7"},
			[]string{"a 8 5", "b 9 1", "c 3 7"},
		},
		"level ones":     {[]string{"a 9 5", "b 9 1", "c 3 7"}, []string{"b 9 1", "a 9 5", "c 3 7"}, nil},
		"not in order":   {[]string{"a 9 5", "b 8 1", "c 3 7"}, []string{"b 8 1", "a 10 5", "c 3 7"}, nil},
		"nor before":     {[]string{"a 7 5", "b 8 1", "c 3 7"}, []string{"b 12 1", "a 10 5", "c 3 7"}, nil},
		"another item":   {[]string{"a 9 5", "b 8 1", "c 3 7"}, []string{"b 12 1", "a 10 5", "e 3 7"}, nil},
		"an item less":   {[]string{"a 9 5", "b 8 1", "c 3 7"}, []string{"b 12 1", "a 10 5"}, nil},
		"the same order": {[]string{"a 9 5", "b 8 1", "c 3 7"}, []string{"a 10 5", "b 9 1", "c 3 7"}, nil},
	} {
		old, now := rankedPage("", c.old...), rankedPage("", c.now...)
		got, want := Ranked(old, now), now
		if c.want != nil {
			want = rankedPage("", c.want...)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
		}
	}
	const noNumber = "<tr><td><a href=/%s>x</a></td><td id=v%d></td><td>%d</td></tr>\n"
	old, now := rankedPage(noNumber, "a 9 5", "b 8 1", "c 3 7"), rankedPage(noNumber, "b 8 1", "a 9 5", "c 3 7")
	if got := Ranked(old, now); !bytes.Equal(got, now) {
		t.Errorf("items without numbers: %s", got)
	}
}
