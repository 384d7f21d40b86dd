// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mirrord/app/care"
	"mirrord/cmd/mirrord/cli"
	"mirrord/internal/count"
)

func GCCommand(a *cli.CLI) *cobra.Command {
	var dry bool
	return a.Command("gc", cli.Flags{
		"dry-run": &dry,
	}, func(cmd *cobra.Command, args []string) error {
		c, err := care.Collect(cmd.Context(), a.App(), args, dry)
		if c == nil {
			return err
		}
		if !a.JSON {
			printCollected(a, c)
		} else if jerr := a.PrintJSON(c); jerr != nil {
			return jerr
		}
		return err
	})
}

func printCollected(a *cli.CLI, c *care.Collected) {
	would := ""
	if c.DryRun {
		would = "would be "
	}
	for _, s := range c.Sites {
		if s.Problem != "" {
			a.Printf("%s: left as it is: %s\n", s.Name, s.Problem)
			continue
		}
		var what []string
		if n := len(s.Dropped); n > 0 {
			what = append(what, fmt.Sprintf("%s %sdropped (%s)", count.Of(n, "version"), would,
				strings.Trim(strings.Join(strings.Fields(fmt.Sprint(s.Dropped)), ", "), "[]")))
		}
		if s.Packs != nil && s.Packs.Packs > 0 {
			what = append(what, fmt.Sprintf("%s of documents %sfreed", cli.BytesText(s.Packs.Freed), would))
		}
		if s.Packs != nil && s.Packs.Heads > 0 {
			what = append(what, fmt.Sprintf("%s of heads of answers %sfreed", cli.BytesText(s.Packs.Heads), would))
		}
		if s.Packs != nil && len(s.Packs.Damaged) > 0 {
			what = append(what, fmt.Sprintf("left because they are damaged: %s (see mirrord verify %s)",
				strings.Join(s.Packs.Damaged, ", "), s.Name))
		}
		if s.Parts != nil && s.Parts.Parts > 0 {
			what = append(what, fmt.Sprintf("%s of %s cut off %sfreed", cli.BytesText(s.Parts.Freed),
				count.Of(s.Parts.Parts, "file that was", "files that were"), would))
		}
		if len(what) == 0 {
			what = []string{"nothing to do"}
		}
		a.Printf("%s: %s\n", s.Name, strings.Join(what, "; "))
	}
	switch b := c.Blobs; {
	case b == nil:
		a.Printf("other stored bodies are left as they are: %s\n", c.Busy)
	case b.Blobs > 0:
		a.Printf("%s %sdeleted, %s freed\n",
			count.Of(b.Blobs, "other stored body", "other stored bodies"), would, cli.BytesText(b.Freed))
	}
	if c.DryRun && slices.ContainsFunc(c.Sites, func(s care.CollectedSite) bool { return len(s.Dropped) > 0 }) {
		a.Printf("what dropping versions would free besides is known once they are dropped\n")
	}
}
