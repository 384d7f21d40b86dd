// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"mirrord/app/env"
	"mirrord/app/search"
	"mirrord/cmd/mirrord/cli"
	"mirrord/internal/count"
	"mirrord/serve/find"
)

func FindCommand(a *cli.CLI) *cobra.Command {
	r := search.FindRequest{Limit: 10}
	var drop bool
	cmd := a.Command("find", cli.Flags{
		"limit": &r.Limit,
		"job":   &r.Job,
		"at":    &r.At,
		"under": &r.Under,
		"each":  &r.Each,
		"skip":  &r.Skip,
		"drop":  &drop,
	}, func(cmd *cobra.Command, args []string) error {
		if drop {
			if len(args) > 0 {
				return env.Usagef("--drop takes no words")
			}
			return search.DropFind(a.App())
		}
		if r.Limit < 1 || r.Skip < 0 {
			return env.Usagef("--limit is at least 1, --skip at least 0")
		}
		r.Words = strings.Join(args, " ")
		x, done := a.AppWithNote()
		defer done()
		found, err := search.Find(cmd.Context(), x, r)
		done()
		if err != nil {
			return err
		}
		if a.JSON {
			return a.PrintJSON(found)
		}
		printFound(a, found)
		return nil
	})
	cli.Complete(cmd, "job", func(c *cobra.Command, _ []string, prefix string) ([]string,
		cobra.ShellCompDirective) {
		return a.CompleteJob(c, nil, prefix)
	})
	return cmd
}

// printFound prints what was found, for people.
func printFound(a *cli.CLI, f *search.FoundTexts) {
	least := ""
	if f.More {
		least = "at least "
	}
	a.Printf("%s%s in %s; %s of %s indexed\n", least, count.Of(f.Lines, "result"),
		count.Of(f.Matches, "page"), count.Of(f.Index.Pages, "page"),
		count.Of(f.Index.Mirrors, "mirror"))
	if len(f.Behind) > 0 {
		a.Printf("not indexed as they are now: %s\n", strings.Join(f.Behind, ", "))
	}
	for i := range f.Results {
		p := &f.Results[i]
		a.Printf("\n%s\n  %s (%s)\n", shownText(p.Title, p.URL), p.URL, p.Job)
		if s := excerptText(p.Excerpt); s != "" {
			a.Printf("  %s\n", s)
		}
		if s := p.Versions(); s != "" {
			a.Printf("  %s\n", s)
		}
		if p.Same > 0 {
			a.Printf("  %s the same\n", count.Of(p.Same, "other page says", "other pages say"))
		}
		if c := p.Collection; c != nil {
			a.Printf("  collection %s: %s\n", c.At, count.Of(c.Matches, "page"))
			for _, r := range c.Replicas {
				a.Printf("  replica %s: %s\n", r.At, count.Of(r.Matches, "page"))
			}
		}
	}
}

// excerptText is an excerpt with marks around what was looked for.
func excerptText(list []find.Excerpt) string {
	var b strings.Builder
	for _, e := range list {
		if e.Hit {
			fmt.Fprintf(&b, "[%s]", e.Text)
		} else {
			b.WriteString(e.Text)
		}
	}
	return shownText(b.String(), "")
}

// shownText keeps a page from writing control characters to the terminal. other takes the place of nothing.
func shownText(s, other string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return ' '
		}
		return r
	}, s)
	if s = strings.TrimSpace(s); s == "" {
		return other
	}
	return s
}
