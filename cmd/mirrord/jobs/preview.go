// SPDX-License-Identifier: Apache-2.0

package jobs

import (
	"errors"
	"fmt"
	"time"

	"mirrord/app/runs"
	"mirrord/cmd/mirrord/cli"
	"mirrord/internal/count"
)

// printPreview prints what a first run would be. That there is nothing to mirror is an error.
func printPreview(a *cli.CLI, p *runs.Preview) error {
	var problem error
	if p.Problem != "" {
		problem = errors.New(p.Problem)
	}
	if a.JSON {
		return errors.Join(a.PrintJSON(p), problem)
	}
	a.Printf("%s: a first run, by %s\n", p.Job, count.Of(len(p.Requests), "request"))
	w := a.Tabs()
	fmt.Fprintf(w, "  entry page\t%s: %s\n", p.URL, p.Entry)
	fmt.Fprintf(w, "  robots.txt\t%s\n", p.Robots)
	for _, s := range p.Sitemaps {
		fmt.Fprintf(w, "  sitemap\t%s\n", s)
	}
	if problem != nil {
		return errors.Join(w.Flush(), problem)
	}
	least := "at least "
	if p.Whole {
		least = ""
	}
	fmt.Fprintf(w, "  in scope\t%s%s", least, count.Of(p.Known, "URL"))
	if p.Disallowed > 0 {
		fmt.Fprintf(w, ", of which robots.txt forbids %d", p.Disallowed)
	}
	takes := "less than 1s"
	if d := time.Duration(p.Seconds * float64(time.Second)).Round(time.Second); d > 0 {
		takes = count.Span(d)
	}
	fmt.Fprintf(w, "\n  a first run\t%s%s, about %s and %s\n", least, count.Of(p.Known-p.Disallowed, "request"),
		cli.BytesText(p.Bytes), takes)
	if err := w.Flush(); err != nil {
		return err
	}
	if len(p.Dirs) == 0 {
		return nil
	}
	w = a.Tabs()
	fmt.Fprintln(w, "  URLS\tDIRECTORY\tSUCH AS")
	for _, d := range p.Dirs {
		fmt.Fprintf(w, "  %d\t%s\t%s\n", d.URLs, d.Path, d.Example)
	}
	return w.Flush()
}
