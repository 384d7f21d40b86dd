// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"mirrord/app/env"
	"mirrord/app/nodes"
	"mirrord/cluster/engine"
	"mirrord/cmd/mirrord/cli"
)

// jobsCommand makes a command about the job files of this machine and the cluster. ways is what to do when
// they differ.
func jobsCommand(
	a *cli.CLI, command string, flags cli.Flags, ways string,
	do func(context.Context, *nodes.ClusterJobs) (*nodes.JobsLook, error),
) *cobra.Command {
	var f clusterFlags
	var node string
	all := cli.Flags{"node": &node}
	maps.Copy(all, flags)
	return f.command(a, command, all, func(ctx context.Context, e *engine.Engine, _ []string) error {
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
		return a.Show("cluster jobs", l)
	})
}

func clusterJobsCommand(a *cli.CLI) *cobra.Command {
	look := jobsCommand(a, "cluster-jobs", nil, "",
		func(ctx context.Context, c *nodes.ClusterJobs) (*nodes.JobsLook, error) { return c.Look(ctx) })
	var again, discard bool
	look.AddCommand(jobsCommand(a, "jobs-push", cli.Flags{"again": &again},
		"--again makes what was edited here the cluster's, mirrord cluster jobs take fetches the cluster's",
		func(ctx context.Context, c *nodes.ClusterJobs) (*nodes.JobsLook, error) { return c.Push(ctx, again) }),
		jobsCommand(a, "jobs-take", cli.Flags{"discard": &discard},
			"--discard replaces them, mirrord cluster jobs push makes them the cluster's",
			func(ctx context.Context, c *nodes.ClusterJobs) (*nodes.JobsLook, error) {
				return c.Take(ctx, discard)
			}))
	return look
}

// ClusterState is what cluster status shows.
type ClusterState struct {
	*engine.Status
	JobFiles *nodes.ClusterJobFiles `json:"job_files,omitempty"` // missing: no node ever handed in any
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
