// SPDX-License-Identifier: Apache-2.0

package job

import (
	"fmt"
	"strings"
)

// templateKeys are the keys that a new job file shows, in the order of the reference. Those in force come
// with a value.
func templateKeys() []string {
	return []string{
		"url", "title", "copyright", "schedule", "timezone", "window", "priority",
		"scope.kind", "scope.exclude", "scope.aliases", "scope.not_types",
		"limits.max_size", "limits.max_delete",
		"polite.delay", "polite.connections", "polite.user_agent",
		"publish.keep", "publish.dir",
		"notify.email", "notify.stale_after",
	}
}

// Template returns the text of a new job file: url and schedule are in force, and the other keys that most
// jobs need are comments, with what they do and their defaults. Parse accepts it, also when any of the
// comments is put in force.
func Template(url, schedule string) []byte {
	inForce := map[string]string{"url": url}
	if schedule != "" {
		inForce["schedule"] = schedule
	}
	return TemplateOf(inForce)
}

// TemplateOf is Template with the text values of any of its keys in force.
func TemplateOf(inForce map[string]string) []byte {
	byName := map[string]Key{}
	for _, k := range Keys() {
		byName[k.Name] = k
	}
	var b strings.Builder
	b.WriteString("# The site to mirror, and when. A line that begins with # is not in force.\n" +
		"# mirrord check finds mistakes; man mirrord-job explains every key.\n")
	current := ""
	for _, name := range templateKeys() {
		k := byName[name]
		table, leaf := k.Table()
		if table != current {
			fmt.Fprintf(&b, "\n[%s]\n", table)
			current = table
		} else {
			b.WriteByte('\n')
		}
		for _, line := range wrap(k.Doc, 100) {
			fmt.Fprintf(&b, "# %s\n", line)
		}
		switch def := k.Default(); {
		case inForce[name] != "":
			fmt.Fprintf(&b, "%s = %s\n", leaf, quote(inForce[name]))
		case def == "" || def == `""` || def == "[]":
			fmt.Fprintf(&b, "# %s = %s\n", leaf, k.Example)
		default:
			fmt.Fprintf(&b, "# %s = %s    # the default\n", leaf, def)
		}
	}
	return []byte(b.String())
}

// wrap breaks a text into lines of at most n bytes, unless a word is longer.
func wrap(text string, n int) (lines []string) {
	line := ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
			line = word
		case len(line)+1+len(word) > n:
			lines = append(lines, line)
			line = word
		default:
			line += " " + word
		}
	}
	return append(lines, line)
}
