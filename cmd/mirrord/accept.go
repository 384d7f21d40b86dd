// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"mirrord/app/env"
	"mirrord/app/look"
	"mirrord/app/runs"
	"mirrord/mirror"
	"mirrord/scheduler"
	"mirrord/scheduler/control"
	"mirrord/scheduler/status"
)

func acceptCommand(a *cli) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use: "accept JOB",
		Long: `Publish what the last run of a job held back as suspicious: a site that suddenly lost many pages, or became the same page everywhere.
A first version of less than half of what is known is published likewise. Gaps that the run found are known from now on: they stay
listed, and runs exit with 0 until a gap appears or grows.

The command shows what would come, change and go, as mirrord diff JOB --held does, and asks on a terminal; without one it publishes.
The site is not contacted. Whatever is dropped can be had back from an older version.`,
		Example: `  mirrord accept samba
  mirrord accept samba --yes`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeJob,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.app().Commander(cmd.Context())
			if err != nil {
				return err
			}
			name := strings.TrimSuffix(args[0], scheduler.Suffix)
			if err := a.confirmAccept(name, yes, c != nil); err != nil {
				return err
			}
			if c != nil {
				return runInDaemon(cmd.Context(), a, c, args[0], control.RunRequest{Accept: true, Wait: true})
			}
			return a.withProgress(name, jobHints(name), func(show func(status.Progress)) (*mirror.Summary, error) {
				return runs.Accept(cmd.Context(), a.app(), args[0], show)
			})
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return cmd
}

// confirmAccept shows what accept would publish and asks whoever sits at the terminal. When nothing waits, it
// leaves that to accept.
func (a *cli) confirmAccept(name string, yes, daemon bool) error {
	c, err := look.Diff(a.app(), look.DiffRequest{Job: name, Held: true})
	switch {
	case err == nil:
		if err := c.WriteHeld(a.stderr); err != nil {
			return err
		}
	case errors.Is(err, look.ErrNoneHeld) || a.noSuchJob(name):
		return nil
	case !daemon && !a.asks:
		return nil // accept itself says what is wrong
	default:
		fmt.Fprintf(a.stderr, "mirrord: what waits cannot be shown: %v\n", err)
	}
	if yes || !a.asks {
		return nil
	}
	fmt.Fprintf(a.stderr, "Publish it? [y/N] ")
	return a.wantYes("nothing was published")
}

// noSuchJob reports whether no job file has that name.
func (a *cli) noSuchJob(name string) bool {
	_, err := a.app().FindJob(name)
	return err != nil
}

// wantYes reads the answer to a question. Without yes its error says what was left.
func (a *cli) wantYes(left string) error {
	answer, err := bufio.NewReader(a.stdin).ReadString('\n')
	if word := strings.ToLower(strings.TrimSpace(answer)); word == "y" || word == "yes" {
		return nil
	} else if err != nil {
		fmt.Fprintln(a.stderr)
	}
	return &env.Error{Err: errors.New(left)}
}
