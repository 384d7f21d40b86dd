// SPDX-License-Identifier: Apache-2.0

package job

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Shown returns the keys that a text sets as a form shows them: lists with an element in each line. A value
// of another type than its key wants is shown as it is.
func Shown(text []byte) (map[string]string, error) {
	doc, err := tableOf(text)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	if scope, _ := doc["scope"].(map[string]any); scope["prefixes"] != nil {
		out["scope.kind"] = "prefixes"
	}
	for _, k := range Keys() {
		table, leaf := k.Table()
		in := doc
		if table != "" {
			in, _ = doc[table].(map[string]any)
		}
		switch v := in[leaf].(type) {
		case nil:
		case []any:
			var lines []string
			for _, x := range v {
				lines = append(lines, fmt.Sprint(x))
			}
			out[k.Name] = strings.Join(lines, "\n")
		default:
			out[k.Name] = fmt.Sprint(v)
		}
	}
	return out, nil
}

// List reports whether the key has a list of values.
func (k Key) List() bool {
	_, is := k.of(Default()).(*[]string)
	return is
}

// Typed returns the input for the key as a TOML value, "" for nothing. Invalid input
// becomes a text, so that Parse reports the problem at its line.
func (k Key) Typed(s string) string {
	s = strings.TrimSpace(s)
	if s == "" {
		return ""
	}
	_, notNumber := strconv.ParseInt(s, 10, 64)
	switch k.of(Default()).(type) {
	case *[]string:
		var parts []string
		for line := range strings.Lines(s) {
			if line = strings.TrimSpace(line); line != "" {
				parts = append(parts, quote(line))
			}
		}
		if len(parts) == 1 && k.Name == "url" {
			return parts[0]
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case *bool:
		if s == "true" || s == "false" {
			return s
		}
	case *int64, *Size, *time.Duration:
		if notNumber == nil && s[0] != '0' && s[0] != '+' {
			return s
		}
		if s == "0" {
			return s
		}
	case *float64:
		if _, err := strconv.ParseFloat(s, 64); err == nil && strings.Trim(s, "0123456789.") == "" && s[0] != '.' {
			return s
		}
	}
	return quote(s)
}
