// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode/utf8"
)

// Table is rows of cells; the first row names the columns.
type Table [][]string

// tableGap is how many blanks stand between columns.
const tableGap = 2

// Write prints a table in columns. On a terminal that is too narrow for it the columns of spare are left out,
// the first ones first.
func (t Table) Write(a *CLI, spare []string) error {
	if a.Table != nil && a.Table() > 0 {
		for _, name := range spare {
			if t.width() <= a.Table() {
				break
			}
			t = t.without(name)
		}
	}
	w := a.Tabs()
	for _, row := range t {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	return w.Flush()
}

// Tabs writes lines with cells between tabs as a table, once it is flushed.
func (a *CLI) Tabs() *tabwriter.Writer { return tabwriter.NewWriter(a.Stdout, 0, 8, tableGap, ' ', 0) }

// width is how many characters its longest line has.
func (t Table) width() (n int) {
	for i := range t[0] {
		widest := 0
		for _, row := range t {
			widest = max(widest, utf8.RuneCountInString(row[i]))
		}
		n += widest + tableGap
	}
	return n - tableGap
}

// without is the table without a column.
func (t Table) without(name string) Table {
	i := slices.Index(t[0], name)
	if i < 0 {
		return t
	}
	out := make(Table, len(t))
	for k, row := range t {
		out[k] = slices.Delete(slices.Clone(row), i, i+1)
	}
	return out
}
