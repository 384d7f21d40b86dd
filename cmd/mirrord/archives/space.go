// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mirrord/app/archives"
	"mirrord/app/env"
	"mirrord/app/spaces"
	"mirrord/cmd/mirrord/cli"
	"mirrord/internal/count"
	"mirrord/phm/space"
)

func SpaceCommand(a *cli.CLI) *cobra.Command {
	var r spaces.SpaceRequest
	return a.Command("space", cli.Flags{
		"update": &r.Update,
		"verify": &r.Verify,
	}, func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 {
			r.Name = args[0]
		}
		all, err := spaces.Spaces(cmd.Context(), a.App(), r)
		if err != nil {
			return err
		}
		return showSpaces(a, all, r)
	})
}

// showSpaces writes the spaces that were asked for.
func showSpaces(a *cli.CLI, all []spaces.LookedSpace, r spaces.SpaceRequest) error {
	bad := 0
	for i := range all {
		bad += len(all[i].Findings)
	}
	var err error
	switch {
	case a.JSON && r.Name != "":
		err = a.PrintJSON(all[0])
	case a.JSON:
		err = a.PrintJSON(all)
	case len(all) == 0:
		a.Printf("no space: the key space of a job names one\n")
	default:
		for i := range all {
			err = errors.Join(err, showSpace(a, &all[i], r.Verify))
		}
	}
	if err == nil && bad > 0 {
		return fmt.Errorf("%s; mirrord space --update --verify makes these files again", count.Of(bad, "finding"))
	}
	return err
}

func showSpace(a *cli.CLI, s *spaces.LookedSpace, verified bool) error {
	a.Printf("%s: %s; %s %s to other mirrors\n  %s/index.html\n", s.Space, count.Of(len(s.Mirrors), "mirror"),
		count.Of(s.Pages, "page has", "pages have"), count.Of(s.Links, "link"), s.Dir)
	w := a.Tabs()
	fmt.Fprintln(w, "  MIRROR\tVERSION\tFILES\tPAGES\tLEADS TO")
	for _, m := range s.Mirrors {
		fmt.Fprintf(w, "  %s\t%d\t%d\t%d\t%s\n", m.Name, m.Version, m.Files, m.Pages, countsText(m.To))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if len(s.Wanted) > 0 {
		a.Printf("  %s to URLs that no mirror has, most to %s\n", count.Of(s.Outside, "link points", "links point"),
			countsText(s.Wanted[:min(5, len(s.Wanted))]))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Left)) {
		a.Printf("  %s stays as it was: %s\n", name, s.Left[name])
	}
	for _, m := range s.Mirrors {
		for _, p := range slices.Sorted(maps.Keys(m.Stale)) {
			a.Printf("  %s/%s keeps its links until the next run of %s: %s\n", space.MirrorFolder(m.Name), p,
				m.Name, m.Stale[p])
		}
		if len(m.Last) > 0 {
			a.Printf("  %s: last copies of files that its site no longer has: %d\n", m.Name, len(m.Last))
		}
		if len(m.Kept) > 0 {
			a.Printf("  %s: %s kept for such pages\n", m.Name,
				count.Of(len(m.Kept), "file that left is", "files that left are"))
		}
	}
	if verified && len(s.Findings) == 0 {
		a.Printf("  all files and the links between mirrors are as they must be\n")
	}
	for _, f := range s.Findings {
		if f.Mirror == "" {
			a.Printf("  %s\n", f.What)
		} else {
			a.Printf("  %s/%s: %s\n", space.MirrorFolder(f.Mirror), f.Path, f.What)
		}
	}
	return nil
}

// countsText writes counts as "name 3, name 1".
func countsText(counts []space.Count) string {
	parts := make([]string, len(counts))
	for i, c := range counts {
		parts[i] = fmt.Sprintf("%s %d", c.Name, c.Links)
	}
	return strings.Join(parts, ", ")
}

// exportSpace exports a space, and says what was written.
func exportSpace(cmd *cobra.Command, a *cli.CLI, name, out string, args []string) error {
	if len(args) > 0 {
		return env.Usagef("export: name a job, or a space with --space, not both")
	}
	x, err := archives.ExportSpace(cmd.Context(), a.App(), name, out)
	if err != nil {
		return err
	}
	return printArchived(a, x, "written to "+x.Path)
}

// importSpace imports an exported space, and says what came of it.
func importSpace(cmd *cobra.Command, a *cli.CLI, r archives.ImportRequest, dir string) error {
	if r.Lenient || r.URL != "" {
		return env.Usagef("import: %s is an exported space: nothing of it can be left out, and it needs no "+
			"entry point", dir)
	}
	x, err := archives.ImportSpace(cmd.Context(), a.App(), dir, r.As)
	if err != nil {
		return err
	}
	return printArchived(a, x, "imported, with a job file for each mirror")
}

func printArchived(a *cli.CLI, x *archives.ExportedSpace, what string) error {
	if a.JSON {
		return a.PrintJSON(x)
	}
	a.Printf("space %s: %s %s\n", x.Name, count.Of(len(x.Mirrors), "mirror"), what)
	for _, m := range x.Mirrors {
		a.Printf("  %s: version %d, %s, %d with links to other mirrors\n", m.Name, m.Version,
			count.Of(m.Files, "file"), m.Pages)
	}
	return nil
}
