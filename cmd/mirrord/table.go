// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode/utf8"
)

// table is rows of cells; the first row names the columns.
type table [][]string

// tableGap is how many blanks stand between columns.
const tableGap = 2

// write prints a table in columns. On a terminal that is too narrow for it the columns of spare are left out,
// the first ones first.
func (t table) write(a *cli, spare []string) error {
	if a.table != nil && a.table() > 0 {
		for _, name := range spare {
			if t.width() <= a.table() {
				break
			}
			t = t.without(name)
		}
	}
	w := tabwriter.NewWriter(a.stdout, 0, 8, tableGap, ' ', 0)
	for _, row := range t {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	return w.Flush()
}

// width is how many characters its longest line has.
func (t table) width() (n int) {
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
func (t table) without(name string) table {
	i := slices.Index(t[0], name)
	if i < 0 {
		return t
	}
	out := make(table, len(t))
	for k, row := range t {
		out[k] = slices.Delete(slices.Clone(row), i, i+1)
	}
	return out
}
