package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"mirrord/fetch"
	"mirrord/mirror"
	"mirrord/store"
)

func (a *app) explainCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "explain JOB URL",
		Short: "Say why a URL is or is not mirrored",
		Long: `Say why a URL is or is not in a job's mirror: what scope, programs, traps and robots.txt say of it, what became of it when it was last asked,
and by which documents it was found. Nothing is asked of any site.`,
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: a.completeJob,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			j, err := a.findJob(args[0])
			if err != nil {
				return err
			}
			var site *store.Site
			var robots fetch.RobotsStore
			st, ok, err := a.openState()
			if err != nil {
				return err
			}
			if ok {
				defer func() { err = errors.Join(err, st.Close()) }()
				robots = mirror.NewRobotsStore(st)
				site, err = st.ReadSite(j.Name)
				switch {
				case errors.Is(err, store.ErrNoSite):
					site = nil
				case err != nil:
					return err
				default:
					defer func() { err = errors.Join(err, site.Close()) }()
				}
			}
			x, err := mirror.Explain(cmd.Context(), j, site, robots, args[1])
			if err != nil {
				return &exitErr{exitUsage, fmt.Errorf("%w", err)}
			}
			if a.json {
				return a.printJSON(x)
			}
			return x.WriteText(a.stdout)
		},
	}
}
