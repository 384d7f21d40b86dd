// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"

	"mirrord/app/shares"
	"mirrord/store"
	"mirrord/store/shared"
)

// emptyFacts makes facts with nothing in them.
func emptyFacts(t *testing.T) shares.Facts {
	t.Helper()
	shared, err := store.OpenState(t.TempDir(), store.Options{Volatile: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { shared.Close() })
	return localFacts{shared.Shared}
}

// Users and tokens that are made, changed or removed on one node are so on all. A cluster whose keepers lost
// everything takes nothing from anybody.
func TestClusterUsers(t *testing.T) {
	first := emptyFacts(t)
	var nodes []*shares.ClusterUsers
	for range 3 {
		st, err := store.OpenState(t.TempDir(), store.Options{Volatile: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { st.Close() })
		nodes = append(nodes, shares.NewClusterUsers(st, first, slog.New(slog.DiscardHandler)))
	}
	user := func(n int, name, role string) {
		t.Helper()
		err := shared.NewConsoleFacts(nodes[n].State.Shared).ChangeUser(name,
			func(*shared.UserFact) (*shared.UserFact, error) {
				if role == "" {
					return nil, nil
				}
				return &shared.UserFact{Role: role}, nil
			})
		if err != nil {
			t.Fatal(err)
		}
	}
	settle := func() {
		t.Helper()
		for range 2 {
			for _, n := range nodes {
				if err := n.Settle(); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	has := func(want string) {
		t.Helper()
		for i, n := range nodes {
			users, err := shared.NewConsoleFacts(n.State.Shared).Users()
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, name := range slices.Sorted(maps.Keys(users)) {
				got = append(got, name+"="+users[name].Role)
			}
			if text := strings.Join(got, " "); text != want {
				t.Errorf("node %d has %q, want %q", i, text, want)
			}
		}
	}
	user(0, "ann", "read")
	user(1, "bob", "read") // before they were a cluster
	settle()
	has("ann=read bob=read")
	user(2, "ann", "operate")
	user(0, "bob", "")
	settle()
	has("ann=operate")
	user(0, "ann", "read")
	user(1, "ann", "order") // the first one to get there counts
	settle()
	has("ann=read")
	user(1, "eve", "read")
	settle()
	has("ann=read eve=read")
	second := emptyFacts(t)
	for _, n := range nodes {
		n.Facts = second
	}
	settle()
	has("ann=read eve=read")
	user(2, "eve", "")
	settle()
	has("ann=read")
	user(1, "ann", "")
	settle()
	user(0, "ann", "read") // as it was before
	settle()
	has("ann=read")
	if n, err := second.All("users"); err != nil || len(n) != 1 {
		t.Errorf("the cluster has %d users, %v", len(n), err)
	}
	token := func(*shared.TokenFact) (*shared.TokenFact, error) { return &shared.TokenFact{Role: "read"}, nil }
	if err := shared.NewConsoleFacts(nodes[1].State.Shared).ChangeToken("ci", token); err != nil {
		t.Fatal(err)
	}
	settle()
	tokens, err := shared.NewConsoleFacts(nodes[0].State.Shared).Tokens()
	if err != nil || tokens["ci"].Role != "read" {
		t.Errorf("tokens %v, %v", tokens, err)
	}
}
