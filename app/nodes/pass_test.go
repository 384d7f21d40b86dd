// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"mirrord/app/access"
	"mirrord/scheduler/control"
)

// A request about a mirror goes to the node that has it, once; a node that follows answers with what it has.
func TestMirrorAtOfNodes(t *testing.T) {
	nodes := &fakeNodes{sites: map[string]string{"x": "a", "y": "b", "z": "c"}}
	c := daemonsOf(t, nodes, "a", "b")
	a, b := c["a"], c["b"]
	get := httptest.NewRequest(http.MethodGet, "/jobs/y/versions", nil)
	for job, want := range map[string]string{"x": "", "y": "b", "z": "c", "unknown": ""} {
		if node, err := a.MirrorAt(get, job); node != want || err != nil {
			t.Errorf("%s: %q, %v; want %q", job, node, err, want)
		}
	}
	b.Take(access.Below+"/", access.Door(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		node, err := b.MirrorAt(r, "x") // it is a's by now
		g := access.GuestOf(r)
		if node != "" || !errors.Is(err, control.ErrConflict) || g.Name != "ann" || g.Role != access.Order {
			t.Errorf("%+v is passed on to %q, %v", g, node, err)
		}
		io.WriteString(w, r.URL.Path+" of "+r.Host)
	})))
	w := httptest.NewRecorder()
	g := access.Guest{Name: "ann", Role: access.Order, Base: "https://mirrors.example"}
	err := access.PassOn(w, get, "b", a.To("b"), g)
	if want := "/jobs/y/versions of mirrors.example"; err != nil || w.Body.String() != want {
		t.Errorf("%q, %v", w.Body, err)
	}
	away, is := errors.AsType[*access.AwayError](access.PassOn(w, get, "c", a.To("c"), g))
	if !is || away.Node != "c" {
		t.Errorf("a node that is away: %v", away)
	}
	a.Follows = true
	if node, err := a.MirrorAt(get, "y"); node != "b" || err != nil {
		t.Errorf("followed, and not here: %q, %v", node, err)
	}
	nodes.mu.Lock()
	nodes.sites = map[string]string{"x": "a"}
	nodes.mu.Unlock()
	if node, err := a.MirrorAt(get, "y"); node != "" || !errors.Is(err, control.ErrConflict) {
		t.Errorf("no node has it: %q, %v", node, err)
	}
}
