// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"strings"

	"github.com/spf13/cobra"

	"mirrord/app/env"
	"mirrord/app/search"
	"mirrord/cmd/mirrord/cli"
)

func FindCommand(a *cli.CLI) *cobra.Command {
	r := search.FindRequest{Limit: 10}
	var drop bool
	cmd := a.Command("find", cli.Flags{
		"limit": &r.Limit,
		"job":   &r.Job,
		"at":    &r.At,
		"under": &r.Under,
		"each":  &r.Each,
		"skip":  &r.Skip,
		"drop":  &drop,
	}, func(cmd *cobra.Command, args []string) error {
		if drop {
			if len(args) > 0 {
				return env.Usagef("--drop takes no words")
			}
			return search.DropFind(a.App())
		}
		if r.Limit < 1 || r.Skip < 0 {
			return env.Usagef("--limit is at least 1, --skip at least 0")
		}
		r.Words = strings.Join(args, " ")
		x, done := a.AppWithNote()
		defer done()
		found, err := search.Find(cmd.Context(), x, r)
		done()
		if err != nil {
			return err
		}
		return a.Show("find", found)
	})
	cli.Complete(cmd, "job", func(c *cobra.Command, _ []string, prefix string) ([]string,
		cobra.ShellCompDirective) {
		return a.CompleteJob(c, nil, prefix)
	})
	return cmd
}
