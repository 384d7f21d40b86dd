// SPDX-License-Identifier: Apache-2.0

package console

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mirrord/app/access"
	"mirrord/app/shares"
	"mirrord/scheduler/status"
	"mirrord/store"
	"mirrord/store/shared"
	"mirrord/testing/poll"
)

// keeperFacts are the facts of a cluster, which can be out of reach.
type keeperFacts struct {
	shared.KeyValues
	away *atomic.Bool
}

var errAway = errors.New("no keeper is reached")

func (f keeperFacts) Get(_ context.Context, kind, key string) ([]byte, error) {
	all, err := f.All(kind)
	return all[key], err
}

func (f keeperFacts) All(kind string) (map[string][]byte, error) {
	if f.away.Load() {
		return nil, errAway
	}
	return f.KeyValues.All(kind)
}

func (f keeperFacts) Change(kind, key string, change func([]byte) ([]byte, error)) error {
	if f.away.Load() {
		return errAway
	}
	return f.KeyValues.Change(kind, key, change)
}

func (f keeperFacts) Watch(ctx context.Context, changed func(), _ ...string) {
	changed()
	<-ctx.Done()
}

// consoleNode is the console of one node of a cluster, with the mirror.db of that node.
type consoleNode struct {
	*browser
	st *store.State
}

func (n *consoleNode) share() { n.srv.share(httptest.NewRequest(http.MethodGet, "/", nil)) }

// consoleNodes makes consoles of a cluster. away takes its keepers away.
func consoleNodes(t *testing.T, n int) (nodes []*consoleNode, away *atomic.Bool) {
	t.Helper()
	open := func() *store.State {
		st, err := store.OpenState(t.TempDir(), store.Options{Volatile: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { st.Close() })
		return st
	}
	away = new(atomic.Bool)
	facts := keeperFacts{open().Shared, away}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	t.Cleanup(func() {
		cancel()
		wg.Wait()
	})
	for range n {
		st := open()
		users := shares.NewClusterUsers(st, facts, slog.New(slog.DiscardHandler))
		wg.Go(func() { users.Follow(ctx, func() {}) })
		own := shared.NewConsoleFacts(st.Shared)
		b := newBrowser(t, func(o *Options) {
			o.Facts = own
			o.Exchange = func(ctx context.Context) { users.Exchange(ctx) }
			o.Now = time.Now
			o.Passwords = &Passwords{
				Book:   access.NewBook(own, time.Now),
				Hasher: access.NewHasher(1),
				Change: own.ChangeUser,
			}
		})
		nodes = append(nodes, &consoleNode{b, st})
	}
	return nodes, away
}

// A browser whose requests go to one node or another is logged in and out on all of them, also when the
// keepers are away for what a node knows.
func TestSessionsOfNodes(t *testing.T) {
	nodes, away := consoleNodes(t, 3)
	a, b, c := nodes[0], nodes[1], nodes[2]
	a.login(Operate)
	b.cookie = a.cookie
	b.want(http.StatusOK, "ann · operate", "/", nil)
	b.want(http.StatusSeeOther, "/login", "/logout", url.Values{})
	b.cookie = a.cookie
	b.want(http.StatusUnauthorized, "", "/", nil)
	a.share()
	a.want(http.StatusUnauthorized, "", "/", nil)

	a.login(Read)
	kept := a.cookie
	c.login(Operate)
	c.want(http.StatusSeeOther, "said=logoutUser", "/users/logout", url.Values{"user": {"ann"}})
	for _, n := range nodes {
		n.share()
		n.cookie = kept
		n.want(http.StatusUnauthorized, "", "/", nil)
	}

	a.login(Operate)
	b.cookie = a.cookie
	b.want(http.StatusOK, "ann · operate", "/", nil)
	away.Store(true)
	b.want(http.StatusOK, "ann · operate", "/", nil)
	c.login(Operate)
	c.want(http.StatusOK, "ann · operate", "/", nil)
	b.cookie = c.cookie
	b.want(http.StatusUnauthorized, "", "/", nil)
	away.Store(false)
	c.share()
	poll.Until(t, "the session, which a hands in by itself once the keepers are back", func() bool {
		b.share()
		return b.do("/", nil).Code == http.StatusOK
	})
}

// Another password, chosen on one node, ends the sessions of the old one everywhere, and the new session is
// good everywhere at once. So it is when the user is removed.
func TestPasswordsOfNodes(t *testing.T) {
	nodes, _ := consoleNodes(t, 2)
	a, b := nodes[0], nodes[1]
	hash := access.NewHasher(1).Hash
	change := func(u *shared.UserFact) {
		t.Helper()
		facts := shared.NewConsoleFacts(a.st.Shared)
		err := facts.ChangeUser("eve", func(*shared.UserFact) (*shared.UserFact, error) {
			return u, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	change(&shared.UserFact{Role: "operate", Hash: hash("violet tram under rain"), Changed: time.Now()})
	a.share()
	b.share()
	b.want(http.StatusSeeOther, "/", "/login", url.Values{
		"name":     {"eve"},
		"password": {"violet tram under rain"},
	})
	old := b.cookie
	a.cookie = old
	a.want(http.StatusOK, "eve · operate", "/", nil)
	a.want(http.StatusSeeOther, "said=changed", "/password", url.Values{
		"name":     {"eve"},
		"password": {"violet tram under rain"},
		"new":      {"eight quiet green lamps"},
		"again":    {"eight quiet green lamps"},
	})
	b.cookie = a.cookie
	b.want(http.StatusOK, "eve · operate", "/", nil)
	for _, n := range nodes {
		n.cookie = old
		n.want(http.StatusUnauthorized, "", "/", nil)
	}
	current := shared.SessionFact{}
	all, err := shared.NewConsoleFacts(b.st.Shared).Sessions()
	for _, f := range all {
		current = f
	}
	if err != nil || len(all) != 1 || current.User != "eve" {
		t.Errorf("sessions %v, %v", all, err)
	}
	change(nil)
	a.share()
	b.share()
	if who := b.srv.accountNow(current); who.Role != Anonymous {
		t.Errorf("a user who was removed is %v", who)
	}
}

// The audit log has the node of each act, and names the nodes whose acts are missing.
func TestAuditOfNodes(t *testing.T) {
	b := newBrowser(t, nil)
	b.login(Operate)
	if page := b.want(http.StatusOK, "login", "/audit", nil); strings.Contains(page, "On node") {
		t.Error("one machine is shown as a node")
	}
	b.facts.audit = append(b.facts.audit, shared.AuditEntry{Who: "eve", What: "pause", Node: "north"})
	b.daemon.away = []status.NodeSaid{{Name: "south", Away: "the node does not answer"}}
	b.want(http.StatusOK, "<td>north</td>", "/audit", nil)
	b.want(http.StatusOK, "done on node south is missing here: the node does not answer", "/audit", nil)
}
