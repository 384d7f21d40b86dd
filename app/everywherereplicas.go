// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/renameio/v2"

	"mirrord/control"
	"mirrord/store"
)

// replicasPath is where nodes ask one another what the pages of their mirrors say: the list of mirrors, and
// below it, by its name, the digests of one.
const replicasPath = "/replicas"

// How nodes ask for that.
const (
	listsWithin = 10 * time.Second // for the list
	listsAtOnce = 16
	mostList    = 64 << 20 // bytes of a list
)

// ownsMirror reports whether a daemon speaks of a mirror: of its jobs, and of those that are nobody's.
func ownsMirror(d *Daemon, name string) bool {
	if e := d.sched.Config()[name]; e != nil && e.Job != nil {
		return true
	}
	return d.wanted()[name] == nil
}

// hasMirror reports whether what is published here of a site counts, whatever others have.
func (c *Everywhere) hasMirror(name string) bool {
	_, ok := publishedHere(c.st, name)
	return ok && ownsMirror(c.Daemon, name)
}

// sayReplicas answers other nodes.
func sayReplicas(d *Daemon, mux *http.ServeMux) {
	mux.HandleFunc("GET "+replicasPath, func(w http.ResponseWriter, _ *http.Request) {
		names, err := d.st.Sites()
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		out := map[string]publishedAs{}
		for name, e := range d.sched.Config() {
			if e.Job != nil {
				out[name] = publishedAs{} // this node has it, if nothing is published
			}
		}
		for _, name := range names {
			if p, ok := publishedHere(d.st, name); ok && ownsMirror(d, name) {
				out[name] = p
			}
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(out) // an error: the other node is gone
	})
	mux.HandleFunc("GET "+replicasPath+"/{name}", func(w http.ResponseWriter, r *http.Request) {
		name := r.PathValue("name")
		if !store.ValidName(name) || !ownsMirror(d, name) {
			http.NotFound(w, r)
			return
		}
		// what is cut off is seen to be so by its reader
		if err := writeSiteDigests(r.Context(), w, d.st, name); err != nil && r.Context().Err() == nil {
			d.log.Warn("another node does not get what the pages of a mirror say", "job", name, "err", err)
		}
	})
}

// Gather brings what the pages of the mirrors of other nodes say: of those that have a new version since it
// was last called. Of a node that does not answer what it last said stays.
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
	dir := c.st.Dir
	e, err := loadElsewhere(dir)
	if err != nil { // it is made again
		c.log.Warn("what was known of the mirrors of other nodes is lost", "err", err)
		e = &othersSaid{Nodes: map[string]*saidMirrors{}}
	}
	c.lists(ctx, e)
	c.settle(e)
	c.fetchDigests(ctx, e)
	if err := ctx.Err(); err != nil {
		return err
	}
	return e.save(dir)
}

// lists asks the other nodes for their mirrors.
func (c *Everywhere) lists(ctx context.Context, e *othersSaid) {
	members := c.nodes.Members()
	var mu sync.Mutex
	var wg sync.WaitGroup
	room := make(chan struct{}, listsAtOnce)
	for _, node := range members {
		if node == c.nodes.Me() {
			continue
		}
		room <- struct{}{}
		wg.Go(func() {
			defer func() { <-room }()
			var has map[string]publishedAs
			err := c.askNode(ctx, node, "", func(body io.Reader) error {
				return json.NewDecoder(io.LimitReader(body, mostList)).Decode(&has)
			})
			mu.Lock()
			defer mu.Unlock()
			n := e.Nodes[node]
			if n == nil {
				n = new(saidMirrors)
				e.Nodes[node] = n
			}
			if n.Away = ""; err != nil {
				n.Away = err.Error()
				return
			}
			n.AsOf = c.st.Now().UTC()
			was := n.Sites
			n.Sites = map[string]saidMirror{}
			for name, p := range has {
				if store.ValidName(name) {
					n.Sites[name] = saidMirror{Has: p, Kept: was[name].Kept}
				}
			}
		})
	}
	wg.Wait()
	delete(e.Nodes, c.nodes.Me())
	for node, n := range e.Nodes {
		if !slices.Contains(members, node) {
			n.Away = "it is not part of the cluster now"
		}
	}
}

// settle leaves each mirror with one node: this one, one that answers, or the last that spoke of it. What is
// kept of it goes along.
func (c *Everywhere) settle(e *othersSaid) {
	type claim struct {
		node string
		n    *saidMirrors
	}
	best := map[string]claim{}
	kept := map[string]publishedAs{}
	for _, node := range slices.Sorted(maps.Keys(e.Nodes)) {
		n := e.Nodes[node]
		for name, s := range n.Sites {
			if s.Kept.Version > 0 {
				kept[name] = s.Kept
			}
			if b, had := best[name]; !had || n.better(b.n) {
				best[name] = claim{node, n}
			}
		}
	}
	wanted := c.wanted()
	for node, n := range e.Nodes {
		for name, s := range n.Sites {
			if best[name].node != node || c.hasMirror(name) {
				delete(n.Sites, name)
				continue
			}
			if s.Kept = kept[name]; s.Has.Version == 0 {
				s.Kept = publishedAs{}
			}
			n.Sites[name] = s
		}
		if n.Away != "" && len(n.Sites) == 0 && !slices.Contains(c.nodes.Members(), node) {
			delete(e.Nodes, node)
		}
	}
	e.Unheard = nil
	for name, entry := range wanted {
		if _, spoken := best[name]; !spoken && entry.Job != nil && !ownsMirror(c.Daemon, name) {
			e.Unheard = append(e.Unheard, name)
		}
	}
	slices.Sort(e.Unheard)
}

// better reports whether what a node said counts rather than what another one said of the same mirror.
func (n *saidMirrors) better(than *saidMirrors) bool {
	if (n.Away == "") != (than.Away == "") {
		return n.Away == ""
	}
	return n.AsOf.After(than.AsOf)
}

// fetchDigests brings the digests of mirrors that have another version. Nodes are asked at the same time.
func (c *Everywhere) fetchDigests(ctx context.Context, e *othersSaid) {
	var wg sync.WaitGroup
	room := make(chan struct{}, movesAtOnce)
	for node, n := range e.Nodes {
		if n.Away != "" {
			continue
		}
		room <- struct{}{}
		wg.Go(func() {
			defer func() { <-room }()
			for _, name := range slices.Sorted(maps.Keys(n.Sites)) {
				s := n.Sites[name]
				here, ok := publishedHere(c.st, name)
				known := s.Kept.equal(s.Has) || (ok && here.equal(s.Has))
				if s.Has.Version == 0 || known {
					continue
				}
				err := c.fetchOne(ctx, node, name)
				if err == nil {
					s.Kept = s.Has
					n.Sites[name] = s
				} else if ctx.Err() == nil {
					c.log.Warn("what the pages of a mirror say does not come from its node", "job", name, "node",
						node, "err", err)
				}
				if errors.Is(err, errNodeAway) {
					n.Away = err.Error()
					return
				}
			}
		})
	}
	wg.Wait()
}

// fetchOne brings the digests of one mirror, whole or not at all.
func (c *Everywhere) fetchOne(ctx context.Context, node, name string) (err error) {
	file := filepath.Join(c.st.Dir, elsewhereFolder, name)
	f, err := renameio.NewPendingFile(file, renameio.WithPermissions(0o644))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Cleanup()) }()
	err = c.askNode(ctx, node, "/"+name, func(body io.Reader) error {
		_, err := readSiteDigests(io.TeeReader(body, f), func(*pageSaid) error { return nil })
		return err
	})
	if err != nil {
		return err
	}
	return f.CloseAtomicallyReplace()
}

// errNodeAway says that a node did not answer.
var errNodeAway = errors.New("it does not answer")

// askNode gives the answer of another node to use.
func (c *Everywhere) askNode(ctx context.Context, node, path string, use func(io.Reader) error) error {
	if path == "" {
		short, cancel := context.WithTimeout(ctx, listsWithin)
		defer cancel()
		ctx = short
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://mirrord"+replicasPath+path, nil)
	if err != nil {
		return err
	}
	answer, err := c.nodes.To(node).RoundTrip(r)
	if err != nil {
		return fmt.Errorf("%w: %w", errNodeAway, err)
	}
	defer answer.Body.Close()
	switch {
	case answer.StatusCode == http.StatusNotFound && path == "":
		return errors.New("its mirrord is older and says nothing of replicas")
	case answer.StatusCode != http.StatusOK:
		text, err := io.ReadAll(io.LimitReader(answer.Body, 1<<10))
		return errors.Join(fmt.Errorf("%d: %s", answer.StatusCode, strings.TrimSpace(string(text))), err)
	}
	return use(answer.Body)
}

// Registry is the registry of all nodes, by the jobs in force.
func (c *Everywhere) Registry() (any, error) {
	own, err := nodeFace{c.Daemon}.registry()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(c.ctx, listsWithin)
	defer cancel()
	me := c.nodes.Me()
	for i := range own.Mirrors {
		own.Mirrors[i].Node = me
	}
	var wg sync.WaitGroup
	room := make(chan struct{}, listsAtOnce)
	for _, node := range c.nodes.Members() {
		if node == me || !c.registries.due(node) {
			continue
		}
		room <- struct{}{}
		wg.Go(func() {
			defer func() { <-room }()
			reg := new(Registry)
			err := control.NewClientOver(c.nodes.To(node)).Registry(ctx, reg)
			c.registries.note(node, reg, c.st.Now().UTC(), err)
		})
	}
	wg.Wait()
	others, nodes := c.registries.all(c.nodes.Members())
	own.merge(others)
	own.Nodes = nodes
	return own, nil
}

// Registry is what other nodes are told: of this daemon's mirrors only.
func (f nodeFace) Registry() (any, error) { return f.registry() }

func (f nodeFace) registry() (*Registry, error) {
	reg, err := registryOf(f.Daemon)
	if err != nil {
		return nil, err
	}
	reg.Mirrors = slices.DeleteFunc(reg.Mirrors, func(m RegistryMirror) bool {
		return !ownsMirror(f.Daemon, m.Job)
	})
	reg.Problems = slices.DeleteFunc(reg.Problems, func(p RegistryProblem) bool {
		return !ownsMirror(f.Daemon, p.Job)
	})
	return reg, nil
}

// saidRegistries are the registries of other nodes, as they last said them. Safe for concurrent use.
type saidRegistries struct {
	mu   sync.Mutex
	said map[string]saidRegistry
}

type saidRegistry struct {
	reg   *Registry // nil: it never answered
	at    time.Time
	asked time.Time
	err   error
}

// due reports whether a node is to be asked, as Everywhere.ask does.
func (s *saidRegistries) due(node string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, rest := s.said[node], saidFor
	if n.err != nil {
		rest = silentFor
	}
	return time.Since(n.asked) >= rest
}

func (s *saidRegistries) note(node string, reg *Registry, at time.Time, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.said == nil {
		s.said = map[string]saidRegistry{}
	}
	n := s.said[node]
	n.asked = time.Now()
	if n.err = err; err == nil {
		n.reg, n.at = reg, at
	}
	s.said[node] = n
}

// all returns them, those of nodes that answer first, and what is to be said of the nodes.
func (s *saidRegistries) all(members []string) (regs []*Registry, nodes []RegistryNode) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var old []*Registry
	for _, node := range slices.Sorted(maps.Keys(s.said)) {
		n := s.said[node]
		about := RegistryNode{Node: node}
		if n.reg != nil {
			at := n.at
			about.AsOf = &at
		}
		switch {
		case !slices.Contains(members, node):
			about.Away = "it is not part of the cluster now"
		case n.err != nil:
			about.Away = n.err.Error()
		}
		nodes = append(nodes, about)
		if n.reg == nil {
			continue
		}
		for i := range n.reg.Mirrors {
			n.reg.Mirrors[i].Node = node
		}
		if about.Away == "" {
			regs = append(regs, n.reg)
		} else {
			old = append(old, n.reg)
		}
	}
	return append(regs, old...), nodes
}
