// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"mirrord/app/archives"
	"mirrord/app/env"
	"mirrord/app/look"
	"mirrord/cmd/mirrord/cli"
	"mirrord/scheduler"
)

func ExplainCommand(a *cli.CLI) *cobra.Command {
	var r look.ExplainRequest
	return a.Command("explain", cli.Flags{
		"head": &r.Head,
		"plan": &r.Plan,
	}, func(cmd *cobra.Command, args []string) error {
		if env.AreFiles(a.App(), args[:1]) {
			if job, is := strings.CutSuffix(filepath.Base(args[0]), scheduler.Suffix); is {
				return env.Usagef("explain: %s is a job file; name the job: mirrord explain %s %s", args[0], job, args[1])
			}
			return explainFile(cmd.Context(), a, args[0], args[1], r.Head)
		}
		if strings.Contains(args[0], "/") && filepath.Ext(args[0]) != scheduler.Suffix {
			return env.Usagef("explain: there is no file %s, and no job has such a name", args[0])
		}
		r.URL = args[1]
		x, err := look.Explain(cmd.Context(), a.App(), args[0], r)
		if err != nil {
			return err
		}
		if a.JSON {
			return a.PrintJSON(x)
		}
		return x.WriteText(a.Stdout)
	})
}

func explainFile(ctx context.Context, a *cli.CLI, name, url string, head bool) error {
	environ, done := a.AppWithNote()
	x, err := archives.ExplainFile(ctx, environ, name, url, head)
	done()
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(x)
	}
	return x.WriteText(a.Stdout)
}
