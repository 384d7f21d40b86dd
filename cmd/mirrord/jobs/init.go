// SPDX-License-Identifier: Apache-2.0

package jobs

import (
	"github.com/spf13/cobra"

	"mirrord/app/jobs"
	"mirrord/cmd/mirrord/cli"
)

func InitCommand(a *cli.CLI) *cobra.Command {
	var r jobs.InitRequest
	cmd := &cobra.Command{
		Use: "init URL",
		Long: `Write a commented job file for a site into the jobs directory. The job is named for the host of the URL, and its scope is everything
below the directory of the URL. The file is checked beside the other jobs before it is written. No file is overwritten, and no request
is made.

The daemon runs the job at once, and then at its schedule, daily unless --schedule says otherwise.`,
		Example: `  mirrord init https://www.samba.org/samba/docs/
  mirrord init https://www.samba.org/ --as samba --schedule "30 3 * * *"
  mirrord init https://www.samba.org/ --schedule ""      # only by mirrord run-now`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(_ *cobra.Command, args []string) error {
			r.URL = args[0]
			made, err := jobs.Init(a.App(), r)
			if err != nil {
				return err
			}
			if a.JSON {
				return a.PrintJSON(made)
			}
			a.Printf("%s written: job %s\n", made.File, made.Job)
			for _, do := range []string{
				"next: change it as you like; mirrord check " + made.File + " finds mistakes",
				"see what it takes in, by a few requests: mirrord plan " + made.Job,
				"mirror it now: mirrord run-now " + made.Job,
				"look at it: mirrord serve " + made.Job,
			} {
				a.Printf("  %s\n", a.Typed(do))
			}
			switch {
			case made.First != "":
				a.Printf("  the job %s, and then by the schedule %s%s\n", made.First, made.Schedule, a.StartHint())
			case made.Schedule != "":
				a.Printf("  the daemon mirrors it by the schedule %s%s\n", made.Schedule, a.StartHint())
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&r.Job, "as", "", "`NAME` of the job (default: the host of the URL)")
	cmd.Flags().StringVar(&r.Schedule, "schedule", "@daily", "when the daemon runs it: `TIMES`")
	return cmd
}
