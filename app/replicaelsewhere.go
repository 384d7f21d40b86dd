// SPDX-License-Identifier: Apache-2.0

package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/renameio/v2"

	"mirrord/internal/count"
	"mirrord/internal/regular"
	"mirrord/mirror/render"
	"mirrord/scheduler/control"
	"mirrord/scheduler/status"
	"mirrord/store"
)

// A node of a cluster keeps beside its state what the pages of the mirrors of other nodes say, each in a file
// of its name (see sitedigests.go), and who said so when. Everything there can be deleted.
const (
	elsewhereFolder = "replicas-elsewhere"
	elsewhereNotes  = ".nodes.json" // no job has this name
)

// ReplicaNode is what another node of the cluster has said of its mirrors.
type ReplicaNode struct {
	Node    string     `json:"node"`              // "": jobs that no node has spoken of
	Jobs    int        `json:"jobs"`              // whose mirrors are published there
	AsOf    *time.Time `json:"as_of,omitempty"`   // when it said that
	Away    string     `json:"away,omitempty"`    // why it does not answer now
	Behind  []string   `json:"behind,omitempty"`  // of these an older version was compared
	Missing []string   `json:"missing,omitempty"` // and of these nothing
	Depot   bool       `json:"depot,omitempty"`   // it is no node, but the cluster's depot
}

// othersSaid is what is known of the mirrors of other nodes.
type othersSaid struct {
	Nodes   map[string]*saidMirrors `json:"nodes"`
	Depot   *saidMirrors            `json:"depot,omitempty"`   // nil: there is none
	Unheard []string                `json:"unheard,omitempty"` // jobs that no node has spoken of
}

// saidMirrors is what one node has said.
type saidMirrors struct {
	AsOf  time.Time             `json:"as_of,omitzero"` // zero: it never answered
	Away  string                `json:"away,omitempty"`
	Sites map[string]saidMirror `json:"sites,omitempty"`
}

// saidMirror is a published mirror: what the node has, and what is known here.
type saidMirror struct {
	Has  publishedAs `json:"has"`           // version 0: nothing is published
	Kept publishedAs `json:"kept,omitzero"` // of which the digests are; zero: none are here
	// of the depot: the mark of its check-in, which no other one can have had once it is settled, and why its
	// pages could not be read
	Mark    string `json:"mark,omitempty"`
	Settled bool   `json:"settled,omitempty"`
	Why     string `json:"why,omitempty"`
}

// all yields the nodes, in order, and then the depot.
func (e *othersSaid) all() iter.Seq2[string, *saidMirrors] {
	return func(yield func(string, *saidMirrors) bool) {
		for _, node := range slices.Sorted(maps.Keys(e.Nodes)) {
			if !yield(node, e.Nodes[node]) {
				return
			}
		}
		if e.Depot != nil {
			yield("", e.Depot)
		}
	}
}

// publishedAs tells a version of a mirror from others, also from those of a mirror that was begun again.
type publishedAs struct {
	Version   int       `json:"version"`
	Retrieved time.Time `json:"retrieved"`
}

func (p publishedAs) equal(q publishedAs) bool {
	return p.Version == q.Version && p.Retrieved.Equal(q.Retrieved)
}

// after reports whether p is later than q. Times are in seconds; within one the number tells.
func (p publishedAs) after(q publishedAs) bool {
	return p.Retrieved.After(q.Retrieved) || (p.Retrieved.Equal(q.Retrieved) && p.Version > q.Version)
}

// publishedHere is what is published of a site; ok is false when nothing is, or it cannot be read.
func publishedHere(st *store.State, name string) (p publishedAs, ok bool) {
	meta, err := render.PublishedMeta(st, name)
	if err != nil {
		return p, false
	}
	return publishedAs{meta.Version, meta.Retrieved}, true
}

// loadElsewhere reads what is known; nothing when nobody ever asked.
func loadElsewhere(dir string) (*othersSaid, error) {
	e := &othersSaid{Nodes: map[string]*saidMirrors{}}
	data, err := regular.Read(filepath.Join(dir, elsewhereFolder, elsewhereNotes), mostNotes)
	if errors.Is(err, fs.ErrNotExist) {
		return e, nil
	}
	if err == nil {
		err = json.Unmarshal(data, e)
	}
	if err != nil {
		return nil, fmt.Errorf("what is known of the mirrors of other nodes: %w; remove %s", err,
			filepath.Join(dir, elsewhereFolder))
	}
	for _, n := range e.all() {
		for name, s := range n.Sites {
			if _, err := os.Stat(filepath.Join(dir, elsewhereFolder, name)); err != nil {
				s.Kept = publishedAs{} // somebody removed it
				n.Sites[name] = s
			}
		}
	}
	return e, nil
}

// save keeps what is known, and removes digests that nobody needs.
func (e *othersSaid) save(dir string) error {
	folder := filepath.Join(dir, elsewhereFolder)
	data, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if err := renameio.WriteFile(filepath.Join(folder, elsewhereNotes), data, 0o644); err != nil {
		return err
	}
	used := map[string]bool{}
	for _, n := range e.all() {
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

// forgetElsewhere removes what was known: a machine by itself has no other nodes.
func forgetElsewhere(dir string) error { return os.RemoveAll(filepath.Join(dir, elsewhereFolder)) }

// replace returns the mirrors of other nodes that are compared by digests, by name: of each that another node
// has, unless the same version is here too.
func (e *othersSaid) replace(st *store.State) map[string]saidMirror {
	out := map[string]saidMirror{}
	for _, n := range e.all() {
		for name, s := range n.Sites {
			if s.Kept.Version == 0 {
				continue
			}
			if here, ok := publishedHere(st, name); !ok || !here.equal(s.Has) {
				out[name] = s
			}
		}
	}
	return out
}

// said lists the nodes. here says which versions are published on this machine.
func (e *othersSaid) said(here func(name string) (publishedAs, bool)) (out []ReplicaNode) {
	for node, n := range e.all() {
		r := ReplicaNode{Node: node, Away: n.Away, Depot: n == e.Depot}
		if !n.AsOf.IsZero() {
			r.AsOf = &n.AsOf
		}
		for _, name := range slices.Sorted(maps.Keys(n.Sites)) {
			s := n.Sites[name]
			if s.Why != "" && n.Away == "" {
				r.Away = joined(r.Away, name+": "+s.Why)
			}
			if s.Has.Version == 0 {
				continue
			}
			r.Jobs++
			local, ok := here(name)
			switch {
			case s.Kept.equal(s.Has), ok && local.equal(s.Has):
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

// addElsewhere adds the mirrors of other nodes to the trees, each in the place of an older one here.
func (r *replicaPages) addElsewhere() ([]ReplicaNode, error) {
	e, err := loadElsewhere(r.state.Dir)
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
		f, err := regular.Open(filepath.Join(r.state.Dir, elsewhereFolder, name))
		if err != nil {
			return nil, err
		}
		r.trees = append(r.trees, replicaTree{name: "site " + name + " of another node", said: f})
	}
	slices.SortStableFunc(r.trees, func(a, b replicaTree) int { return cmp.Compare(a.name, b.name) })
	said := e.said(func(name string) (publishedAs, bool) { return publishedHere(r.state, name) })
	return said, nil
}

// Line says in one line what a node has said.
func (n *ReplicaNode) Line() string {
	s := "node " + n.Node + ": " + count.Of(n.Jobs, "mirror")
	switch {
	case n.Depot:
		s = "the depot: " + count.Of(n.Jobs, "mirror")
	case n.Node == "":
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

func joined(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}

// gatherWithin is how long the daemon may take to bring what other nodes know. What has come counts then.
const gatherWithin = 10 * time.Minute

// GatherReplicas lets the daemon of the state bring what the other nodes of its cluster know of the pages of
// their mirrors. Without a daemon, or when it does not answer, what it last brought counts.
func GatherReplicas(ctx context.Context, a *App) {
	c := clusterDaemon(a)
	if c == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, gatherWithin)
	defer cancel()
	a.note("asking the other nodes of the cluster")
	if err := c.Gather(ctx); err != nil {
		a.warn(fmt.Sprintf("the other nodes of the cluster were not asked: %v", err))
	}
}

// clusterDaemon returns a client of the daemon of a state that is part of a cluster; nil: there is none.
func clusterDaemon(a *App) *control.Client {
	dir, err := a.State()
	if err != nil {
		return nil // whoever reads the state says what is wrong
	}
	if _, err := os.Stat(filepath.Join(dir, elsewhereFolder)); err != nil {
		return nil // the daemon of a cluster makes it
	}
	if _, ok, err := DaemonOf(dir); err != nil || !ok {
		return nil
	}
	c, err := a.Client()
	if err != nil {
		return nil
	}
	return c
}
