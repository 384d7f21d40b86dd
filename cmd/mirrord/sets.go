// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"mirrord/app/env"
	"mirrord/app/look"
	"mirrord/job"
	"mirrord/scheduler"
)

// completeJob completes names of jobs on the command line.
func (a *cli) completeJob(
	_ *cobra.Command, args []string, prefix string,
) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	files, err := env.JobFiles(a.jobsDir())
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var out []string
	for _, f := range files {
		if name := strings.TrimSuffix(filepath.Base(f), scheduler.Suffix); strings.HasPrefix(name, prefix) {
			out = append(out, name)
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// completeJobOrFile completes names of jobs, and those of files where no job has such a name.
func completeJobOrFile(a *cli) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		names, rest := a.completeJob(cmd, args, prefix)
		if len(args) == 0 && len(names) == 0 {
			rest = cobra.ShellCompDirectiveDefault
		}
		return names, rest
	}
}

// complete lets a flag be completed.
func complete(cmd *cobra.Command, flag string, f cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, f); err != nil {
		panic(err) // there is no such flag
	}
}

// completeVersions completes the name of a job, and then up to n versions of it.
func (a *cli) completeVersions(n int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		switch {
		case len(args) == 0:
			return a.completeJob(cmd, args, prefix)
		case len(args) > n:
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return a.versionsOf(args[0], prefix), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

// completeVersionFlag completes a flag with the versions of the job that the first argument names.
func (a *cli) completeVersionFlag(
	_ *cobra.Command, args []string, prefix string,
) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.versionsOf(args[0], prefix), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// versionsOf are the versions of a mirror for completion, newest first, with their times.
func (a *cli) versionsOf(name, prefix string) (out []string) {
	vs, err := look.Versions(a.app(), strings.TrimSuffix(name, scheduler.Suffix))
	if err != nil {
		return nil
	}
	for _, v := range slices.Backward(vs) {
		if n := strconv.Itoa(v.Number); strings.HasPrefix(n, prefix) {
			out = append(out, cobra.CompletionWithDesc(n, "published "+timeText(&v.Time)))
		}
	}
	return out
}

// completeSet completes KEY=VALUE: keys with what they do, and the values of those that have a choice.
func completeSet(_ *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
	name, value, ok := strings.Cut(prefix, "=")
	var out []string
	for _, k := range job.Keys() {
		switch {
		case !ok && strings.HasPrefix(k.Name, name):
			doc, _, _ := strings.Cut(k.Doc, ". ")
			out = append(out, cobra.CompletionWithDesc(k.Name+"=", strings.TrimSuffix(doc, ".")))
		case ok && k.Name == name:
			for _, v := range k.Values() {
				if strings.HasPrefix(v, value) {
					out = append(out, name+"="+v)
				}
			}
		}
	}
	if ok {
		return out, cobra.ShellCompDirectiveNoFileComp
	}
	return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}
