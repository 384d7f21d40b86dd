// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"strconv"

	"github.com/spf13/cobra"

	"mirrord/app/env"
	"mirrord/app/runs"
	"mirrord/cmd/mirrord/cli"
)

func RollbackCommand(a *cli.CLI) *cobra.Command {
	return &cobra.Command{
		Use: "rollback JOB [N]",
		Long: `Publish version N of a job's mirror again, or the one before the current version. It becomes a new version, so that this can be undone in the
same way. The site is not contacted.

The next run looks at the whole site. While the site stays as it was when you rolled back, runs publish nothing and exit with 0: mirrord status shows
"rolled back to N", mirrord diff JOB shows the run held for review, and mirrord accept JOB publishes it. When the site has changed, it is published as usual.`,
		Example: `  mirrord rollback samba
  mirrord rollback samba 12`,
		Args:              cobra.RangeArgs(1, 2),
		ValidArgsFunction: a.CompleteVersions(1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			number := 0
			if len(args) == 2 {
				if number, err = versionArg(args[1]); err != nil {
					return err
				}
			}
			sum, err := runs.Rollback(cmd.Context(), a.App(), args[0], number)
			return a.Report(sum, err, cli.Hints{})
		},
	}
}

// versionArg reads the number of a version.
func versionArg(arg string) (int, error) {
	n, err := strconv.Atoi(arg)
	if err != nil || n < 1 {
		return 0, env.Usagef("%q is no number of a version; mirrord status JOB --versions lists them", arg)
	}
	return n, nil
}
