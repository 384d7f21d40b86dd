// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"context"
	"errors"
	"net/http"

	"mirrord/app/access"
	"mirrord/scheduler/control"
)

// OtherNodes is how the console of a node, and its API, have requests answered by other nodes. *Everywhere is
// one.
type OtherNodes interface {
	// MirrorAt returns the node that a request about a job's mirror has to go to; "": this one.
	MirrorAt(r *http.Request, job string) (node string, err error)
	To(node string) http.RoundTripper
}

// OfMirror answers a request about a job's mirror on the node that has it: here, or there.
func OfMirror(others OtherNodes, r *http.Request, here func() error, there func(node string) error) error {
	if others == nil {
		return here()
	}
	node, err := others.MirrorAt(r, r.PathValue("job"))
	switch {
	case err != nil:
		return err
	case node == "":
		return here()
	}
	return there(node)
}

// To returns what carries requests to a node.
func (c *Everywhere) To(node string) http.RoundTripper { return c.nodes.To(node) }

// Me is the name of this node.
func (c *Everywhere) Me() string { return c.nodes.Me() }

// Take lets h answer what other nodes ask below a path.
func (c *Everywhere) Take(path string, h http.Handler) { c.calls.Handle(path, h) }

// MirrorAt implements OtherNodes. A request that was passed on is not passed on again.
func (c *Everywhere) MirrorAt(r *http.Request, job string) (string, error) {
	_, err := c.here.Progress(job)
	if !errors.Is(err, control.ErrNotFound) || c.Wanted()[job] == nil {
		return "", nil
	}
	if c.Follows && len(c.Titles([]string{job})) > 0 {
		return "", nil
	}
	if access.GuestOf(r) != nil {
		return "", moving(job)
	}
	ctx, cancel := context.WithTimeout(r.Context(), doesWithin)
	defer cancel()
	to, err := c.nodeOf(ctx, job)
	return to.node, err
}
