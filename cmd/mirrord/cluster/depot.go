// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"mirrord/app/depots"
	"mirrord/cluster/depot"
	"mirrord/cluster/engine"
	"mirrord/cmd/mirrord/cli"
	"mirrord/internal/count"
	"mirrord/store"
)

// depotAddress is what the flag says, else the environment.
func depotAddress(a *cli.CLI, flag string) string {
	env, _ := a.LookupEnv(depots.DepotEnv)
	return cmp.Or(flag, env)
}

func clusterPushCommand(a *cli.CLI) *cobra.Command {
	var r depots.DepotRequest
	return a.Command("push", cli.Flags{
		"depot": &r.Depot,
		"again": &r.Again,
	}, func(cmd *cobra.Command, args []string) error {
		r.Jobs, r.Depot, r.Keepers = args, depotAddress(a, r.Depot), keepersOf(a)
		env, done := a.AppWithNote()
		p, err := depots.Push(cmd.Context(), env, r)
		done()
		if p == nil {
			return err
		}
		if a.JSON {
			return cmp.Or(a.PrintJSON(p), err)
		}
		for i := range p.Sites {
			printPushed(a, &p.Sites[i])
		}
		if s := p.Shared; s != nil && !s.Unchanged {
			a.Printf("job files and shared facts: %s sent\n", cli.BytesText(s.Sent))
		}
		if p.Problem != "" {
			a.Printf("job files and shared facts: not copied: %s\n", p.Problem)
		}
		a.Printf("%s: %s\n", p.Depot, requestsText(&p.Requests))
		return err
	})
}

func printPushed(a *cli.CLI, s *depots.PushedSite) {
	switch {
	case s.Problem != "":
		a.Printf("%s: not copied: %s\n", s.Job, s.Problem)
		return
	case s.Unchanged:
		a.Printf("%s: version %d, nothing new\n", s.Job, s.Version)
	default:
		a.Printf("%s: version %d, %s sent (check-in %d)\n", s.Job, s.Version, cli.BytesText(s.Sent), s.Sequence)
	}
	if s.Lacks > 0 {
		a.Printf("  %s missing or damaged here: see mirrord verify %s\n",
			count.Of(s.Lacks, "body is", "bodies are"),
			s.Job)
	}
}

// requestsText says what a store was asked for.
func requestsText(r *depots.Requests) string {
	text := fmt.Sprintf("%s, %s sent, %s received",
		count.Of(int(r.Puts+r.Gets+r.Lists+r.Deletes), "request"), cli.BytesText(r.Sent),
		cli.BytesText(r.Received))
	if r.Retries > 0 {
		text += fmt.Sprintf(", %d repeated", r.Retries)
	}
	return text
}

func clusterPullCommand(a *cli.CLI) *cobra.Command {
	var r depots.DepotRequest
	return a.Command("pull", cli.Flags{
		"depot":   &r.Depot,
		"discard": &r.Discard,
	}, func(cmd *cobra.Command, args []string) error {
		r.Jobs, r.Depot, r.Keepers = args, depotAddress(a, r.Depot), keepersOf(a)
		env, done := a.AppWithNote()
		p, err := depots.Pull(cmd.Context(), env, r)
		done()
		if p == nil {
			return err
		}
		if a.JSON {
			return cmp.Or(a.PrintJSON(p), err)
		}
		for i := range p.Sites {
			printPulled(a, &p.Sites[i])
		}
		if s := p.Shared; s != nil {
			if len(s.Files) > 0 {
				a.Printf("written: %s\n", strings.Join(s.Files, ", "))
			}
			if len(s.Kept) > 0 {
				a.Printf("left, because changed here and different in the depot: %s\n", strings.Join(s.Kept, ", "))
			}
		}
		a.Printf("%s: %s\n", p.Depot, requestsText(&p.Requests))
		return err
	})
}

func printPulled(a *cli.CLI, s *depots.PulledSite) {
	switch {
	case s.Problem != "":
		a.Printf("%s: not copied: %s\n", s.Job, s.Problem)
		return
	case s.Ahead:
		a.Printf("%s: version here is newer than in the depot (check-in %d) and stays; push copies it there\n",
			s.Job, s.Sequence)
	case s.Unchanged:
		a.Printf("%s: version %d, nothing new\n", s.Job, s.Version)
	default:
		a.Printf("%s: version %d, %s received (check-in %d)\n", s.Job, s.Version, cli.BytesText(s.Received),
			s.Sequence)
	}
	if s.Lacks > 0 {
		a.Printf("  %s missing in the depot: see mirrord verify %s\n", count.Of(s.Lacks, "body is", "bodies are"),
			s.Job)
	}
}

func clusterDepotCommand(a *cli.CLI) *cobra.Command {
	var address string
	var check, remove, yes bool
	cmd := a.Command("depot", cli.Flags{
		"depot":  &address,
		"check":  &check,
		"remove": &remove,
		"yes":    &yes,
	}, func(cmd *cobra.Command, args []string) error {
		if remove {
			r := depots.DepotRequest{Depot: depotAddress(a, address), Jobs: args, Keepers: keepersOf(a)}
			return removeFromDepot(cmd.Context(), a, r, yes)
		}
		env, done := a.AppWithNote()
		d, err := depots.LookAtDepot(cmd.Context(), env, depotAddress(a, address), check)
		done()
		if d == nil {
			return err
		}
		if a.JSON {
			return cmp.Or(a.PrintJSON(d), err)
		}
		printDepot(a, d)
		return err
	})
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if remove {
			return cobra.MinimumNArgs(1)(cmd, args)
		}
		return cobra.NoArgs(cmd, args)
	}
	return cmd
}

func removeFromDepot(ctx context.Context, a *cli.CLI, r depots.DepotRequest, yes bool) error {
	d, err := depots.RemoveFromDepot(ctx, a.App(), r, func(all []depot.Pointer) error {
		if yes {
			return nil
		}
		fmt.Fprintf(a.Stderr, "%s: to delete:\n", r.Depot)
		for i := range all {
			fmt.Fprintf(a.Stderr, "  %s\n", pointerText(&all[i]))
		}
		return a.ConfirmDeletion()
	})
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(d)
	}
	for i := range d.Removed {
		a.Printf("%s: removed\n", d.Removed[i].Site)
	}
	a.Printf("  to free the space of what no other mirror has: mirrord cluster gc, and again an hour later\n")
	return nil
}

// pointerText says what a depot has of a mirror.
func pointerText(p *depot.Pointer) string {
	if p.Sequence == 0 {
		return p.Site + ": its pointer is damaged"
	}
	return fmt.Sprintf("%s: version %d, %s, check-in %d by %s, %s", p.Site, p.Version, cli.BytesText(p.Bytes),
		p.Sequence, p.Machine, cli.TimeText(&p.Time))
}

func printDepot(a *cli.CLI, d *depots.InDepot) {
	a.Printf("%s: cluster %s\n", d.Depot, d.Cluster)
	for i := range d.Sites {
		a.Printf("%s\n", pointerText(&d.Sites[i]))
	}
	c := d.Checked
	if c == nil {
		return
	}
	for _, p := range c.Problems {
		a.Printf("%s\n", p)
	}
	a.Printf("%s and %s read, %s; ", count.Of(c.Chunks, "chunk"), count.Of(c.Bodies, "body", "bodies"),
		cli.BytesText(c.Bytes))
	if len(c.Problems) == 0 {
		a.Printf("all is well\n")
	} else {
		a.Printf("%s\n", count.Of(len(c.Problems), "problem"))
	}
}

func clusterCollectCommand(a *cli.CLI) *cobra.Command {
	var address string
	var dry bool
	return a.Command("depot-gc", cli.Flags{
		"depot":   &address,
		"dry-run": &dry,
	}, func(cmd *cobra.Command, _ []string) error {
		return collectDepot(cmd.Context(), a, depotAddress(a, address), dry)
	})
}

func collectDepot(ctx context.Context, a *cli.CLI, address string, dry bool) error {
	c, err := depots.CollectDepot(ctx, a.App(), address, keepersOf(a), dry)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(c)
	}
	printCollectedDepot(a, c, dry)
	return nil
}

func printCollectedDepot(a *cli.CLI, c *depot.DepotCollection, dry bool) {
	would := ""
	if dry {
		would = "would be "
	}
	a.Printf("%s of %d %sremoved, %s of %s %sfreed; %d unused (%s), which a later call removes\n",
		count.Of(c.Removed, "object"), c.Total, would, cli.BytesText(c.Freed), cli.BytesText(c.Bytes), would,
		c.Condemned, cli.BytesText(c.Pending))
}

// keepersOf reaches those that the environment names.
func keepersOf(a *cli.CLI) depots.Keepers {
	return func(ctx context.Context) (store.Shared, func(), error) {
		none := func() {}
		o, err := new(clusterFlags).engineOptions(a)
		if err != nil || len(o.Servers) == 0 {
			return nil, none, err
		}
		ctx, cancel := context.WithTimeout(ctx, reachWithin)
		defer cancel()
		o.Log = a.Log()
		e, err := engine.Open(ctx, o)
		if err != nil {
			return nil, none, err
		}
		f, err := e.Facts(ctx)
		if err != nil {
			e.Close()
			return nil, none, err
		}
		return f, e.Close, nil
	}
}
