package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"mirrord/mirror"
	"mirrord/store"
)

func (a *app) rollbackCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "rollback JOB [N]",
		Short: "Publish an older version again",
		Long: `Publish version N of a job's mirror again, or the one before the current version. It becomes a new version, so that this can be undone in the
same way. Nothing is asked of the site; the next run finds the site as it then is, and publishes that.`,
		Example: `  mirrord rollback samba
  mirrord rollback samba 12`,
		Args:              cobra.RangeArgs(1, 2),
		ValidArgsFunction: a.completeJob,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			j, err := a.findJob(args[0])
			if err != nil {
				return err
			}
			number := 0
			if len(args) == 2 {
				if number, err = versionArg(args[1]); err != nil {
					return err
				}
			}
			if _, err := a.versions(j.Name); err != nil { // nothing is made for a job that has not run
				return err
			}
			st, err := a.mustWriteState()
			if err != nil {
				return err
			}
			defer st.Close()
			s, err := st.OpenSite(j.Name)
			if err != nil {
				return err
			}
			defer s.Close()
			if number, err = versionBefore(s, number); err != nil {
				return err
			}
			sum, err := mirror.Rollback(cmd.Context(), mirror.Options{Job: j, State: st, Site: s, Log: a.log()}, number)
			if sum != nil && sum.Version > 0 {
				err = errors.Join(err, linkPublished(j, s))
			}
			return a.report(cmd.Context(), sum, err)
		},
	}
}

// versionArg reads the number of a version.
func versionArg(arg string) (int, error) {
	n, err := strconv.Atoi(arg)
	if err != nil || n < 1 {
		return 0, usagef("%q is no number of a version; mirrord versions lists them", arg)
	}
	return n, nil
}

// versionBefore checks that a version to roll back to is there and not the current one; 0 is the one before that.
func versionBefore(s *store.Site, number int) (int, error) {
	vs, err := s.Versions()
	if err != nil {
		return 0, err
	}
	switch {
	case number == 0 && len(vs) < 2:
		return 0, fmt.Errorf("roll back %s: there is no older version", s.Name)
	case number == 0:
		return vs[len(vs)-2].Number, nil
	case len(vs) > 0 && number == vs[len(vs)-1].Number:
		return 0, fmt.Errorf("roll back %s: version %d is the current one", s.Name, number)
	case !slices.ContainsFunc(vs, func(v store.Version) bool { return v.Number == number }):
		return 0, noVersion(s.Name, number)
	}
	return number, nil
}

// noVersionError says that a version is not kept. It is a store.ErrNoVersion.
type noVersionError struct {
	name   string
	number int
}

func noVersion(name string, number int) error { return &noVersionError{name, number} }

func (e *noVersionError) Error() string {
	return fmt.Sprintf("%s has no version %d; mirrord versions %s lists them", e.name, e.number, e.name)
}

func (e *noVersionError) Is(target error) bool { return target == store.ErrNoVersion }
