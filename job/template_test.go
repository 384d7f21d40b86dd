// SPDX-License-Identifier: Apache-2.0

package job

import (
	"regexp"
	"strings"
	"testing"
)

// A new job file is valid, and stays valid with each of its comments in force.
func TestTemplate(t *testing.T) {
	text := string(Template("https://www.example.org/docs/", "@daily"))
	j, err := Parse("demo", "demo.toml", []byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if j.URLs[0] != "https://www.example.org/docs/" || j.Schedule != "@daily" {
		t.Errorf("%v, %q", j.URLs, j.Schedule)
	}
	off := regexp.MustCompile(`(?m)^# ([a-z_]+ = )`)
	if n := len(off.FindAllString(text, -1)); n != len(templateKeys())-2 {
		t.Errorf("%d keys in comments, want %d", n, len(templateKeys())-2)
	}
	all := off.ReplaceAllString(text, "$1")
	if _, err := Parse("demo", "demo.toml", []byte(all)); err != nil {
		t.Errorf("%v\n%s", err, all)
	}
	for _, line := range strings.Split(text, "\n") {
		if len(line) > 110 {
			t.Errorf("%d bytes: %s", len(line), line)
		}
	}
	byHand := Template("https://www.example.org/", "")
	if j, err := Parse("demo", "demo.toml", byHand); err != nil || j.Schedule != "" {
		t.Errorf("%v\n%s", err, byHand)
	}
}
