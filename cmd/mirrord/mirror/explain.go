// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"

	"github.com/spf13/cobra"

	"mirrord/app/archives"
	"mirrord/app/env"
	"mirrord/app/look"
	"mirrord/cmd/mirrord/cli"
)

func ExplainCommand(a *cli.CLI) *cobra.Command {
	var r look.ExplainRequest
	cmd := &cobra.Command{
		Use: "explain JOB|FILE URL|PATH",
		Long: `Say why a URL is or is not in a job's mirror: what scope, programs, traps and robots.txt say of it, what became of it when it was last asked,
and by which documents it was found. A PATH is that of a file in the mirror. With --head also the head of the stored answer: status line and all fields as the server sent them, cookies included.
What the next run does with the URL takes the plan of all URLs: of a mirror with more than 50,000 only --plan says it.
Of a FILE, such as a PHM, ZIM, WARC or WACZ file or the folder that get left, it says what that has of the URL. No site is contacted.`,
		Example: `  mirrord explain samba https://www.samba.org/samba/docs/
  mirrord explain samba samba/docs/index.html --head`,
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: cli.CompleteJobOrFile(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			if env.AreFiles(a.App(), args[:1]) {
				return explainFile(cmd.Context(), a, args[0], args[1], r.Head)
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
		},
	}
	cmd.Flags().BoolVar(&r.Head, "head", false,
		"show the head of the stored answer, and that of the last one when it was a redirect or an error")
	cmd.Flags().BoolVar(&r.Plan, "plan", false,
		"say what the next run does with the URL also when the mirror has more than 50,000 URLs")
	return cmd
}

func explainFile(ctx context.Context, a *cli.CLI, name, url string, head bool) error {
	x, err := archives.ExplainFile(ctx, a.App(), name, url, head)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(x)
	}
	return x.WriteText(a.Stdout)
}
