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

// depotFlag adds the flag that names a depot.
func depotFlag(cmd *cobra.Command, address *string) {
	cmd.Flags().StringVar(address, "depot", "", "`ADDRESS`: s3://BUCKET/PREFIX or file:///DIR "+
		"(default $MIRRORD_DEPOT)")
}

// depotAddress is what the flag says, else the environment.
func depotAddress(a *cli.CLI, flag string) string {
	env, _ := a.LookupEnv(depots.DepotEnv)
	return cmp.Or(flag, env)
}

func clusterPushCommand(a *cli.CLI) *cobra.Command {
	var r depots.DepotRequest
	cmd := &cobra.Command{
		Use:   "push [JOB…]",
		Short: "Copy mirrors to a depot",
		Long: `Copy the mirrors of the jobs named to a depot, or all mirrors with the job files and what they share: an off-site
copy, of which pull makes the same mirrors on another machine. Only what is new since the last push is sent. It may run
beside the daemon; each mirror is copied as of its last commit.

A depot is a directory, or a bucket of an S3 server with conditional writes. For S3 set AWS_ACCESS_KEY_ID and
AWS_SECRET_ACCESS_KEY (or ~/.aws/credentials), and AWS_ENDPOINT_URL for a server of one's own. Job files with secrets
go there too: only you should be able to read the depot. Guide: docs/depot.md.`,
		Example: `  mirrord cluster push --depot file:///mnt/nas/mirrord
  mirrord cluster push samba --depot s3://backup/mirrord`,
		ValidArgsFunction: a.CompleteJob,
		RunE: func(cmd *cobra.Command, args []string) error {
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
		},
	}
	depotFlag(cmd, &r.Depot)
	cmd.Flags().BoolVar(&r.Again, "again", false, "send everything, and replace what the depot has")
	return cmd
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
	cmd := &cobra.Command{
		Use:   "pull [JOB…]",
		Short: "Copy mirrors from a depot",
		Long: `Copy the mirrors of the jobs named from a depot, or all mirrors with the job files: with all versions and the run
log, as push stored them. Only missing data is fetched; published files are made again without a request.
A mirror is replaced in one step when all has come and was checked. An interrupted pull continues with what it has.

What has changed here since it was last in the depot stays, and is reported: --discard replaces it. Nothing is removed.`,
		Example: `  mirrord cluster pull --depot file:///mnt/nas/mirrord
  mirrord cluster pull samba --depot s3://backup/mirrord`,
		RunE: func(cmd *cobra.Command, args []string) error {
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
		},
	}
	depotFlag(cmd, &r.Depot)
	cmd.Flags().BoolVar(&r.Discard, "discard", false, "replace what has changed here")
	return cmd
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
	cmd := &cobra.Command{
		Use:   "depot [--remove JOB…]",
		Short: "List what a depot has, or remove mirrors from it",
		Long: `List the mirrors that a depot has. --check reads everything that belongs to them and compares it with its
digests; exit code 1 when something is damaged or missing.

--remove removes the mirrors named from the depot. It shows them and asks first; without a terminal it needs --yes.
Mirrors that still exist here are not removed: use mirrord remove first. From the depot of a cluster only a machine whose
daemon is a node of it can remove. Copies on other machines stay; push --again restores one. mirrord cluster gc
frees what it took.`,
		Example: `  mirrord cluster depot --depot s3://backup/mirrord --check
  mirrord cluster depot --depot s3://backup/mirrord --remove old-name`,
		Args: func(cmd *cobra.Command, args []string) error {
			if remove {
				return cobra.MinimumNArgs(1)(cmd, args)
			}
			return cobra.NoArgs(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
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
				if jerr := a.PrintJSON(d); jerr != nil {
					return jerr
				}
				return err
			}
			printDepot(a, d)
			return err
		},
	}
	depotFlag(cmd, &address)
	cmd.Flags().BoolVar(&check, "check", false, "read everything")
	cmd.Flags().BoolVar(&remove, "remove", false, "remove mirrors from it")
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	cmd.MarkFlagsMutuallyExclusive("remove", "check")
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
	cmd := &cobra.Command{
		Use:   "gc",
		Short: "Remove from a depot what nothing refers to",
		Long: `Remove objects of a depot that no mirror refers to: those of older states, and those of an
interrupted push. An object goes only when two calls at least an hour apart found it unused, so that nothing else has to
wait; call it daily. The nodes of a cluster collect their depot by themselves (mirrord daemon --depot-gc).`,
		Example: `  mirrord cluster gc --depot s3://backup/mirrord --dry-run`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return collectDepot(cmd.Context(), a, depotAddress(a, address), dry)
		},
	}
	depotFlag(cmd, &address)
	cmd.Flags().BoolVar(&dry, "dry-run", false, "only say what would be done")
	return cmd
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
