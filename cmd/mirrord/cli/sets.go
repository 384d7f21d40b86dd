// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"mirrord/job"
)

// CompleteJobOrFile completes names of jobs, and those of files where no job has such a name.
func CompleteJobOrFile(a *CLI) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		names, rest := a.CompleteJob(cmd, args, prefix)
		if len(args) == 0 && len(names) == 0 {
			rest = cobra.ShellCompDirectiveDefault
		}
		return names, rest
	}
}

// Complete lets a flag be completed.
func Complete(cmd *cobra.Command, flag string, f cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, f); err != nil {
		panic(err) // there is no such flag
	}
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
