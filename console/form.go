// SPDX-License-Identifier: Apache-2.0

package console

import (
	"net/url"
	"slices"
	"strings"

	"mirrord/app/env"
	"mirrord/job"
)

// commonKeys are the keys that the form beside a job file shows, with their labels.
func commonKeys() [][2]string {
	return [][2]string{
		{"url", "Entry points, one a line"}, {"title", "Title"},
		{"scope.kind", "Scope"}, {"scope.exclude", "Exclude, one glob a line"},
		{"scope.not_types", "Exclude types, one a line"},
		{"schedule", "Schedule"}, {"timezone", "Time zone"}, {"window", "Hours"},
		{"limits.max_depth", "Links deep"},
		{"limits.max_files", "At most files"}, {"limits.max_size", "At most bytes"},
		{"limits.max_delete", "At most removals"},
		{"polite.delay", "Delay between requests"}, {"polite.connections", "Connections per host"},
		{"polite.bandwidth", "Bandwidth"}, {"obey_robots", "Obey robots.txt"},
		{"policy", "Policy"}, {"publish.keep", "Versions to keep"},
		{"notify.email", "Mail to, one address a line"}, {"notify.stale_after", "Stale after"},
	}
}

// formField is a key in the form beside a job file.
type formField struct {
	Name, Label, Value string
	Default            string   // what holds without the key
	Choices            []string // nil: any text
	List               bool
}

// Lines is how many lines a list takes.
func (f formField) Lines() int { return min(max(strings.Count(f.Value, "\n")+1, 2), 6) }

// formFields are the common keys of a job file; none when it is no TOML.
func formFields(text string) (out []formField) {
	shown, err := job.Shown([]byte(text))
	if err != nil {
		return nil
	}
	keys := job.Keys()
	for _, c := range commonKeys() {
		k := keyOf(keys, c[0])
		f := formField{
			Name:    c[0],
			Label:   c[1],
			Value:   shown[c[0]],
			Default: strings.Trim(k.Default(), `"`),
			Choices: k.Values(),
			List:    k.List(),
		}
		if f.Value != "" && f.Choices != nil && !slices.Contains(f.Choices, f.Value) {
			f.Choices = append([]string{f.Value}, f.Choices...)
		}
		if f.Default == "[]" || f.Default == "0" {
			f.Default = ""
		}
		out = append(out, f)
	}
	return out
}

func keyOf(keys []job.Key, name string) job.Key {
	return keys[slices.IndexFunc(keys, func(k job.Key) bool { return k.Name == name })]
}

// formed puts what was changed in the form into a text. The form says what it showed, so that a key that was
// changed in the text stays as it is there.
func formed(text string, form url.Values) (string, error) {
	// a browser sends the lines of a text with CRLF, also when the file has LF
	out := []byte(strings.ReplaceAll(text, "\r\n", "\n"))
	keys := job.Keys()
	for _, c := range commonKeys() {
		typed, was := "f."+c[0], "was."+c[0]
		if !form.Has(typed) || plainLines(form.Get(typed)) == plainLines(form.Get(was)) {
			continue
		}
		next, err := job.SetText(out, c[0], keyOf(keys, c[0]).Typed(form.Get(typed)))
		if err != nil {
			return string(out), env.Usagef("%s: the form cannot set it: %w", c[0], err)
		}
		out = next
	}
	return string(out), nil
}

// plainLines is a text as it was before a browser sent it.
func plainLines(s string) string { return strings.TrimSpace(strings.ReplaceAll(s, "\r\n", "\n")) }
