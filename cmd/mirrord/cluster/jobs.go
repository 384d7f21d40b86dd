// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mirrord/app/env"
	"mirrord/app/nodes"
	"mirrord/app/shares"
	"mirrord/cluster/engine"
	"mirrord/cmd/mirrord/cli"
	"mirrord/internal/count"
)

// jobsCommand makes a command about the job files of this machine and the cluster. ways is what to do when
// they differ.
func jobsCommand(
	a *cli.CLI, cmd *cobra.Command, ways string, do func(context.Context, *nodes.ClusterJobs) (*nodes.JobsLook,
		error),
) *cobra.Command {
	var f clusterFlags
	var node string
	cmd.Args = cobra.NoArgs
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return f.withCluster(cmd.Context(), a, func(ctx context.Context, e *engine.Engine) error {
			facts, err := e.Facts(ctx)
			if err != nil {
				return err
			}
			if node == "" {
				if node, err = os.Hostname(); err != nil {
					return env.Usagef("--node: %w", err)
				}
			}
			l, err := do(ctx, &nodes.ClusterJobs{App: a.App(), Facts: facts, Node: node})
			if errors.Is(err, nodes.ErrJobsDiffer) && ways != "" {
				err = fmt.Errorf("%w; %s", err, ways)
			}
			if err != nil {
				return err
			}
			return printJobsLook(a, l)
		})
	}
	f.add(cmd)
	cmd.Flags().StringVar(&node, "node", "", "`NAME` of this machine there")
	return cmd
}

func clusterJobsCommand(a *cli.CLI) *cobra.Command {
	look := jobsCommand(a, &cobra.Command{
		Use:   "jobs",
		Short: "Compare and exchange job files",
		Long: `Show how the job files of this machine stand to those of the cluster, and hand them in or bring them.

Once a machine has handed its files in, all nodes have them. A node whose files were edited keeps them and is named by
mirrord cluster status. With daemon --jobs-source the edits of a machine are handed in by themselves.`,
		Example: "  mirrord cluster jobs\n  mirrord cluster jobs push\n  mirrord cluster jobs take --discard",
	}, "", func(ctx context.Context, c *nodes.ClusterJobs) (*nodes.JobsLook, error) { return c.Look(ctx) })
	var again, discard bool
	push := jobsCommand(a, &cobra.Command{
		Use:   "push",
		Short: "Make the job files of this machine those of the cluster",
		Long: `Make the job files of this machine those of the cluster: all nodes take them, but those whose files were edited.

When the cluster has got other files since these were edited, nothing is done. With --again the files that were edited
here count, and for all other jobs the files of the cluster, which are fetched first.`,
		Example: "  mirrord cluster jobs push",
	}, "--again makes what was edited here the cluster's, mirrord cluster jobs take fetches the cluster's",
		func(ctx context.Context, c *nodes.ClusterJobs) (*nodes.JobsLook, error) { return c.Push(ctx, again) })
	push.Flags().BoolVar(&again, "again", false, "also when the cluster has others, or there are none")
	take := jobsCommand(a, &cobra.Command{
		Use:   "take",
		Short: "Bring the job files of the cluster",
		Long: `Bring the job files of the cluster to this machine; a node does so by itself. When files were edited here, nothing is
done; with --discard they are replaced, and kept beside as NAME.toml.mine.`,
		Example: "  mirrord cluster jobs take",
	}, "--discard replaces them, mirrord cluster jobs push makes them the cluster's",
		func(ctx context.Context, c *nodes.ClusterJobs) (*nodes.JobsLook, error) { return c.Take(ctx, discard) })
	take.Flags().BoolVar(&discard, "discard", false, "also what was edited here")
	look.AddCommand(push, take)
	return look
}

func printJobsLook(a *cli.CLI, l *nodes.JobsLook) error {
	if a.JSON {
		return a.PrintJSON(l)
	}
	if len(l.Changed) > 0 {
		a.Printf("changed: %s\n", strings.Join(l.Changed, ", "))
	}
	a.Printf("%s\n", jobsText(&l.NodeJobs))
	if s := l.Cluster; s != nil {
		a.Printf("the cluster has %s, of node %s, %s\n", count.Of(len(s.Files), "job file"), s.Node,
			s.At.Format(time.RFC3339))
	}
	return nil
}

// jobsText says how job files stand to those of the cluster.
func jobsText(n *nodes.NodeJobs) string {
	names := strings.Join(n.Jobs, ", ")
	switch n.State {
	case shares.JobsAlone:
		return "the cluster has no job files; mirrord cluster jobs push hands those of a machine in"
	case shares.JobsSame:
		return "the job files are those of the cluster"
	case shares.JobsBehind:
		if n.Error != "" {
			return "the job files of the cluster cannot be taken: " + n.Error
		}
		return "the job files are older than those of the cluster; a node takes them, or mirrord cluster jobs take"
	case shares.JobsEdited:
		return fmt.Sprintf("edited here: %s; mirrord cluster jobs push makes that the cluster's, take --discard "+
			"gives it up", names)
	case shares.JobsConflict:
		return fmt.Sprintf("edited here: %s, and on another machine; nothing is replaced: mirrord cluster jobs "+
			"push --again makes that the cluster's, take --discard gives it up", names)
	}
	return "the job files cannot be compared: " + n.Error
}

// ClusterState is what cluster status shows.
type ClusterState struct {
	*engine.Status
	JobFiles *nodes.ClusterJobFiles `json:"job_files,omitempty"` // missing: no node ever handed in any
}

// printJobFiles says whose job files the cluster has, and which nodes have others.
func (s *ClusterState) printJobFiles(a *cli.CLI) {
	f := s.JobFiles
	if f == nil || f.Node == "" {
		return
	}
	a.Printf("%s, of node %s, %s\n", count.Of(f.Files, "job file"), f.Node, f.At.Format(time.RFC3339))
	for _, name := range slices.Sorted(maps.Keys(f.Nodes)) {
		n := f.Nodes[name]
		a.Printf("node %s: %s\n", name, jobsText(&n))
	}
}

// lookAtCluster reads it.
func lookAtCluster(ctx context.Context, e *engine.Engine) (*ClusterState, error) {
	s, err := e.Look(ctx)
	if err != nil {
		return nil, err
	}
	out := &ClusterState{Status: s}
	facts, err := e.Facts(ctx)
	if errors.Is(err, engine.ErrNoFacts) { // of a version without them
		return out, nil
	}
	if err == nil {
		out.JobFiles, err = nodes.ReadClusterJobs(ctx, facts)
	}
	return out, err
}

// forgetNode forgets how the job files of a node differ.
func forgetNode(ctx context.Context, e *engine.Engine, node string) error {
	facts, err := e.Facts(ctx)
	if errors.Is(err, engine.ErrNoFacts) { // as above
		return nil
	}
	if err != nil {
		return err
	}
	return nodes.ForgetNodeJobs(facts, node)
}

// warnOfStranger says that no node of a name is part of the cluster: it may be one that starts later.
func warnOfStranger(ctx context.Context, a *cli.CLI, e *engine.Engine, node string) error {
	s, err := e.Look(ctx)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(s.Nodes, func(n engine.NodeStatus) bool { return n.Name == node }) {
		fmt.Fprintf(a.Stderr, "mirrord: no node %s is part of the cluster now; should one of that name start, it "+
			"takes no sites\n", node)
	}
	return nil
}
