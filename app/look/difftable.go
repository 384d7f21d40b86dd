// SPDX-License-Identifier: Apache-2.0

package look

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode"

	"mirrord/internal/count"
	"mirrord/mirror"
	"mirrord/phm/diff"
)

// Of what waits to be accepted, messages and the status page show so many directories, and examples of each.
const (
	shortDirs     = 4
	shortExamples = 2
)

// WriteHeld writes what waits to be accepted, as text: how much, why, and the table of directories.
func (c *Difference) WriteHeld(w io.Writer) error {
	if _, err := fmt.Fprintf(w, "%s: held for review%s: %s\n", c.Job, c.in(), c.heldText()); err != nil {
		return err
	}
	for _, why := range c.Reasons {
		if _, err := fmt.Fprintf(w, "  why: %s\n", why); err != nil {
			return err
		}
	}
	return c.writeHeldTable(w)
}

// writeHeldTable is WriteTable of what waits to be accepted, and says what that does not count.
func (c *Difference) writeHeldTable(w io.Writer) error {
	err := c.WriteTable(w)
	if moved := c.Tree.Added + c.Tree.Removed; (err != nil) || (c.A == 0) || (moved == 0) {
		return err
	}
	_, err = fmt.Fprintln(w, "Pages that link to what comes or goes get other links; they are not counted here.")
	return err
}

// in ends a sentence about a directory.
func (c *Difference) in() string {
	if c.Path == "" {
		return ""
	}
	return " in " + c.Path + "/"
}

// heldText says in one line what accept would change, and how much is unknown.
func (c *Difference) heldText() string {
	text := fmt.Sprintf("%d added, %d changed, %d removed; %s", c.Tree.Added, c.Tree.Changed, c.Tree.Removed,
		Growth(c.Tree.Bytes))
	if c.A == 0 {
		text += "; nothing is published yet"
	}
	if c.Unknown > 0 {
		text += fmt.Sprintf("; not known: %d URLs without an answer", c.Unknown)
	}
	return text
}

// heldLines is what messages and the status page show of what waits to be accepted. It shortens c.
func (c *Difference) heldLines() []string {
	var b strings.Builder
	c.Tree.Shorten(shortDirs, shortExamples)
	fmt.Fprintln(&b, c.heldText())
	if err := c.writeHeldTable(&b); err != nil {
		return nil // a strings.Builder has no errors
	}
	lines := strings.Split(strings.TrimRight(b.String(), "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return lines
}

// WriteTable writes a line for each directory in which something differs, and for each file that is listed.
func (c *Difference) WriteTable(out io.Writer) error {
	if c.Tree.Total() == 0 {
		return nil
	}
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "ADDED\tCHANGED\tREMOVED\tSIZE\t ")
	c.Tree.Walk(func(d *diff.Dir, depth int) { writeDir(w, d, depth) })
	return w.Flush()
}

func writeDir(w io.Writer, d *diff.Dir, depth int) {
	name := d.Path + "/"
	if depth > 0 {
		name = name[strings.LastIndexByte(d.Path, '/')+1:]
	}
	indent := strings.Repeat("  ", depth)
	fmt.Fprintf(w, "%s\t%s\t%s\t%s\t  %s%s\n", orDot(d.Added), orDot(d.Changed), orDot(d.Removed),
		Growth(d.Bytes), indent, printable(name))
	for _, f := range d.Files {
		sign := map[string][3]string{
			diff.Added:   {"+", "", ""},
			diff.Changed: {"", "~", ""},
			diff.Removed: {"", "", "-"},
		}[f.What]
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t    %s%s\n", sign[0], sign[1], sign[2], Growth(f.After-f.Before),
			indent, printable(strings.TrimPrefix(f.Path, d.Path+"/")))
	}
	if d.More > 0 {
		fmt.Fprintf(w, "\t\t\t\t    %sand %d more\n", indent, d.More)
	}
	if d.MoreDirs > 0 {
		fmt.Fprintf(w, "\t\t\t\t    %sand %s\n", indent, count.Of(d.MoreDirs, "more directory", "more directories"))
	}
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

func orDot(n int) string {
	if n == 0 {
		return "."
	}
	return fmt.Sprint(n)
}

// Growth is a difference of sizes with its sign.
func Growth(n int64) string {
	switch {
	case n > 0:
		return "+" + mirror.Bytes(n)
	case n < 0:
		return "-" + mirror.Bytes(-n)
	}
	return "0 B"
}
