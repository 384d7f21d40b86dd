package main

import (
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"mirrord/job"
	"mirrord/store"
)

func (a *app) versionsCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "versions JOB",
		Short:             "List the published versions of a mirror",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeJob,
		RunE: func(_ *cobra.Command, args []string) error {
			name := strings.TrimSuffix(args[0], jobSuffix)
			if !job.ValidName(name) {
				return usagef("%q cannot name a job", name)
			}
			vs, err := a.versions(name)
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(vs)
			}
			w := tabwriter.NewWriter(a.stdout, 0, 8, 2, ' ', 0)
			fmt.Fprintln(w, "VERSION\tPUBLISHED\tFILES\tSIZE\tADDED\tCHANGED\tREMOVED\t")
			for i, v := range vs {
				note := ""
				if v.Accepted {
					note = "accepted"
				}
				if i == len(vs)-1 {
					note = strings.TrimSpace("current " + note)
				}
				fmt.Fprintf(w, "%d\t%s\t%d\t%s\t%d\t%d\t%d\t%s\n", v.Number, timeText(&v.Time), v.Files, bytesText(v.Bytes), v.Added, v.Changed, v.Removed, note)
			}
			return w.Flush()
		},
	}
}

// versions reads the versions of a site, oldest first; it is an error when there are none.
func (a *app) versions(name string) ([]store.Version, error) {
	st, err := a.mustState()
	if err != nil {
		return nil, err
	}
	defer st.Close()
	s, err := st.ReadSite(name)
	if err != nil {
		return nil, err
	}
	vs, err := s.Versions()
	if err = errors.Join(err, s.Close()); err != nil {
		return nil, err
	}
	if len(vs) == 0 {
		return nil, fmt.Errorf("site %s: %w", name, store.ErrNoVersion)
	}
	return vs, nil
}
