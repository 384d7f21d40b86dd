// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"fmt"
	"strings"
	"testing"
)

// reusing is the file of a job that reuses what another job has at its root.
func reusing(t *testing.T, name, of string, more ...string) File {
	text := fmt.Sprintf("url = \"https://%s.example/\"\n%s", name, strings.Join(more, "\n"))
	if of != "" {
		text += fmt.Sprintf(
			"\n[reuse]\njob = %q\nfrom = \"https://%s.example/docs/\"\nat = \"https://%s.example/%s/\"\n", of,
			of, name, of)
	}
	f := parsed(t, name, text)
	if f.Err != nil {
		t.Fatal(f.Err)
	}
	return f
}

func TestReuse(t *testing.T) {
	for _, tc := range []struct {
		name  string
		last  []File
		files []File
		want  string // "job: why", or "" for none
	}{
		{"a chain", nil, []File{reusing(t, "a", "b"), reusing(t, "b", "c"), reusing(t, "c", "")}, ""},
		{"two of one", nil, []File{reusing(t, "a", "c"), reusing(t, "b", "c"), reusing(t, "c", "")}, ""},
		{"no job", nil, []File{reusing(t, "a", "b")},
			"a: reuse.job: there is no job b; there is no other job"},
		{"a name mistyped", nil,
			[]File{reusing(t, "a", "manuel"), parsed(t, "manual", "url = \"https://manual.example/\"")},
			"a: reuse.job: there is no job manuel; there is manual"},
		{"a job that is refused", nil, []File{reusing(t, "a", "b"), parsed(t, "b", "x = 1")}, ""},
		{"what it cannot have", nil,
			[]File{reusing(t, "a", "b"), parsed(t, "b", "url = \"https://b.example/news/\"\nscope = \"directory\"")},
			"a: reuse.from: the mirror of job b cannot have https://b.example/docs/: path is not under /news/; its " +
				"url is https://b.example/news/"},
		{"a part of it", nil,
			[]File{reusing(t, "a", "b"),
				parsed(t, "b", "url = \"https://b.example/docs/v1/\"\nscope = \"directory\"")}, ""},
		{"each other", nil, []File{reusing(t, "a", "b"), reusing(t, "b", "a")},
			"b: reuse.job: the jobs take files from one another in a circle: b from a from b"},
		{"three in a circle", nil, []File{reusing(t, "a", "b"), reusing(t, "b", "c"), reusing(t, "c", "a")},
			"c: reuse.job: the jobs take files from one another in a circle: c from a from b from c"},
		{"a circle that another hangs on", nil,
			[]File{reusing(t, "0", "a"), reusing(t, "a", "b"), reusing(t, "b", "a")},
			"b: reuse.job: the jobs take files from one another in a circle: b from a from b"},
		{"the one that was there stays", []File{reusing(t, "a", ""), reusing(t, "b", "a")},
			[]File{reusing(t, "a", "b"), reusing(t, "b", "a")},
			"a: reuse.job: the jobs take files from one another in a circle: a from b from a"},
		{"turned about", []File{reusing(t, "a", ""), reusing(t, "b", "a")},
			[]File{reusing(t, "a", "b"), reusing(t, "b", "")}, ""},
		{"its source was removed", []File{reusing(t, "a", "b"), reusing(t, "b", "")}, []File{reusing(t, "a", "b")},
			"a: reuse.job: there is no job b; there is no other job"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			last := Resolve(tc.last, nil)
			next := Resolve(tc.files, last)
			var got []string
			for _, n := range next.names() {
				e := next[n]
				for _, why := range e.Refused {
					if _, unknown := strings.CutPrefix(why, n+".toml:1"); !unknown { // a problem of the file itself
						got = append(got, n+": "+strings.TrimPrefix(why, e.Path+": "))
					}
				}
				if last[n] != nil && e.Job == nil {
					t.Errorf("%s has lost its good version", n)
				}
			}
			if s := strings.Join(got, "; "); s != tc.want {
				t.Errorf("got  %q\nwant %q", s, tc.want)
			}
			if ch := Diff(next, Resolve(tc.files, next)); len(ch) != 0 {
				t.Errorf("the same files again: %v", ch)
			}
		})
	}
}
