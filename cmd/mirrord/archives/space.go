// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"fmt"

	"github.com/spf13/cobra"

	"mirrord/app/archives"
	"mirrord/app/env"
	"mirrord/app/spaces"
	"mirrord/cmd/mirrord/cli"
	"mirrord/internal/count"
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
	var result any = all
	if r.Name != "" {
		result = all[0]
	}
	err := a.Show("spaces", result, struct {
		All      []spaces.LookedSpace
		Verified bool
	}{all, r.Verify})
	if err == nil && bad > 0 {
		return fmt.Errorf("%s; mirrord space --update --verify makes these files again", count.Of(bad, "finding"))
	}
	return err
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
	return a.Show("archived space", x, struct {
		*archives.ExportedSpace
		What string
	}{x, what})
}
