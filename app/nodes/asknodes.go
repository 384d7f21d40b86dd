// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"mirrord/app/access"
	"mirrord/app/env"
	"mirrord/scheduler/status"
)

// nodesAtOnce is how many nodes are asked at a time.
const nodesAtOnce = 64

// without returns the names but one.
func without(names []string, me string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == me })
}

// said is what other nodes answered last to one question. Safe for concurrent use.
type said[T any] struct {
	mu sync.Mutex // held while nodes are asked: one round at a time
	of map[string]*lastSaid[T]
}

type lastSaid[T any] struct {
	value T
	at    time.Time // when it said that; zero: never
	asked time.Time
	err   error // of the last question
}

// heard is the last answer of another node. Without AsOf it never answered.
type heard[T any] struct {
	status.NodeSaid
	value T
}

// ask asks the other nodes, and returns the last answers of all that were ever asked. Nodes that answered a
// moment ago are not asked again. Nodes that answer come first.
func (s *said[T]) ask(c *Everywhere, now time.Time, ask func(node string) (T, error)) []heard[T] {
	members := c.nodes.Members()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == nil {
		s.of = map[string]*lastSaid[T]{}
	}
	var due []string
	for _, name := range without(members, c.nodes.Me()) {
		n := s.of[name]
		if n == nil {
			n = new(lastSaid[T])
			s.of[name] = n
		}
		rest := saidFor
		if n.err != nil {
			rest = silentFor
		}
		if time.Since(n.asked) >= rest {
			due = append(due, name)
		}
	}
	env.AtOnce(nodesAtOnce, due, func(name string) {
		n := s.of[name]
		value, err := ask(name)
		n.asked = time.Now()
		if n.err = err; err == nil {
			n.value, n.at = value, now
		}
	})
	var out []heard[T]
	for name, n := range s.of {
		h := heard[T]{status.NodeSaid{Name: name}, n.value}
		if !n.at.IsZero() {
			at := n.at
			h.AsOf = &at
		}
		switch {
		case !slices.Contains(members, name):
			h.Away = errNoMember.Error()
		case n.err != nil:
			h.Away = n.err.Error()
		}
		out = append(out, h)
	}
	slices.SortFunc(out, func(a, b heard[T]) int {
		if (a.Away == "") != (b.Away == "") {
			if a.Away == "" {
				return -1
			}
			return 1
		}
		return strings.Compare(a.Name, b.Name)
	})
	return out
}

// names returns the nodes that were ever asked.
func (s *said[T]) names() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.of))
}

var errNoMember = errors.New("it is not part of the cluster now")

// AskNodes asks all other nodes for what lies at a path. Those that this daemon has heard of and that do not
// answer are away.
func AskNodes[T any](ctx context.Context, c *Everywhere, path string) (map[string]T, []status.NodeSaid) {
	ctx, cancel := context.WithTimeout(ctx, saysWithin)
	defer cancel()
	members := c.nodes.Members()
	names := without(append(c.jobs.names(), members...), c.nodes.Me())
	slices.Sort(names)
	var mu sync.Mutex
	all := map[string]T{}
	var away []status.NodeSaid
	env.AtOnce(nodesAtOnce, slices.Compact(names), func(name string) {
		var v T
		err := errNoMember
		if slices.Contains(members, name) {
			err = askNode(ctx, c.nodes, name, path, &v)
		}
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			away = append(away, status.NodeSaid{Name: name, Away: err.Error()})
		} else {
			all[name] = v
		}
	})
	slices.SortFunc(away, func(a, b status.NodeSaid) int { return strings.Compare(a.Name, b.Name) })
	return all, away
}

// mostSaid bounds what a node says at once, in bytes.
const mostSaid = 64 << 20

// askNode reads the JSON that a node has at a path.
func askNode(ctx context.Context, nodes Nodes, node, path string, into any) error {
	err := readNode(ctx, nodes, node, path, func(body io.Reader) error {
		return json.NewDecoder(io.LimitReader(body, mostSaid)).Decode(into)
	})
	if refused := (*refusedError)(nil); errors.As(err, &refused) && refused.code == http.StatusNotFound {
		return access.ErrOlder
	}
	return err
}

// say answers another node with JSON. An error that is not returned: that node is gone.
func say(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

// refusedError is an answer of a node that is no success.
type refusedError struct {
	code int
	text string
}

func (e *refusedError) Error() string { return fmt.Sprintf("it answers %d: %s", e.code, e.text) }

// silentError says that a node did not answer.
type silentError struct{ error }

// readNode gives what a node has at a path to use.
func readNode(
	ctx context.Context, nodes Nodes, node, path string, use func(body io.Reader) error,
) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://mirrord"+path, nil)
	if err != nil {
		return err
	}
	answer, err := nodes.To(node).RoundTrip(r)
	if err != nil {
		return silentError{err}
	}
	defer answer.Body.Close()
	if answer.StatusCode == http.StatusOK {
		return use(answer.Body)
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, 1<<10))
	return errors.Join(&refusedError{answer.StatusCode, strings.TrimSpace(string(text))}, err)
}
