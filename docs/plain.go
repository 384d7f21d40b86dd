// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"io/fs"
	"regexp"
	"strings"
)

// Plain returns a page for a terminal, to be wrapped: without pictures, addresses of links, and marks.
// Each row of a table is a line of a list, and code is indented. An unknown page is an error.
func Plain(page string) (string, error) {
	source, err := fs.ReadFile(Pages(), page+".md")
	if err != nil {
		return "", err
	}
	marks := regexp.MustCompile("!\\[[^]]*\\]\\([^)]*\\)|\\[([^]]*)\\]\\([^)]*\\)|`([^`]*)`|\\*\\*([^*]*)\\*\\*")
	var out []string
	inCode, inTable := false, false
	for line := range strings.Lines(string(source)) {
		line = strings.TrimRight(line, " \n")
		isRow := strings.HasPrefix(line, "|") && !inCode
		switch {
		case strings.HasPrefix(strings.TrimSpace(line), "```"):
			inCode = !inCode
			continue
		case inCode:
			out = append(out, "    "+line)
			continue
		case isRow && !inTable, isRow && strings.HasPrefix(line, "| ---"): // the head of a table
			inTable = true
			continue
		case isRow:
			cells := strings.Split(strings.ReplaceAll(strings.Trim(line, "| "), `\|`, "\x00"), " | ")
			line = strings.ReplaceAll("- "+strings.Join(cells, ": "), "\x00", "|")
		}
		inTable = isRow
		for marks.MatchString(line) {
			line = marks.ReplaceAllString(line, "$1$2$3")
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n"), nil
}
