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
	return a.Command("rollback", nil, func(cmd *cobra.Command, args []string) (err error) {
		number := 0
		if len(args) == 2 {
			if number, err = versionArg(args[1]); err != nil {
				return err
			}
		}
		sum, err := runs.Rollback(cmd.Context(), a.App(), args[0], number)
		return a.Report(sum, err, cli.Hints{})
	})
}

// versionArg reads the number of a version.
func versionArg(arg string) (int, error) {
	n, err := strconv.Atoi(arg)
	if err != nil || n < 1 {
		return 0, env.Usagef("%q is no number of a version; mirrord status JOB --versions lists them", arg)
	}
	return n, nil
}
