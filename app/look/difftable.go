// SPDX-License-Identifier: Apache-2.0

package look

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"text/template"
	"unicode"

	"mirrord/internal/count"
	"mirrord/internal/wording"
	"mirrord/mirror/result"
	"mirrord/phm/diff"
)

// Of what waits to be accepted, messages and the status page show so many directories, and examples of each.
const (
	shortDirs     = 4
	shortExamples = 2
)

//go:embed diff.txt
var texts embed.FS

// WriteText writes how many files differ, with a line for each directory in which some do, and for each file
// that is listed. since is the date with which the older version was named, "" for none.
func (c *Difference) WriteText(w io.Writer, since string) error {
	return c.write(w, "difference", since)
}

// WriteHeld writes what waits to be accepted, as text: how much, why, and the table of directories.
func (c *Difference) WriteHeld(w io.Writer) error { return c.write(w, "held", "") }

func (c *Difference) write(to io.Writer, name, since string) error {
	v := struct {
		*Difference
		In    string // of a sentence about a directory: its end
		Since string
		Rows  []dirRow
	}{Difference: c, Since: since}
	if c.Path != "" {
		v.In = " in " + c.Path + "/"
	}
	if c.Tree != nil {
		c.Tree.Walk(func(d *diff.Dir, depth int) {
			row := dirRow{Dir: d, Indent: strings.Repeat("  ", depth), Name: d.Path + "/"}
			if depth > 0 {
				row.Name = row.Name[strings.LastIndexByte(d.Path, '/')+1:]
			}
			v.Rows = append(v.Rows, row)
		})
	}
	text, err := wording.Templates{Files: texts, Glob: "diff.txt", Words: template.FuncMap{
		"growth":    Growth,
		"n":         count.OfAny,
		"printable": printable,
	}}.Text(name, &v)
	w := tabwriter.NewWriter(to, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, text)
	return errors.Join(err, w.Flush())
}

// dirRow is a line of the table of directories.
type dirRow struct {
	*diff.Dir
	Indent, Name string
}

// Rest is the path of a file after that of its directory.
func (r *dirRow) Rest(path string) string { return strings.TrimPrefix(path, r.Path+"/") }

// heldLines is what messages and the status page show of what waits to be accepted. It shortens c.
func (c *Difference) heldLines() ([]string, error) {
	var b strings.Builder
	c.Tree.Shorten(shortDirs, shortExamples)
	err := c.write(&b, "held in short", "")
	lines := strings.Split(strings.TrimRight(b.String(), "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return lines, err
}

// printable keeps the name of a file from adding lines and columns of its own.
func printable(name string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, name)
}

// Growth is a difference of sizes with its sign.
func Growth(n int64) string {
	switch {
	case n > 0:
		return "+" + result.Bytes(n)
	case n < 0:
		return "-" + result.Bytes(-n)
	}
	return "0 B"
}
