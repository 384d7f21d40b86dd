// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"mirrord/app/replicas"
	"mirrord/scheduler/control"
	"mirrord/testing/wiretest"
)

// askedOfNode is what the daemon of one node wants from another one, which has job y and no other: each makes
// one request. What becomes of it is of the type of the answer.
func askedOfNode(c *Everywhere) []func() (any, error) {
	order := func(do func(string) error) func() (any, error) {
		return func() (any, error) { return nil, do("y") }
	}
	run := func(r control.RunRequest) func() (any, error) {
		return func() (any, error) {
			run, attached, err := c.Run("y", r)
			if err != nil {
				return nil, err
			}
			<-run.Done()
			got, err := run.Result()
			return []control.Event{{Attached: &attached}, {Run: &got}}, err
		}
	}
	return []func() (any, error){
		func() (any, error) { return nil, c.Gather(c.ctx) },
		func() (any, error) {
			all := c.Status()
			all.Jobs = all.Jobs[1:] // x is its own
			return all, nil
		},
		func() (any, error) { return c.Job("y") },
		run(control.RunRequest{Accept: true}),
		run(control.RunRequest{Set: []string{"nonsense=1"}}),
		run(control.RunRequest{}),
		run(control.RunRequest{
			Set:  []string{"limits.retries=1", `title="y"`},
			Full: true,
			Now:  true,
		}),
		run(control.RunRequest{Only: []string{"."}}),
		func() (any, error) { return c.Job("y") },
		func() (any, error) { return c.Runs("y", 5) },
		order(c.Pause),
		order(c.Pause),
		order(c.Resume),
		order(c.Resume),
		order(c.Cancel),
		func() (any, error) { return c.NotifyTest(c.ctx, "y") },
		func() (any, error) {
			v, err := c.Registry()
			if reg, ok := v.(*replicas.Registry); ok && (len(reg.Mirrors) != 1 || reg.Mirrors[0].Node != "b") {
				err = fmt.Errorf("mirrors %+v", reg.Mirrors)
			}
			return nil, err
		},
		func() (any, error) { return c.Acts(c.ctx, 3) },
	}
}

// TestWireNode lets a node answer what nodes of the release before asked: it answers as those did.
func TestWireNode(t *testing.T) {
	nodes := &fakeNodes{sites: map[string]string{"x": "a", "y": "b"}}
	daemonsOf(t, nodes, "b")
	for _, e := range wiretest.Read(t, "testdata/wire/nodes.txt") {
		got := e.Request.Send(t, toNode{nodes, "b"}, "http://mirrord")
		if err := e.Response.Ends().Lacks(got.Ends()); err != nil {
			t.Errorf("%s: %v", e.Name, err)
		}
	}
}

// recordedNode answers as a node of the release before did.
type recordedNode struct {
	t    *testing.T
	says []wiretest.Talk // from the next one on
}

func (n *recordedNode) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	got, err := wiretest.Sent(r)
	if len(n.says) == 0 {
		n.t.Errorf("%s %s: nothing more was asked", got.Method, got.Target)
		return
	}
	e := n.says[0]
	n.says = n.says[1:]
	if err = errors.Join(err, e.Request.Differs(got)); err != nil {
		n.t.Errorf("%s: %v", e.Name, err)
	}
	e.Response.ServeHTTP(w, r)
}

// TestWireOtherNode lets a node ask one of the release before: it asks as those did, and understands the
// answer.
func TestWireOtherNode(t *testing.T) {
	nodes := &fakeNodes{sites: map[string]string{"x": "a", "y": "b"}}
	a := daemonsOf(t, nodes, "a")["a"]
	b := &recordedNode{t, wiretest.Read(t, "testdata/wire/nodes.txt")}
	nodes.nodes["b"] = b
	for _, ask := range askedOfNode(a) {
		if len(b.says) == 0 {
			t.Fatal("less was recorded")
		}
		e := b.says[0]
		got, err := ask()
		var says *control.Error
		switch {
		case errors.As(err, &says):
			got = says
		case err != nil:
			t.Errorf("%s: %v", e.Name, err)
		}
		if strings.HasPrefix(e.Request.Target, "/v1/") && got != nil {
			if err := e.Response.Ends().LacksJSON(asLines(t, got)); err != nil {
				t.Errorf("%s: %v", e.Name, err)
			}
		}
	}
	if len(b.says) > 0 {
		t.Errorf("%d requests are not made", len(b.says))
	}
}

// asLines is a value as JSON; events are one a line.
func asLines(t *testing.T, v any) string {
	t.Helper()
	events, ok := v.([]control.Event)
	if !ok {
		events = nil
	}
	var text strings.Builder
	enc := json.NewEncoder(&text)
	for _, e := range events {
		if err := enc.Encode(e); err != nil {
			t.Fatal(err)
		}
	}
	if !ok {
		if err := enc.Encode(v); err != nil {
			t.Fatal(err)
		}
	}
	return text.String()
}
