// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"

	"mirrord/cluster/engine"
	"mirrord/cluster/keeper"
	"mirrord/testing/poll"
)

func factsOf(t *testing.T, e *engine.Engine) *engine.Facts {
	t.Helper()
	f, err := e.Facts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// count adds one to a number, and returns how often it was asked for the next one.
func count(t *testing.T, f *engine.Facts, key string) (asked int) {
	t.Helper()
	err := f.Change("numbers", key, func(was []byte) ([]byte, error) {
		asked++
		n, _ := strconv.Atoi(string(was)) // none is 0
		return []byte(strconv.Itoa(n + 1)), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return asked
}

func holds(t *testing.T, f *engine.Facts, key, want string) {
	t.Helper()
	if v, err := f.Get(t.Context(), "numbers", key); err != nil || string(v) != want {
		t.Errorf("%s: %q, %v; want %q", key, v, err, want)
	}
}

// A change whose answers are lost counts once.
func TestFactsAnswersLost(t *testing.T) {
	t.Parallel()
	o := keepers(t, 1)
	o.Node = "a"
	f := factsOf(t, node(t, o))
	for lost := range 3 {
		f.Lossy(lost)
		key := strconv.Itoa(lost)
		for n := range 3 {
			if asked := count(t, f, key); asked != 1 {
				t.Errorf("%d answers lost: asked %d times", lost, asked)
			}
			holds(t, f, key, strconv.Itoa(n+1))
		}
		f.Lossy(lost)
		if err := f.Change("numbers", key, func([]byte) ([]byte, error) { return nil, nil }); err != nil {
			t.Error(err)
		}
		holds(t, f, key, "")
	}
}

// Another node's write after one whose response was lost stays.
func TestFactsAnswerLostAndReplaced(t *testing.T) {
	o := keepers(t, 1)
	o.Node = "a"
	f := factsOf(t, node(t, o))
	o.Node = "b"
	other := factsOf(t, node(t, o))
	count(t, f, "x")
	f.Lossy(1)
	first := true
	err := f.Change("numbers", "x", func(was []byte) ([]byte, error) {
		if first {
			first = false
			count(t, other, "x") // it is written over: the first attempt fails, the second one has no answer
		}
		return append(was, '0'), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	holds(t, f, "x", "20")
}

// While a keeper starts again, changes wait; so does a node that begins to take part.
func TestFactsWait(t *testing.T) {
	t.Parallel()
	k := keeper.Options{Name: "k", Dir: t.TempDir(), Secret: "xyzzy"}
	k.Listen = freePort(t)
	o := keepersWith(t, 1, func(own *keeper.Options) { own.Listen, k.Log = freePort(t), own.Log })
	o.Keeper, o.Servers, o.Node = nil, []string{"nats://" + k.Listen}, "a"
	start := func() *keeper.Server {
		t.Helper()
		s, err := keeper.Start(k)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := start()
	defer func() { s.Close() }()
	a := node(t, o)
	f := factsOf(t, a)
	count(t, f, "x")
	again := func(do func()) {
		t.Helper()
		s.Close()
		done := make(chan struct{})
		go func() {
			defer close(done)
			do()
		}()
		select {
		case <-done:
			t.Error("it was done without a keeper")
		case <-time.After(300 * time.Millisecond): // it waits
		}
		s = start()
		<-done
	}
	again(func() { count(t, f, "x") })
	holds(t, f, "x", "2")
	again(func() {
		if id, err := engine.Identify(t.Context(), a); err != nil || id == "" {
			t.Errorf("%q, %v", id, err)
		}
	})
	s.Close()
	stop, err := a.Answer(http.NotFoundHandler())
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	s = start()
	o.Node = "b"
	b := node(t, o)
	poll.Until(t, "b does not reach a", func() bool {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://mirrord/", nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := b.To("a").RoundTrip(r)
		if err != nil {
			return false
		}
		defer answer.Body.Close()
		return answer.StatusCode == http.StatusNotFound
	})
	short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	s.Close()
	if id, err := engine.Identify(short, a); err == nil {
		t.Errorf("%q without a keeper", id)
	}
}

// Marks of values that were removed go, values stay; and who knew a value learns that it was removed, without
// the mark.
func TestFactsSwept(t *testing.T) {
	o := keepers(t, 1)
	o.Node = "a"
	f := factsOf(t, node(t, o))
	for _, key := range []string{"kept", "gone", "again"} {
		count(t, f, key)
	}
	known := map[string]bool{}
	follow := func(until int) (heard []string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		f.FollowOnce(ctx, "numbers", known, func(key string, v []byte) {
			if heard = append(heard, key+"="+string(v)); len(heard) == until {
				cancel()
			}
		})
		slices.Sort(heard)
		return heard
	}
	if got := follow(3); !slices.Equal(got, []string{"again=1", "gone=1", "kept=1"}) {
		t.Errorf("%q", got)
	}
	for _, key := range []string{"gone", "again"} {
		if err := f.Change("numbers", key, func([]byte) ([]byte, error) { return nil, nil }); err != nil {
			t.Fatal(err)
		}
	}
	count(t, f, "again")
	if n, err := f.Sweep(t.Context(), time.Hour); n != 0 || err != nil {
		t.Errorf("%d young marks are gone, %v", n, err)
	}
	if n, err := f.Sweep(t.Context(), 0); n != 1 || err != nil {
		t.Errorf("%d marks are gone, %v", n, err)
	}
	if got := follow(3); !slices.Equal(got, []string{"again=1", "gone=", "kept=1"}) {
		t.Errorf("%q", got)
	}
	if n, err := f.Sweep(t.Context(), 0); n != 0 || err != nil {
		t.Errorf("%d marks are left, %v", n, err)
	}
	count(t, f, "gone")
	holds(t, f, "gone", "1")
	if all, err := f.All("numbers"); err != nil || len(all) != 3 {
		t.Errorf("%q, %v", all, err)
	}
}
