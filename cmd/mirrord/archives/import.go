// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"cmp"
	"strings"

	"github.com/spf13/cobra"

	"mirrord/app/archives"
	"mirrord/app/env"
	"mirrord/cmd/mirrord/cli"
	"mirrord/internal/count"
	"mirrord/phm/space"
)

func ImportCommand(a *cli.CLI) *cobra.Command {
	var r archives.ImportRequest
	var delta archives.ApplyRequest
	return a.Command("import", cli.Flags{
		"output":  &delta.Out,
		"as":      &r.As,
		"job":     &r.Job,
		"url":     &r.URL,
		"delta":   &delta.Delta,
		"lenient": &r.Lenient,
	}, func(cmd *cobra.Command, args []string) error {
		if delta.Delta != "" {
			if len(args) != 1 {
				return env.Usagef("import --delta: name the one archive that it is for")
			}
			delta.Old = args[0]
			return applyDelta(cmd.Context(), a, delta)
		}
		if len(args) == 1 && space.IsArchive(args[0]) {
			return importSpace(cmd, a, r, args[0])
		}
		if r.As == "" {
			return env.Usagef("import: --as JOB is missing")
		}
		r.Files = args
		environ, done := a.AppWithNote()
		m, err := archives.ImportAny(cmd.Context(), environ, r)
		done()
		if err != nil {
			return err
		}
		return printImported(a, args[0], m)
	})
}

// printImported says what was imported.
func printImported(a *cli.CLI, name string, m *archives.Imported) error {
	switch {
	case a.JSON && m.Meta != nil:
		return a.PrintJSON(m.Meta)
	case a.JSON:
		return a.PrintJSON(m)
	case m.Meta != nil:
		a.Printf("%s: version %d is %s: %s, %s\n", m.Job, archives.ImportedVersion(m.Meta), name,
			count.Of(m.Meta.Files, "file"), cli.BytesText(m.Meta.Bytes))
		printNoJob(a, m)
		return nil
	}
	for _, v := range m.Versions {
		a.Printf("%s: version %d is the crawl of %s: %s, %s\n", m.Job, v.Version,
			v.Time.UTC().Format("2006-01-02 15:04:05 MST"), count.Of(v.Files, "file"), cli.BytesText(v.Bytes))
	}
	c := m.Counted
	a.Printf("%s: %s, %d the same as before\n", count.Of(c.Records, "record"),
		count.Of(c.Answers, "answer"), c.Revisit)
	for _, x := range []struct {
		n         int64
		one, many string
	}{
		{int64(c.Other), "answer left out: to another request than GET, or a part of a body",
			"answers left out: to other requests than GET, or parts of bodies"},
		{int64(c.Damaged), "damaged record left out", "damaged records left out"},
		{int64(m.Unused), "URL of the archive is outside of the job's scope, or unwanted by its rules",
			"URLs of the archive are outside of the job's scope, or unwanted by its rules"},
		{int64(m.Lost), "answer left out, whose file is missing or has another size",
			"answers left out, whose files are missing or have another size"},
		{int64(m.Changed), "page without an original (.orig): links that the program changed are taken back to " +
			"the site's addresses by the names of the files, until the next run has the page as it is",
			"pages without an original (.orig): links that the program changed are taken back to the site's " +
				"addresses by the names of the files, until the next run has the pages as they are"},
		{int64(c.Elsewhere), "URL whose body is in another file of the crawler, which was not given",
			"URLs whose bodies are in other files of the crawler, which were not given"},
		{int64(c.Undated), "answer without a date that can be read: it has that of its head or file",
			"answers without a date that can be read: they have those of their heads or files"},
		{int64(m.Forbidden), "URL is forbidden by the site's robots.txt: later runs do not request it",
			"URLs are forbidden by the site's robots.txt: later runs do not request them"},
		{m.Missing, "URL that pages need or link to is not in the archive; the next run requests it",
			"URLs that pages need or link to are not in the archive; the next run requests them"},
	} {
		if x.n > 0 {
			a.Printf("%s\n", count.Of(x.n, x.one, x.many))
		}
	}
	if m.File != "" {
		a.Printf("job file: %s\n", m.File)
	}
	printNoJob(a, m)
	return nil
}

// printNoJob says that nothing runs what was imported yet. A job of another scope would drop a part of it.
func printNoJob(a *cli.CLI, m *archives.Imported) {
	if !m.NoJob || m.File != "" {
		return
	}
	url := cmp.Or(m.URL, "URL")
	if strings.ContainsAny(url, "&?*;()'$!~[]") { // as a shell takes it
		url = "'" + strings.ReplaceAll(url, "'", "%27") + "'"
	}
	a.Printf("there is no job file yet: %s\n", a.Typed("mirrord init "+url+" --as "+m.Job))
	if m.Scope == "host" {
		a.Printf("  it has pages of the whole host: set scope.kind = \"host\" there before the first run\n")
	}
}
