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
	var says string
	return a.Command("explain", cli.Flags{
		"head": &r.Head,
		"plan": &r.Plan,
		"says": &says,
	}, func(cmd *cobra.Command, args []string) error {
		isFile, name := env.AreFiles(a.App(), args[:1]), args[0]
		job, isJobFile := strings.CutSuffix(filepath.Base(name), scheduler.Suffix)
		if isJobFile {
			name = job
		}
		switch {
		case len(args) == 1:
			return env.Usagef("explain: say which page: mirrord explain %s https://www.example.org/page.html", name)
		case isFile && isJobFile:
			return env.Usagef("explain: %s is a job file; name the job: mirrord explain %s %s", args[0], job, args[1])
		case isFile:
			return explainFile(cmd.Context(), a, args[0], args[1], r.Head)
		case strings.Contains(name, "/"):
			return env.Usagef("explain: there is no file %s, and no job has such a name", args[0])
		}
		if says != "" {
			return sinceWhen(cmd.Context(), a, look.KeptPageRequest{Job: args[0], Path: args[1]}, says)
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
	text, err := a.Text("explained file", x)
	a.Printf("%s\n", text)
	return err
}

func sinceWhen(ctx context.Context, a *cli.CLI, r look.KeptPageRequest, says string) error {
	s, err := look.SinceWhen(ctx, a.App(), r, says)
	if err != nil {
		return err
	}
	return a.Show("since when", s)
}
