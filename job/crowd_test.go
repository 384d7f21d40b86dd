// SPDX-License-Identifier: Apache-2.0

package job

import (
	"fmt"
	"strings"
	"testing"

	"mirrord/testing/growth"
)

// crowds are documents with n keys, by what takes the place of each.
func crowds(n int) map[string]string {
	list := func(before, each, after string) string {
		var b strings.Builder
		b.WriteString("url = 'http://example.com/'\n" + before)
		for i := range n {
			if strings.Contains(each, "%d") {
				fmt.Fprintf(&b, each, i)
			} else {
				b.WriteString(each)
			}
		}
		return b.String() + after
	}
	return map[string]string{
		"keys":    list("", "k%d = 1\n", ""),
		"tables":  list("", "[k%d]\n", ""),
		"dotted":  list("", "a.k%d = 1\n", ""),
		"below":   list("", "k%d.b = 1\n", ""),
		"headers": list("[auth.headers]\n", "k%d = 'a'\n", ""),
		"inline":  list("x = {", "k%d = 1,", "y = 1}\n"),
		"in list": list("x = [{", "k%d = 1,", "y = 1}]\n"),
		"deep":    list("", "a.", "b = 1\n"),
	}
}

// TestCrowdedFileInBulk reads files of which no part is a job file: little of them is decoded, and some of
// its problems are reported, at their places.
func TestCrowdedFileInBulk(t *testing.T) {
	const n = 60_000
	for name, text := range crowds(n) {
		at, ok := crowded([]byte(text))
		if !ok || at.start > 20*maxKeys {
			t.Errorf("%s: crowded from %+v, %t", name, at, ok)
		}
		_, err := Parse("a", "a.toml", []byte(text))
		es, _ := err.(Errors)
		if len(es) == 0 || len(es) > 1000 || !strings.Contains(err.Error(), "more than 1000 keys and tables") &&
			!strings.Contains(err.Error(), "errors are not shown") {
			t.Errorf("%s: %d errors: %.200v", name, len(es), err)
		}
		if _, err := SetText([]byte(text), "title", "'a'"); err == nil {
			t.Errorf("%s: a form changes it", name)
		}
	}
	_, err := Parse("a", "a.toml", []byte(crowds(n)["headers"]))
	want := "a.toml:1000:1: more than 1000 keys and tables; what follows is not read"
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("headers: %.200v, want %s", err, want)
	}
}

// TestLongLists reads job files with long lists, which are no crowds.
func TestLongLists(t *testing.T) {
	one := "url = ['http://example.com/'" + strings.Repeat(", 'http://example.com/'", 20_000) + "]\n"
	rule := "[[priority]]\nurls = ['/a/**']\nlevel = 'high'\n"
	if at, ok := crowded([]byte(one + strings.Repeat(rule, 5000))); ok {
		t.Errorf("crowded at %+v", at)
	}
	rules := "priority = [" + strings.Repeat("{urls = ['/a/**'], level = 'high'},\n", 5000) + "]\n"
	if at, ok := crowded([]byte(rules)); ok {
		t.Errorf("inline tables: crowded at %+v", at)
	}
}

// TestLongNames has a table whose name is most of the file, and many keys in it: their places take no more
// memory than some times the file.
func TestLongNames(t *testing.T) {
	text := "[" + strings.Repeat("a", 500_000) + "]\n"
	for i := range maxKeys / 2 {
		text += fmt.Sprintf("k%d = 1\n", i)
	}
	if used, _ := growth.Allocated(func() { Parse("a", "a.toml", []byte(text)) }); used > 30<<20 {
		t.Errorf("%d bytes are allocated", used)
	}
}

// TestFileGrowthInBulk holds that a file of twice the keys is at most 2.3 times the work.
func TestFileGrowthInBulk(t *testing.T) {
	small, large := crowds(15_000), crowds(30_000)
	for name := range small {
		read := func(text string) func() { return func() { Parse("a", "a.toml", []byte(text)) } }
		growth.Check(t, name, read(small[name]), read(large[name]))
	}
}
