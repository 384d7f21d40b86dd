// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/cpuguy83/go-md2man/v2/md2man"
	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"mirrord/app/env"
	"mirrord/cmd/mirrord/cli"
	"mirrord/docs"
	"mirrord/internal/version"
)

// manCommand is for packagers: it writes one manual page per command, or that of job files.
func manCommand(a *cli.CLI) *cobra.Command {
	section := 1
	return a.Command("man", cli.Flags{"section": &section}, func(cmd *cobra.Command, args []string) error {
		if err := os.MkdirAll(args[0], 0o755); err != nil {
			return err
		}
		// A fixed date keeps builds reproducible.
		date := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		switch section {
		case 1:
		case 5:
			page, err := jobPage(date)
			if err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(args[0], "mirrord-job.5"), page, 0o644)
		default:
			return env.Usagef("--section %d: want 1 or 5", section)
		}
		root := cmd.Root()
		root.DisableAutoGenTag = true
		return doc.GenManTree(root, &doc.GenManHeader{
			Title:   "MIRRORD",
			Section: "1",
			Source:  "mirrord",
			Manual:  "mirrord",
			Date:    &date,
		}, args[0])
	})
}

// jobPage is the guide's page of job files as a manual page.
func jobPage(date time.Time) ([]byte, error) {
	page, err := fs.ReadFile(docs.Pages(), "jobs.md")
	if err != nil {
		return nil, err
	}
	head := fmt.Sprintf("%% \"MIRRORD-JOB\" \"5\" %q %q\n"+
		"# NAME\nmirrord-job - job files of mirrord\n\n# DESCRIPTION\n",
		date.Format(time.DateOnly), "mirrord "+version.Number)
	_, text, _ := strings.Cut(string(page), "\n")
	return []byte(wrapTables(string(md2man.Render([]byte(head + text))))), nil
}

// mostCell is how many bytes a cell of a table may have that is on one line.
const mostCell = 26

// wrapTables lets the cells of tables break into lines, and their last columns fill the line: md2man lets
// only cells break that are plain words.
func wrapTables(page string) string {
	var out strings.Builder
	table, block := false, false // what a line is in: a table, a cell that breaks already
	for line := range strings.Lines(page) {
		if table {
			line = strings.ReplaceAll(line, `\\|`, "|") // as Markdown wants it in tables
		}
		text := strings.TrimSuffix(line, "\n")
		switch {
		case text == ".TS": // cells are too narrow to be stretched
			table, line = true, ".ad l\n.nh\n"+line
		case text == ".TE":
			table, line = false, line+".ad\n.hy\n"
		case strings.HasPrefix(text, "T}"):
			block = false
		case table && strings.HasSuffix(text, "l ."):
			line = strings.TrimSuffix(text, "l .") + "lx .\n"
		case table && !block && !strings.HasPrefix(text, "l "):
			cells := strings.Split(text, "\t")
			for i, cell := range cells {
				if len(cell) > mostCell {
					cells[i] = "T{\n" + cell + "\nT}"
				}
			}
			line = strings.Join(cells, "\t") + "\n"
		}
		block = block || (table && strings.HasSuffix(text, "T{"))
		out.WriteString(line)
	}
	return out.String()
}
