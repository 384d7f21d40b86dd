// SPDX-License-Identifier: Apache-2.0

package jobs

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"mirrord/app/look"
	"mirrord/cmd/mirrord/cli"
	"mirrord/scheduler"
)

// VersionsCommand is the old name of status JOB --versions.
func VersionsCommand(a *cli.CLI) *cobra.Command {
	return a.Command("versions", nil, func(_ *cobra.Command, args []string) error {
		return printVersions(a, strings.TrimSuffix(args[0], scheduler.Suffix))
	})
}

func printVersions(a *cli.CLI, name string) error {
	vs, err := look.Versions(a.App(), name)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(vs)
	}
	w := a.Tabs()
	fmt.Fprintln(w, "VERSION\tPUBLISHED\tFILES\tSIZE\tADDED\tCHANGED\tREMOVED\t")
	for i, v := range vs {
		note := look.VersionNote(v, i == len(vs)-1)
		fmt.Fprintf(w, "%d\t%s\t%d\t%s\t%d\t%d\t%d\t%s\n", v.Number, cli.TimeText(&v.Time), v.Files,
			cli.BytesText(v.Bytes), v.Added, v.Changed, v.Removed, note)
	}
	return w.Flush()
}
