// SPDX-License-Identifier: Apache-2.0

package jobs

import (
	"github.com/spf13/cobra"

	"mirrord/app/jobs"
	"mirrord/cmd/mirrord/cli"
)

func InitCommand(a *cli.CLI) *cobra.Command {
	r := jobs.InitRequest{Schedule: "@daily"}
	return a.Command("init", cli.Flags{
		"as":       &r.Job,
		"schedule": &r.Schedule,
	}, func(_ *cobra.Command, args []string) error {
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
	})
}
