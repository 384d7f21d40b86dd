// SPDX-License-Identifier: Apache-2.0

package console

import (
	_ "embed"
	"html/template"
	"regexp"
	"strings"
	"time"
)

// commandTexts has a line for each command that the console has too: the text, " = ", and what a page has
// instead. Its buttons belong to the form "fix".
//
//go:embed pages/commands.txt
var commandTexts string

// prose is a text about a job as its page shows it: with times as elsewhere, and without those commands.
func prose(job, text string) template.HTML {
	lines := strings.NewReplacer("JOB", job, "PAGE", jobPath(job, ""), "\n", " = ").Replace(commandTexts)
	pairs := strings.Split(strings.TrimSuffix(lines, " = "), " = ")
	at := regexp.MustCompile(`\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\dZ| \d\d:\d\d UTC)`)
	text = strings.NewReplacer(pairs...).Replace(template.HTMLEscapeString(text))
	return template.HTML(at.ReplaceAllStringFunc(text, func(s string) string {
		t, err := time.Parse("2006-01-02T15:04:05Z", s)
		if err != nil {
			t, _ = time.Parse("2006-01-02 15:04 UTC", s)
		}
		return string(when(t))
	}))
}
