// SPDX-License-Identifier: Apache-2.0

package jobs

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mirrord/app/env"
	"mirrord/app/runs"
	"mirrord/cmd/mirrord/cli"
	"mirrord/mirror"
	"mirrord/scheduler"
	"mirrord/scheduler/control"
	"mirrord/scheduler/status"
)

func RunNowCommand(a *cli.CLI) *cobra.Command {
	r := control.RunRequest{Wait: true}
	cmd := a.Command("run-now", cli.Flags{
		"full": &r.Full,
		"now":  &r.Now,
		"wait": &r.Wait,
	}, func(cmd *cobra.Command, args []string) error {
		if err := oneJob(a, args); err != nil {
			return err
		}
		c, err := a.App().Commander(cmd.Context())
		if err != nil {
			return err
		}
		if r.Only = args[1:]; !r.Now && r.Wait {
			r.Now = AsksNow(a, strings.TrimSuffix(args[0], scheduler.Suffix), r)
		}
		if c != nil {
			return runInDaemon(cmd.Context(), a, c, args[0], r)
		}
		if !r.Wait {
			return errors.New(
				"--wait=false needs a daemon on this state directory, and none runs: mirrord daemon")
		}
		name := strings.TrimSuffix(args[0], scheduler.Suffix)
		return a.WithProgress(name, cli.JobHints(name), func(show func(status.Progress)) (*mirror.Summary, error) {
			return runs.RunNow(cmd.Context(), a.App(), runs.RunHere{
				Job:        name,
				RunRequest: r,
				Window:     func(opens time.Time) { sayWindow(a, name, opens) },
				Progress:   show,
			})
		})
	})
	cli.SetFlag(cmd, &r.Set)
	return cmd
}

// oneJob refuses the names of jobs among the URLs and paths that follow the name of one.
func oneJob(a *cli.CLI, args []string) error {
	jobs, _ := a.CompleteJob(nil, nil, "")
	for _, path := range args[1:] {
		if slices.Contains(jobs, strings.TrimSuffix(path, scheduler.Suffix)) {
			const two = "%s is a job of its own: run-now runs one job; for the page of that name give /%s"
			return env.Usagef(two, path, path)
		}
	}
	return nil
}

// AsksNow asks the user at the terminal whether a run is to wait for its window. Without a terminal, and
// without an answer, it waits.
func AsksNow(a *cli.CLI, name string, r control.RunRequest) bool {
	if !a.Asks {
		return false
	}
	opens, closed := runs.WindowOpens(a.App(), name, r)
	if !closed {
		return false
	}
	return a.Yes(fmt.Sprintf("%s: its window opens %s; run it now all the same?", name, status.TimeText(opens)))
}

// sayWindow says that a run waits for its window.
func sayWindow(a *cli.CLI, name string, opens time.Time) {
	const wait = "%s: waits for its window, which opens %s; mirrord run-now %s --now does not wait for it\n"
	fmt.Fprintf(a.Stderr, wait, name, status.TimeText(opens), name)
}
