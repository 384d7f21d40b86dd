// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"embed"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"text/template"
	"time"
	"unicode"

	"mirrord/app/care"
	"mirrord/app/env"
	"mirrord/internal/count"
	"mirrord/mirror"
	"mirrord/phm/space"
	"mirrord/scheduler/status"
	"mirrord/serve/find"
)

// texts has what commands say of their results: templates, in which {{- at the beginning of a line takes away
// the end of the line before.
//
//go:embed texts
var texts embed.FS

// Show writes the result of a command: as JSON, or as Say does, of the last value.
func (a *CLI) Show(name string, result any, said ...any) error {
	if a.JSON {
		return a.PrintJSON(result)
	}
	return a.Say(name, append([]any{result}, said...)[len(said)])
}

// Say writes what a template makes of a value. Cells between tabs are aligned.
func (a *CLI) Say(name string, v any) error {
	s, err := a.Text(name, v)
	if s == "" {
		return err
	}
	w := a.Tabs()
	fmt.Fprintln(w, s)
	return errors.Join(err, w.Flush())
}

// Text is what a template makes of a value, without empty lines before and after it.
func (a *CLI) Text(name string, v any) (string, error) {
	t := template.New("")
	text := func(name string, v any) (string, error) {
		var b strings.Builder
		err := t.ExecuteTemplate(&b, name, v)
		return strings.Trim(b.String(), "\n"), err
	}
	_, err := t.Funcs(template.FuncMap{
		"n":     counted,
		"bytes": func(n any) string { return mirror.Bytes(reflect.ValueOf(n).Int()) },
		"at":    timeOf,
		"age":   func(seconds int64) string { return status.Age(time.Duration(seconds) * time.Second) },
		"span":  count.Span,
		"join":  func(all []string) string { return strings.Join(all, ", ") },
		"some":  func(all []string) string { return env.Joined(Some(all), "and") },
		"first": func(n int, all []space.Count) []space.Count { return all[:min(n, len(all))] },
		"dir":   func(p string) string { return strings.TrimSuffix(p, "/") + "/" },
		"minus": func(a, b int) int { return a - b },
		"plus":  func(a, b int) int { return a + b },
		"x100":  func(share float64) float64 { return 100 * share },

		"excerpt": excerptText,
		"folder":  space.MirrorFolder,
		"lost":    care.SayLost,
		"plain":   plainText,
		"rebuild": status.RebuildHint,
		"shown":   status.Shown,
		"typed":   a.Typed,

		"args": func(key string, value, of any) map[string]any { return map[string]any{key: value, "Of": of} },
		"clauses": func(sep, name string, v any) (string, error) { // the lines of a template as one
			s, err := text(name, v)
			return strings.ReplaceAll(s, "\n", sep), err
		},
	}).ParseFS(texts, "texts/*.txt")
	if err != nil {
		return "", err
	}
	return text(name, v)
}

// counted is count.Of for any kind of integer.
func counted(n any, one string, many ...string) string {
	return count.Of(reflect.ValueOf(n).Int(), one, many...)
}

// timeOf is TimeText of a time or of a pointer to one.
func timeOf(t any) string {
	switch t := t.(type) {
	case time.Time:
		return TimeText(&t)
	case *time.Time:
		return TimeText(t)
	}
	return "-"
}

// excerptText is an excerpt with marks around what was looked for.
func excerptText(list []find.Excerpt) string {
	var b strings.Builder
	for _, e := range list {
		if e.Hit {
			fmt.Fprintf(&b, "[%s]", e.Text)
		} else {
			b.WriteString(e.Text)
		}
	}
	return plainText(b.String())
}

// plainText keeps a page from writing control characters to the terminal.
func plainText(s string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return ' '
		}
		return r
	}, s))
}
