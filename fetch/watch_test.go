// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"mirrord/fetch/reach"
)

// A watch that was stopped serves the next attempt, with nothing of the one before, unless somebody else may
// have it still.
func TestWatchServesAgain(t *testing.T) {
	c := newClient(t, Options{HeaderTimeout: time.Hour, IdleTimeout: time.Hour})
	again := 0
	for range 50 {
		w := c.newWatch(context.Background())
		w.enter(phaseRead)
		w.leave(7)
		w.guard(func() {})
		w.release()
		w.end(errors.New("a limit"))
		w.stop()
		next := c.newWatch(context.Background())
		if next == w {
			again++
		}
		if next.isOver() || next.why() != nil || next.bytes.Load() != 0 || next.phase.Load() != phaseConnect {
			t.Fatal("it has something of the attempt before")
		}
		next.stop()
	}
	if again == 0 {
		t.Error("each attempt has a watch of its own")
	}
	for name, share := range map[string]func(w *watch){
		"its context is another one's": func(w *watch) { w.own() },
		"its timer was set":            func(w *watch) { w.hurry(time.Hour) },
		"its timer has fired":          func(w *watch) { w.timer.Stop() },
	} {
		for range 50 { // a pool may lose what it is given
			w := c.newWatch(context.Background())
			share(w)
			w.stop()
			if next := c.newWatch(context.Background()); next == w {
				t.Fatalf("a watch serves again although %s", name)
			}
		}
	}
}

// A request has nothing of the one before: no condition, and no secret of another origin.
func TestRequestsShareNothing(t *testing.T) {
	heads := make(chan string, 1)
	answer := func(head string, _ int) (string, bool) {
		heads <- head
		return short, false
	}
	known, _ := talk(t, answer)
	other, _ := talk(t, answer)
	c := newClient(t, Options{
		Reach:       reach.Policy{All: true},
		Retries:     -1,
		AuthOrigins: []string{"http://" + known},
		AuthHeader:  map[string]string{"Authorization": "Basic eA=="},
	})
	ask := func(req Request) string {
		t.Helper()
		if _, err := c.Do(context.Background(), req, new(memory)); err != nil {
			t.Fatal(err)
		}
		return <-heads
	}
	bare := ask(Request{URL: mustURL(t, "http://"+other+"/")})
	for range 20 { // a pool may lose what it is given
		full := ask(Request{
			URL:          mustURL(t, "http://"+known+"/long/path?query"),
			Referer:      mustURL(t, "http://"+known+"/from"),
			Accept:       "text/css",
			ETag:         `"e"`,
			LastModified: "Mon, 02 Jan 2006 15:04:05 GMT",
		})
		for _, field := range []string{"Authorization", "If-None-Match", "If-Modified-Since", "Referer"} {
			if !strings.Contains(full, field) {
				t.Fatalf("no %s in\n%s", field, full)
			}
		}
		if got := ask(Request{URL: mustURL(t, "http://"+other+"/")}); got != bare {
			t.Fatalf("%s\nwant\n%s", got, bare)
		}
	}
}
