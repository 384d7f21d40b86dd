// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"embed"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"time"
	"unicode"

	"mirrord/app/care"
	"mirrord/app/env"
	"mirrord/app/look"
	"mirrord/app/replicas"
	"mirrord/internal/count"
	"mirrord/internal/wording"
	"mirrord/mirror/result"
	"mirrord/phm/space"
	"mirrord/replay"
	"mirrord/scheduler/status"
	"mirrord/serve/find"
)

// texts has what commands say of their results.
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

// SayTable is Say for a text that is a table; spare is that of Table.Write.
func SayTable(a *CLI, name string, v any, spare ...string) error {
	s, err := a.Text(name, v)
	var t Table
	for row := range strings.SplitSeq(s, "\n") {
		t = append(t, strings.Split(row, "\t"))
	}
	return errors.Join(err, t.Write(a, spare))
}

// Text is what a template makes of a value.
func (a *CLI) Text(name string, v any) (string, error) {
	return wording.Templates{Files: texts, Glob: "texts/*.txt", Words: template.FuncMap{
		"n":     count.OfAny,
		"bytes": func(n any) string { return result.Bytes(reflect.ValueOf(n).Int()) },
		"at":    timeOf,
		"age":   func(seconds int64) string { return count.Ago(time.Duration(seconds) * time.Second) },
		"gone":  count.FirstGone,
		"has":   slices.Contains[[]string],
		"span":  count.Span,
		"some":  func(all []string) string { return env.Joined(Some(all), "and") },
		"cli":   func() *CLI { return a },
		"first": func(n int, all []space.Count) []space.Count { return all[:min(n, len(all))] },
		"dir":   func(p string) string { return strings.TrimSuffix(p, "/") + "/" },
		"two":   func(f float64) string { return fmt.Sprintf("%.2f", f) },
		"x100":  func(share float64) float64 { return 100 * share },

		"cause":    CauseText,
		"decimal":  decimalText,
		"excerpt":  excerptText,
		"hint":     a.StartHint,
		"hours":    hoursText,
		"interval": interval,
		"note":     look.VersionNote,
		"progress": func(p status.Progress) string { return ProgressLine(p) },
		"folder":   space.MirrorFolder,
		"lf":       func(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") },
		"lost":     care.SayLost,
		"percent":  replay.PercentText,
		"plain":    plainText,
		"price":    priceText,
		"rebuild":  status.RebuildHint,
		"shown":    status.Shown,
		"typed":    a.Typed,
	}}.Text(name, v)
}

// TestedPairs are the value of the text "pairs". Of are the jobs whose alternates were tested only.
type TestedPairs struct {
	Pairs []replicas.ReplicaPair
	Of    []string
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

// interval writes between which values something lies.
func interval(low, high *float64) string {
	switch {
	case low == nil || high == nil:
		return "-"
	case *low == *high:
		return "known"
	}
	return fmt.Sprintf("%.2f to %.2f", *low, *high)
}

// hoursText is a number of hours for people.
func hoursText(hours *float64) string {
	switch {
	case hours == nil:
		return "-"
	case *hours < 1:
		return fmt.Sprintf("%.0f min", *hours*60)
	case *hours < 72:
		return fmt.Sprintf("%.0f h", *hours)
	}
	return fmt.Sprintf("%.0f days", *hours/24)
}

// priceText is a price with two digits that count.
func priceText(price float64) string {
	short, _ := strconv.ParseFloat(fmt.Sprintf("%.2g", price), 64)
	return decimalText(short)
}

// decimalText is a number without an exponent.
func decimalText(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
