// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/renameio/v2"

	"mirrord/app/daemon"
	"mirrord/app/env"
	"mirrord/app/replicas"
	"mirrord/scheduler/control"
	"mirrord/store/home"
)

// replicasPath is where nodes ask one another what the pages of their mirrors say: the list of mirrors, and
// below it, by its name, the digests of one.
const replicasPath = "/replicas"

// listsWithin is how long a node may take for a list of its mirrors.
const listsWithin = 10 * time.Second

// ownsMirror reports whether a daemon answers for a mirror: those of its jobs, and those without a job.
func ownsMirror(d *daemon.Daemon, name string) bool {
	if e := d.Scheduler.Config()[name]; e != nil && e.Job != nil {
		return true
	}
	return d.Wanted()[name] == nil
}

// hasMirror reports whether the version of a site published here counts, regardless of other nodes.
func hasMirror(d *daemon.Daemon, name string) bool {
	_, ok := env.PublishedHere(d.State, name)
	return ok && ownsMirror(d, name)
}

// sayReplicas answers other nodes.
func sayReplicas(d *daemon.Daemon, mux *http.ServeMux) {
	mux.HandleFunc("GET "+replicasPath, func(w http.ResponseWriter, _ *http.Request) {
		names, err := d.State.Sites()
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		out := map[string]env.PublishedAs{}
		for name, e := range d.Scheduler.Config() {
			if e.Job != nil {
				out[name] = env.PublishedAs{} // this node has it, if nothing is published
			}
		}
		for _, name := range names {
			if p, ok := env.PublishedHere(d.State, name); ok && ownsMirror(d, name) {
				out[name] = p
			}
		}
		say(w, out)
	})
	mux.HandleFunc("GET "+replicasPath+"/{name}", func(w http.ResponseWriter, r *http.Request) {
		name := r.PathValue("name")
		if !home.ValidName(name) || !ownsMirror(d, name) {
			http.NotFound(w, r)
			return
		}
		// the reader detects an incomplete answer
		if err := replicas.WriteSiteDigests(r.Context(), w, d.State, name); err != nil && r.Context().Err() == nil {
			d.Log.Warn("another node does not get what the pages of a mirror say", "job", name, "err", err)
		}
	})
}

// Gather fetches the digests of the pages of other nodes' mirrors that have a new version since the last
// call. Of a node that does not answer what it last said stays.
func (c *Everywhere) Gather(ctx context.Context) error {
	select {
	case c.gathers <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-c.gathers }()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.ctx, cancel)()
	dir := c.here.State.Dir
	e, err := replicas.LoadElsewhere(dir)
	if err != nil { // it is made again
		c.here.Log.Warn("the digests of the mirrors of other nodes are lost", "err", err)
		e = &replicas.OthersSaid{Nodes: map[string]*replicas.SaidMirrors{}}
	}
	c.lists(ctx, e)
	c.settle(e)
	c.fetchDigests(ctx, e)
	if err := ctx.Err(); err != nil {
		return err
	}
	return e.Save(dir)
}

// lists asks the other nodes for their mirrors.
func (c *Everywhere) lists(ctx context.Context, e *replicas.OthersSaid) {
	members := c.nodes.Members()
	ctx, cancel := context.WithTimeout(ctx, listsWithin)
	defer cancel()
	var mu sync.Mutex
	env.AtOnce(nodesAtOnce, without(members, c.nodes.Me()), func(node string) {
		var has map[string]env.PublishedAs
		err := askNode(ctx, c.nodes, node, replicasPath, &has)
		mu.Lock()
		defer mu.Unlock()
		n := e.Nodes[node]
		if n == nil {
			n = new(replicas.SaidMirrors)
			e.Nodes[node] = n
		}
		if n.Away = ""; err != nil {
			n.Away = err.Error()
			return
		}
		n.AsOf = c.here.State.Now().UTC()
		was := n.Sites
		n.Sites = map[string]replicas.SaidMirror{}
		for name, p := range has {
			if home.ValidName(name) {
				n.Sites[name] = replicas.SaidMirror{Has: p, Kept: was[name].Kept}
			}
		}
	})
	delete(e.Nodes, c.nodes.Me())
	for node, n := range e.Nodes {
		if !slices.Contains(members, node) {
			n.Away = errNoMember.Error()
		}
	}
}

// settle leaves each mirror with one node: this one, one that answers, or the last that spoke of it. Its kept
// digests are passed on.
func (c *Everywhere) settle(e *replicas.OthersSaid) {
	best := map[string]*replicas.SaidMirrors{}
	kept := map[string]env.PublishedAs{}
	for _, node := range slices.Sorted(maps.Keys(e.Nodes)) {
		n := e.Nodes[node]
		for name, s := range n.Sites {
			if s.Kept.Version > 0 {
				kept[name] = s.Kept
			}
			b := best[name]
			if b == nil || (n.Away == "" && b.Away != "") ||
				((n.Away == "") == (b.Away == "") && n.AsOf.After(b.AsOf)) {
				best[name] = n
			}
		}
	}
	wanted := c.Wanted()
	for node, n := range e.Nodes {
		for name, s := range n.Sites {
			if best[name] != n || hasMirror(c.here, name) {
				delete(n.Sites, name)
				continue
			}
			if s.Kept = kept[name]; s.Has.Version == 0 {
				s.Kept = env.PublishedAs{}
			}
			n.Sites[name] = s
		}
		if n.Away != "" && len(n.Sites) == 0 && !slices.Contains(c.nodes.Members(), node) {
			delete(e.Nodes, node)
		}
	}
	e.Unheard = nil
	for name, entry := range wanted {
		if _, spoken := best[name]; !spoken && entry.Job != nil && !ownsMirror(c.here, name) {
			e.Unheard = append(e.Unheard, name)
		}
	}
	slices.Sort(e.Unheard)
}

// fetchDigests fetches the digests of mirrors that have another version. Nodes are asked at the same time.
func (c *Everywhere) fetchDigests(ctx context.Context, e *replicas.OthersSaid) {
	env.AtOnce(env.MovesAtOnce, slices.Collect(maps.Keys(e.Nodes)), func(node string) {
		n := e.Nodes[node]
		for _, name := range slices.Sorted(maps.Keys(n.Sites)) {
			s := n.Sites[name]
			here, ok := env.PublishedHere(c.here.State, name)
			known := s.Kept.Equal(s.Has) || (ok && here.Equal(s.Has))
			if n.Away != "" || s.Has.Version == 0 || known {
				continue
			}
			err := fetchOne(ctx, c.nodes, c.here.State.Dir, node, name)
			if err == nil {
				s.Kept = s.Has
				n.Sites[name] = s
			} else if ctx.Err() == nil {
				c.here.Log.Warn("what the pages of a mirror say does not come from its node", "job", name, "node",
					node, "err", err)
			}
			if silent := (silentError{}); errors.As(err, &silent) {
				n.Away = silent.Error()
			}
		}
	})
}

// fetchOne fetches the digests of one mirror, whole or not at all.
func fetchOne(ctx context.Context, nodes Nodes, dir, node, name string) (err error) {
	file := filepath.Join(dir, env.ElsewhereFolder, name)
	f, err := renameio.NewPendingFile(file, renameio.WithPermissions(0o644))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Cleanup()) }()
	err = readNode(ctx, nodes, node, replicasPath+"/"+name, func(body io.Reader) error {
		return replicas.ReadSiteDigests(io.TeeReader(body, f), func(*replicas.PageSaid) error { return nil })
	})
	if err != nil {
		return err
	}
	return f.CloseAtomicallyReplace()
}

// Registry is the registry of all nodes, by the jobs in force.
func (c *Everywhere) Registry() (any, error) {
	own, err := nodeFace{c.here}.registry()
	if err != nil {
		return nil, err
	}
	for i := range own.Mirrors {
		own.Mirrors[i].Node = c.nodes.Me()
	}
	all := c.registries.ask(c, c.here.State.Now().UTC(), func(node string) (*replicas.Registry, error) {
		ctx, cancel := context.WithTimeout(c.ctx, listsWithin)
		defer cancel()
		reg := new(replicas.Registry)
		err := control.NewClientOver(c.nodes.To(node)).Registry(ctx, reg)
		for i := range reg.Mirrors {
			reg.Mirrors[i].Node = node
		}
		return reg, err
	})
	var others []*replicas.Registry
	for _, n := range all {
		own.Nodes = append(own.Nodes, replicas.RegistryNode{Node: n.Name, AsOf: n.AsOf, Away: n.Away})
		if n.value != nil {
			others = append(others, n.value)
		}
	}
	slices.SortFunc(own.Nodes, func(a, b replicas.RegistryNode) int { return strings.Compare(a.Node, b.Node) })
	own.Merge(others)
	return own, nil
}

// Registry is the registry for other nodes: of this daemon's mirrors only.
func (f nodeFace) Registry() (any, error) { return f.registry() }

func (f nodeFace) registry() (*replicas.Registry, error) {
	reg, err := daemon.RegistryOf(f.Daemon)
	if err != nil {
		return nil, err
	}
	reg.Mirrors = slices.DeleteFunc(reg.Mirrors, func(m replicas.RegistryMirror) bool {
		return !ownsMirror(f.Daemon, m.Job)
	})
	reg.Problems = slices.DeleteFunc(reg.Problems, func(p replicas.RegistryProblem) bool {
		return !ownsMirror(f.Daemon, p.Job)
	})
	return reg, nil
}
