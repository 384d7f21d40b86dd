// SPDX-License-Identifier: Apache-2.0

package lease_test

import (
	"fmt"
	"maps"
	"reflect"
	"testing"
	"time"

	"mirrord/cluster/lease"
)

// The holder stops before a waiting node takes over, regardless of their clocks.
func TestHolderStopsFirst(t *testing.T) {
	term := lease.Term{TTL: 30 * time.Second, Gap: time.Second}
	holder := lease.Holder{Name: "s", Term: term}
	waits := lease.Sightings{Term: term}
	const ahead = time.Hour // of the other clock
	holder.Renewed(0)
	waits.Silent("k", 1, ahead+time.Second) // the beat took a second to be seen
	for now := time.Duration(0); now < time.Minute; now += 100 * time.Millisecond {
		if holder.Live(now) && waits.Silent("k", 1, ahead+now) {
			t.Fatalf("after %v two may act", now)
		}
	}
	if holder.Live(20*time.Second) || !holder.Live(19*time.Second) {
		t.Error("it stops two thirds of a term after its last beat")
	}
	if !waits.Silent("k", 1, ahead+31*time.Second) || waits.Silent("k", 2, ahead+90*time.Second) {
		t.Error("silence is a term without another revision")
	}
}

func TestTaken(t *testing.T) {
	held := lease.Entry{Node: "b", Session: "sb", Token: 7}
	beats := func(session string, ended bool) lease.Beat { return lease.Beat{Session: session, Ended: ended} }
	for _, tc := range []struct {
		name    string
		entry   lease.Entry
		holder  lease.Beat
		beat    uint64
		floor   uint64
		gap, ok bool
		token   uint64
	}{
		{"it had no holder", lease.Entry{}, lease.Beat{}, 0, 0, false, true, 1},
		{"an older state had a token", lease.Entry{}, lease.Beat{}, 0, 41, false, true, 42},
		{"ours", lease.Entry{Session: "sa", Token: 7}, lease.Beat{}, 0, 3, false, true, 8},
		{"given back", held.Given(), beats("sb", false), 4, 0, true, true, 8},
		{"held", held, beats("sb", false), 4, 0, false, false, 0},
		{"its node has ended", held, beats("sb", true), 4, 0, true, true, 8},
		{"its node lives again", held, beats("sc", false), 4, 0, true, true, 8},
		{"its node is unknown", held, lease.Beat{}, 0, 0, false, false, 0},
	} {
		next, tokens, gap, ok := tc.entry.Taken("a", "sa", tc.holder, tc.beat, tc.floor)
		token, left := tokens.Next(tc.floor)
		if gap != tc.gap || ok != tc.ok || left != ok || token != tc.token ||
			(ok && next.Session != "sa") {
			t.Errorf("%s: %+v, %d, gap %t, %t", tc.name, next, token, gap, ok)
		}
	}
}

// What a session gives out is above all that came before, and what comes after it is above all of that.
func TestTokens(t *testing.T) {
	next, tokens, _, _ := lease.Entry{Token: 7}.Taken("a", "sa", lease.Beat{}, 0, 0)
	last := uint64(7)
	for {
		token, ok := tokens.Next(0)
		if !ok {
			break
		}
		if token != last+1 {
			t.Fatalf("%d after %d", token, last)
		}
		last = token
	}
	if last != next.Token || last < 100 {
		t.Errorf("the last was %d, in the entry is %d", last, next.Token)
	}
	_, tokens, _, _ = next.Given().Taken("b", "sb", lease.Beat{}, 0, 0)
	if token, ok := tokens.Next(0); !ok || token != last+1 {
		t.Errorf("another session: %d, %t", token, ok)
	}
	if token, ok := tokens.Next(last + 2); ok {
		t.Errorf("%d, which is not above %d", token, last+2)
	}
}

func TestOpens(t *testing.T) {
	other := lease.Beat{Session: "other"}
	for _, tc := range []struct {
		beat     lease.Beat
		revision uint64
		silent   bool
		want     bool
	}{
		{lease.Beat{}, 0, false, true},
		{other, 3, false, false},
		{other, 3, true, true},
		{lease.Beat{Session: "other", Ended: true}, 3, false, true},
		{lease.Beat{Session: "mine"}, 3, false, true},
	} {
		if got := lease.Opens(tc.beat, tc.revision, "mine", tc.silent); got != tc.want {
			t.Errorf("%+v: %t", tc, got)
		}
	}
}

func members(n int) (out []lease.Peer) {
	for i := range n {
		out = append(out, lease.Peer{Name: fmt.Sprintf("n%03d", i), Weight: 1})
	}
	return out
}

func hosts(n int) (out []lease.Load) {
	for i := range n {
		out = append(out, lease.Load{Host: fmt.Sprintf("host%d.example", i), Sites: 1})
	}
	return out
}

// All nodes find the same shares, which are even; and few hosts move when a node comes.
func TestAssign(t *testing.T) {
	for _, tc := range []struct{ hosts, members, most int }{
		{60, 4, 16}, {1000, 10, 106}, {3, 10, 1}, {7, 1, 8},
	} {
		all := hosts(tc.hosts)
		got := assign(all, members(tc.members))
		count := map[string]int{}
		for _, node := range got {
			count[node]++
		}
		for node, n := range count {
			if n > tc.most {
				t.Errorf("%d hosts on %d nodes: %s has %d", tc.hosts, tc.members, node, n)
			}
		}
		for i := range all { // the order they come in is of no matter
			j := (i * 7) % len(all)
			all[i], all[j] = all[j], all[i]
		}
		if again := assign(all, members(tc.members)); len(got) != tc.hosts || !maps.Equal(got, again) {
			t.Errorf("%d hosts on %d nodes: %d have a node", tc.hosts, tc.members, len(got))
		}
	}
	before, after := assign(hosts(1000), members(10)), assign(hosts(1000), members(11))
	moved := 0
	for host, node := range before {
		if after[host] != node {
			moved++
		}
	}
	if moved > 250 { // 91 at least
		t.Errorf("%d of 1000 hosts move when an eleventh node comes", moved)
	}
}

func TestAssignHomesAndWeights(t *testing.T) {
	all := hosts(90)
	all[0].Home, all[1].Home = "n002", "gone"
	two := members(3)
	two[1].Weight = 4
	got := assign(all, two)
	count := map[string]int{}
	for _, node := range got {
		count[node]++
	}
	if got[all[0].Host] != "n002" || got[all[1].Host] != "" || len(got) != 89 {
		t.Errorf("%d hosts; at home: %q; without a home: %q", len(got), got[all[0].Host], got[all[1].Host])
	}
	if count["n001"] < 50 {
		t.Errorf("shares %v", count)
	}
	if got := assign(all, nil); len(got) != 0 {
		t.Errorf("without a node: %v", got)
	}
}

// The end of each node is seen by two others.
func TestWatched(t *testing.T) {
	for n := 1; n <= 5; n++ {
		var names []string
		for _, m := range members(n) {
			names = append(names, m.Name)
		}
		seen := map[string]int{}
		for _, me := range names {
			for _, w := range lease.Watched(me, names) {
				if seen[w]++; w == me {
					t.Errorf("%s watches itself", me)
				}
			}
		}
		for _, name := range names {
			if want := min(n-1, 2); seen[name] != want {
				t.Errorf("%d nodes: %d watch %s", n, seen[name], name)
			}
		}
	}
	if got := lease.Watched("b", []string{"a", "c", "d"}); !reflect.DeepEqual(got, []string{"c", "d"}) {
		t.Errorf("one that is no member yet watches %v", got)
	}
}
