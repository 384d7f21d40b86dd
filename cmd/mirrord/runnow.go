package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"mirrord/control"
	"mirrord/job"
	"mirrord/store"
)

func (a *app) runNowCommand() *cobra.Command {
	var set []string
	wait := true
	cmd := &cobra.Command{
		Use:   "run-now JOB",
		Short: "Run a job now",
		Long: `Run a job of the jobs directory now. The mirror is brought up to date and, when the run is complete, published. An unfinished run is
resumed: what was fetched is not asked for again.

When a daemon owns the state directory, the run is the daemon's: it waits for its turn and for the job's window, and this command shows where it stands and
ends as it does. Ctrl-C leaves the run alone; mirrord cancel ends it. A run that is under way is joined.

Exit codes: 0 complete, or with --wait=false started; 3 partial, run it again to go on, or left alone by Ctrl-C; 4 suspicious, see mirrord accept; 5 a run of
this job is under way in another process.`,
		Example: `  mirrord run-now samba
  mirrord run-now samba --set limits.max_delete=50%
  mirrord run-now samba --wait=false      # only start it; needs a daemon`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeJob,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.daemon()
			if err != nil {
				return err
			}
			if c != nil {
				return a.runInDaemon(cmd.Context(), c, args[0], control.RunRequest{Set: set, Wait: wait})
			}
			if !wait {
				return errors.New("--wait=false needs a daemon on this state directory, and there is none: mirrord daemon")
			}
			j, err := a.findJob(args[0])
			if err != nil {
				return err
			}
			if err := applySets(j, set); err != nil {
				return err
			}
			return a.runJob(cmd.Context(), j, engineOptions{})
		},
	}
	setFlag(cmd, &set)
	cmd.Flags().BoolVar(&wait, "wait", true, "wait for the end of the run")
	return cmd
}

func (a *app) acceptCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "accept JOB",
		Short: "Publish what a suspicious run held back",
		Long: `Publish what the last run of a job held back as suspicious: a site that suddenly lost many pages, or became the same page everywhere.
Nothing is asked of the site. Look at mirrord status JOB first. Whatever is dropped can be had back from an older version.`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeJob,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.daemon()
			if err != nil {
				return err
			}
			if c != nil {
				return a.runInDaemon(cmd.Context(), c, args[0], control.RunRequest{Accept: true, Wait: true})
			}
			j, err := a.findJob(args[0])
			if err != nil {
				return err
			}
			st, err := a.mustState()
			if err != nil {
				return err
			}
			if err := errors.Join(waitsForAccept(st, j.Name), st.Close()); err != nil {
				return err
			}
			return a.runJob(cmd.Context(), j, engineOptions{accept: true, asIs: true})
		},
	}
}

// waitsForAccept returns an error unless the last run of the site was suspicious.
func waitsForAccept(st *store.State, name string) error {
	runs, err := st.Runs(name, 1)
	if err != nil {
		return err
	}
	if len(runs) == 0 {
		return fmt.Errorf("accept %s: it has not run yet", name)
	}
	if runs[0].Verdict != "suspicious" {
		return fmt.Errorf("accept %s: nothing waits; the last run was %s", name, runs[0].Verdict)
	}
	return nil
}

func setFlag(cmd *cobra.Command, set *[]string) {
	cmd.Flags().StringArrayVar(set, "set", nil, "set `KEY=VALUE` of the job, as polite.connections=4 (repeatable; docs/jobs.md lists the keys)")
}

// applySets applies --set arguments and checks the job that they leave. The error is of type job.Errors.
func applySets(j *job.Job, set []string) error {
	var all job.Errors
	for _, kv := range set {
		key, value, ok := cutAssign(kv)
		if !ok {
			all = append(all, job.Error{File: "--set", Msg: fmt.Sprintf("%q sets nothing", kv), Hint: "write KEY=VALUE"})
			continue
		}
		all = append(all, asErrors(j.Set(key, value))...)
	}
	if len(all) > 0 {
		return all
	}
	return j.Validate()
}
