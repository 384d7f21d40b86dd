package main

import (
	"errors"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"mirrord/job"
)

func cutAssign(s string) (key, value string, ok bool) {
	key, value, ok = strings.Cut(s, "=")
	return strings.TrimSpace(key), strings.TrimSpace(value), ok && strings.TrimSpace(key) != ""
}

// asErrors returns the single errors of what package job returned.
func asErrors(err error) job.Errors {
	var es job.Errors
	if errors.As(err, &es) {
		return es
	}
	if err != nil {
		return job.Errors{{Msg: err.Error()}}
	}
	return nil
}

// completeJob completes names of jobs on the command line.
func (a *app) completeJob(_ *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	files, err := jobFiles(a.jobsDir())
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var out []string
	for _, f := range files {
		if name := strings.TrimSuffix(filepath.Base(f), jobSuffix); strings.HasPrefix(name, prefix) {
			out = append(out, name)
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}
