// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"mirrord/app/look"
	"mirrord/scheduler"
)

func versionsCommand(a *cli) *cobra.Command {
	return &cobra.Command{
		Use:               "versions JOB",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeJob,
		RunE: func(_ *cobra.Command, args []string) error {
			name := strings.TrimSuffix(args[0], scheduler.Suffix)
			vs, err := look.Versions(a.app(), name)
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(vs)
			}
			w := tabwriter.NewWriter(a.stdout, 0, 8, 2, ' ', 0)
			fmt.Fprintln(w, "VERSION\tPUBLISHED\tFILES\tSIZE\tADDED\tCHANGED\tREMOVED\t")
			for i, v := range vs {
				note := look.VersionNote(v, i == len(vs)-1)
				fmt.Fprintf(w, "%d\t%s\t%d\t%s\t%d\t%d\t%d\t%s\n", v.Number, timeText(&v.Time), v.Files,
					bytesText(v.Bytes), v.Added, v.Changed, v.Removed, note)
			}
			return w.Flush()
		},
	}
}
