package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"mirrord/job"
)

func (a *app) runNowCommand() *cobra.Command {
	var set []string
	cmd := &cobra.Command{
		Use:   "run-now JOB",
		Short: "Run a job now",
		Long: `Run a job of the jobs directory now. The mirror is brought up to date and, when the run is complete, published. An unfinished run is
resumed: what was fetched is not asked for again.

Exit codes: 0 complete; 3 partial, run it again to go on; 4 suspicious, see mirrord accept; 5 a run of this job is under way.`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeJob,
		RunE: func(cmd *cobra.Command, args []string) error {
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
			j, err := a.findJob(args[0])
			if err != nil {
				return err
			}
			if err := a.waitsForAccept(j.Name); err != nil {
				return err
			}
			return a.runJob(cmd.Context(), j, engineOptions{accept: true, asIs: true})
		},
	}
}

// waitsForAccept returns an error unless the last run of the site was suspicious.
func (a *app) waitsForAccept(name string) error {
	st, err := a.mustState()
	if err != nil {
		return err
	}
	defer st.Close()
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
