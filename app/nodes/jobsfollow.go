// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"mirrord/app/daemon"
	"mirrord/app/jobs"
	"mirrord/app/shares"
	"mirrord/internal/timed"
)

// settleFor is how long job files must have been the same before a source hands them in: an editor that
// replaces a file removes it for a moment.
const settleFor = time.Second

// lookAgain is how often job files are compared, also without a message.
const lookAgain = 30 * time.Second

// Follow keeps the job files of a daemon those of its cluster until ctx ends, and says in the cluster when
// they are not.
func (c *ClusterJobs) Follow(ctx context.Context, d *daemon.Daemon) {
	came := make(chan struct{}, 1)
	var watch sync.WaitGroup
	watch.Go(func() { c.Facts.Watch(ctx, func() { shares.Kick(came) }, kindJobs) })
	defer watch.Wait()
	var said *NodeJobs
	for {
		if d.Share.Exchange != nil {
			d.Share.Exchange(ctx) // pauses of new jobs come before their files
		}
		now, changed := c.settle(ctx)
		if changed {
			// errors of the jobs are in the log and the status
			_ = d.Files.Reread(ctx)
		}
		if now != nil && (said == nil || !sameJobs(said, now)) && c.say(now) == nil {
			said = now
			c.tell(now)
		}
		select {
		case <-ctx.Done():
			return
		case <-came:
		case <-d.Share.Loaded:
		case <-time.After(lookAgain):
		}
	}
}

func sameJobs(a, b *NodeJobs) bool {
	return a.State == b.State && a.Error == b.Error && slices.Equal(a.Jobs, b.Jobs)
}

// settle does the work due; changed: files were written. nil is nothing new.
func (c *ClusterJobs) settle(ctx context.Context) (now *NodeJobs, changed bool) {
	l, err := c.Look(ctx)
	switch {
	case ctx.Err() != nil, errors.Is(err, errFacts): // nothing could be said there either; tried again
		return nil, false
	case err != nil:
		return &NodeJobs{State: shares.JobsUnknown, Error: err.Error()}, false
	}
	switch {
	case l.State == shares.JobsBehind:
		took, err := c.Take(ctx, false)
		switch {
		case errors.Is(err, jobs.ErrJobMoved): // edited just now
			return nil, false
		case err != nil:
			return &NodeJobs{State: shares.JobsBehind, Error: err.Error()}, false
		}
		c.App.Log.Info("job files of the cluster were taken", "node", took.Cluster.Node, "jobs", took.Changed)
		return &took.NodeJobs, true
	case c.Source && l.hasJobs() && (l.State == shares.JobsEdited || l.State == shares.JobsAlone):
		if timed.Wait(ctx, settleFor) != nil {
			return nil, false
		}
		again, err := c.Look(ctx)
		if err != nil || !maps.Equal(again.local, l.local) {
			return nil, false // looked at again when they have been read
		}
		pushed, err := c.Push(ctx, false)
		if err != nil {
			c.App.Log.Warn("job files were not handed in to the cluster", "err", err)
			return &l.NodeJobs, false
		}
		c.App.Log.Info("job files of this node are now the cluster's", "jobs", pushed.Changed)
		return &pushed.NodeJobs, false
	}
	return &l.NodeJobs, false
}

// say lets the cluster know how the files of this node differ.
func (c *ClusterJobs) say(n *NodeJobs) error {
	return c.Facts.Change(kindJobsState, c.Node, func([]byte) ([]byte, error) {
		if n.State == shares.JobsSame || n.State == shares.JobsAlone {
			return nil, nil
		}
		return json.Marshal(n)
	})
}

// tell logs it.
func (c *ClusterJobs) tell(n *NodeJobs) {
	switch {
	case n.Error != "":
		c.App.Log.Error("job files of the cluster cannot be taken", "err", n.Error)
	case n.State == shares.JobsEdited:
		c.App.Log.Warn("job files were edited here and are not the cluster's; mirrord cluster status says "+
			"what to do", "jobs", n.Jobs)
	case n.State == shares.JobsConflict:
		c.App.Log.Error("job files were edited here and on another machine; nothing was replaced; mirrord "+
			"cluster status says what to do", "jobs", n.Jobs)
	}
}

// ClusterJobFiles is what a cluster knows of job files.
type ClusterJobFiles struct {
	Node  string              `json:"node,omitempty"` // whose files they were; "": each node has its own
	At    time.Time           `json:"at,omitzero"`
	Files int                 `json:"files"`
	Nodes map[string]NodeJobs `json:"nodes,omitempty"` // that have others
}

// ForgetNodeJobs forgets how the job files of a node differ that is gone for good.
func ForgetNodeJobs(facts shares.Facts, node string) error {
	return facts.Change(kindJobsState, node, func([]byte) ([]byte, error) { return nil, nil })
}

// ReadClusterJobs reads it.
func ReadClusterJobs(ctx context.Context, facts shares.Facts) (*ClusterJobFiles, error) {
	head, err := facts.Get(ctx, kindJobs, jobsHead)
	if err != nil {
		return nil, err
	}
	out := &ClusterJobFiles{Nodes: map[string]NodeJobs{}}
	if head != nil {
		var s SharedJobs
		if err := json.Unmarshal(head, &s); err != nil {
			return nil, fmt.Errorf("the job files of the cluster: %w", err)
		}
		out.Node, out.At, out.Files = s.Node, s.At, len(s.Files)
	}
	states, err := facts.All(kindJobsState)
	if err != nil {
		return nil, err
	}
	for name, text := range states {
		var n NodeJobs
		if err := json.Unmarshal(text, &n); err != nil {
			return nil, fmt.Errorf("job files of node %s: %w", name, err)
		}
		out.Nodes[name] = n
	}
	return out, nil
}
