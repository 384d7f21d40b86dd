// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/renameio/v2"

	"mirrord/app/env"
	"mirrord/internal/count"
	"mirrord/internal/regular"
	"mirrord/scheduler/control"
	"mirrord/scheduler/status"
	"mirrord/store"
)

// ReplicaNode is what another node of the cluster has said of its mirrors.
type ReplicaNode struct {
	Node    string     `json:"node"`              // "": jobs that no node has spoken of
	Jobs    int        `json:"jobs"`              // whose mirrors are published there
	AsOf    *time.Time `json:"as_of,omitempty"`   // when it said that
	Away    string     `json:"away,omitempty"`    // why it does not answer now
	Behind  []string   `json:"behind,omitempty"`  // of these an older version was compared
	Missing []string   `json:"missing,omitempty"` // and of these nothing
}

// OthersSaid is the known state of the mirrors of other nodes.
type OthersSaid struct {
	Nodes   map[string]*SaidMirrors `json:"nodes"`
	Unheard []string                `json:"unheard,omitempty"` // jobs that no node has spoken of
}

// SaidMirrors is what one node has said.
type SaidMirrors struct {
	AsOf  time.Time             `json:"as_of,omitzero"` // zero: it never answered
	Away  string                `json:"away,omitempty"`
	Sites map[string]SaidMirror `json:"sites,omitempty"`
}

// SaidMirror is a published mirror: the version that the node has, and the one whose digests are here.
type SaidMirror struct {
	Has  env.PublishedAs `json:"has"`           // version 0: nothing is published
	Kept env.PublishedAs `json:"kept,omitzero"` // of which the digests are; zero: none are here
}

// LoadElsewhere reads the known state; empty before the first request.
func LoadElsewhere(dir string) (*OthersSaid, error) {
	e := &OthersSaid{Nodes: map[string]*SaidMirrors{}}
	data, err := regular.Read(filepath.Join(dir, env.ElsewhereFolder, env.ElsewhereNotes), mostNotes)
	if errors.Is(err, fs.ErrNotExist) {
		return e, nil
	}
	if err == nil {
		err = json.Unmarshal(data, e)
	}
	if err != nil {
		return nil, fmt.Errorf("the digests of the mirrors of other nodes: %w; remove %s", err,
			filepath.Join(dir, env.ElsewhereFolder))
	}
	for _, n := range e.Nodes {
		for name, s := range n.Sites {
			if _, err := os.Stat(filepath.Join(dir, env.ElsewhereFolder, name)); err != nil {
				s.Kept = env.PublishedAs{} // it was removed
				n.Sites[name] = s
			}
		}
	}
	return e, nil
}

// Save stores the state, and removes digests that are not needed.
func (e *OthersSaid) Save(dir string) error {
	folder := filepath.Join(dir, env.ElsewhereFolder)
	data, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if err := renameio.WriteFile(filepath.Join(folder, env.ElsewhereNotes), data, 0o644); err != nil {
		return err
	}
	used := map[string]bool{}
	for _, n := range e.Nodes {
		for name, s := range n.Sites {
			used[name] = used[name] || s.Kept.Version > 0
		}
	}
	files, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, f := range files {
		if f.Name()[0] != '.' && !used[f.Name()] {
			if err := os.Remove(filepath.Join(folder, f.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// ForgetElsewhere removes what was known: a machine by itself has no other nodes.
func ForgetElsewhere(dir string) error { return os.RemoveAll(filepath.Join(dir, env.ElsewhereFolder)) }

// replace returns the mirrors of other nodes that are compared by digests, by name: of each that another node
// has, unless the same version is here too.
func (e *OthersSaid) replace(st *store.State) map[string]SaidMirror {
	out := map[string]SaidMirror{}
	for _, n := range e.Nodes {
		for name, s := range n.Sites {
			if s.Kept.Version == 0 {
				continue
			}
			if here, ok := env.PublishedHere(st, name); !ok || !here.Equal(s.Has) {
				out[name] = s
			}
		}
	}
	return out
}

// said lists the nodes. here says which versions are published on this machine.
func (e *OthersSaid) said(here func(name string) (env.PublishedAs, bool)) (out []ReplicaNode) {
	for _, node := range slices.Sorted(maps.Keys(e.Nodes)) {
		n := e.Nodes[node]
		r := ReplicaNode{Node: node, Away: n.Away}
		if !n.AsOf.IsZero() {
			r.AsOf = &n.AsOf
		}
		for _, name := range slices.Sorted(maps.Keys(n.Sites)) {
			s := n.Sites[name]
			if s.Has.Version == 0 {
				continue
			}
			r.Jobs++
			local, ok := here(name)
			switch {
			case s.Kept.Equal(s.Has), ok && local.Equal(s.Has):
			case s.Kept.Version > 0 || ok:
				r.Behind = append(r.Behind, name)
			default:
				r.Missing = append(r.Missing, name)
			}
		}
		out = append(out, r)
	}
	if len(e.Unheard) > 0 {
		out = append(out, ReplicaNode{
			Jobs:    len(e.Unheard),
			Away:    "no node that answers has spoken of them",
			Missing: e.Unheard,
		})
	}
	return out
}

// addElsewhere adds the mirrors of other nodes to the trees, each replaces an older one here.
func (r *replicaPages) addElsewhere() ([]ReplicaNode, error) {
	e, err := LoadElsewhere(r.state.Dir)
	if err != nil {
		return nil, err
	}
	others := e.replace(r.state)
	r.trees = slices.DeleteFunc(r.trees, func(t replicaTree) bool {
		_, other := others[t.site]
		if other {
			err = errors.Join(err, t.root.Close())
		}
		return other
	})
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(others)) {
		f, err := regular.Open(filepath.Join(r.state.Dir, env.ElsewhereFolder, name))
		if err != nil {
			return nil, err
		}
		r.trees = append(r.trees, replicaTree{name: "site " + name + " of another node", said: f})
	}
	slices.SortStableFunc(r.trees, func(a, b replicaTree) int { return cmp.Compare(a.name, b.name) })
	said := e.said(func(name string) (env.PublishedAs, bool) { return env.PublishedHere(r.state, name) })
	return said, nil
}

// Line says in one line what a node has said.
func (n *ReplicaNode) Line() string {
	s := "node " + n.Node + ": " + count.Of(n.Jobs, "mirror")
	if n.Node == "" {
		s = count.Of(n.Jobs, "mirror")
	}
	if n.AsOf != nil {
		s += ", as of " + status.TimeText(n.AsOf.Local())
	}
	for _, part := range []struct{ what, text string }{
		{"", n.Away},
		{"an older version is compared of ", strings.Join(n.Behind, ", ")},
		{"not compared: ", strings.Join(n.Missing, ", ")},
	} {
		if part.text != "" {
			s += "; " + part.what + part.text
		}
	}
	return s
}

// gatherWithin is how long the daemon may take to bring what other nodes know. What has come counts then.
const gatherWithin = 10 * time.Minute

// GatherReplicas lets the daemon of the state fetch the digests that the other nodes of its cluster have of
// the pages of their mirrors. Without a daemon, or when it does not answer, those that it last fetched
// count.
func GatherReplicas(ctx context.Context, a *env.App) {
	c := clusterDaemon(a)
	if c == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, gatherWithin)
	defer cancel()
	a.Progress("asking the other nodes of the cluster")
	if err := c.Gather(ctx); err != nil {
		a.Warning(fmt.Sprintf("the other nodes of the cluster were not asked: %v", err))
	}
}

// clusterDaemon returns a client of the daemon of a state that is part of a cluster; nil without one.
func clusterDaemon(a *env.App) *control.Client {
	dir, err := a.State()
	if err != nil {
		return nil // the reader of the state reports the error
	}
	if _, err := os.Stat(filepath.Join(dir, env.ElsewhereFolder)); err != nil {
		return nil // the daemon of a cluster makes it
	}
	if _, ok, err := env.DaemonOf(dir); err != nil || !ok {
		return nil
	}
	c, err := a.Client()
	if err != nil {
		return nil
	}
	return c
}
