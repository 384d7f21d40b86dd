// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"mirrord/fetch"
	"mirrord/site"
)

var errSilent = errors.New("no answer")

func answered(status int, after time.Duration) *fetch.Result {
	res := &fetch.Result{RetryAfter: after}
	res.Status = status
	return res
}

func newTroubles() (*HostErrors, *Frontier) {
	f := NewFrontier(&Pacer{hosts: new(fetch.Hosts)}, Ordering{})
	return NewHostErrors(HostErrorsOptions{
		Front:   f,
		MaxWait: time.Minute,
		Known:   func(string, []site.URL) (u site.URL, ok bool) { return u, false },
		Entry:   func(string) (u site.URL, ok bool) { return u, false },
		Down:    func(Left) {},
	}), f
}

// Failures in a row leave an origin for the next run, and free its queued URLs; an answer between them
// starts again.
func TestTroublesFailed(t *testing.T) {
	tr, front := newTroubles()
	u, other := site.Canonical("http://h:8080/a"), site.Canonical("http://h/a")
	var told []Left
	tr.HostErrorsOptions.Down = func(l Left) { told = append(told, l) }
	tr.AddEntry(u)
	front.Add(u.Origin(), 7, PrioNew)
	for range outageWeight - 1 {
		tr.Failed(u, "refused", Refused)
	}
	if tr.IsDown(u) {
		t.Error("down too soon")
	}
	tr.Failed(u, "refused at last", Refused)
	tr.Failed(u, "too late to be the reason", Refused)
	if reason, entry, down := tr.Down(u); reason != "refused at last" || !entry || !down {
		t.Error(reason, entry, down)
	}
	if tr.IsDown(other) || tr.IsLeft(u) {
		t.Error("another port or the host is down")
	}
	if h, ok := front.next(time.Now); h.id != 7 || h.turn || !ok {
		t.Errorf("%d, turn %v, %v: the origin was not freed", h.id, h.turn, ok)
	}
	const left = "[{http://h:8080 refused at last false 0001-01-01 00:00:00 +0000 UTC}]"
	if got := fmt.Sprint(tr.LeftEntries(), tr.DownEntries(), told); got != left+" [http://h:8080] "+left {
		t.Error(got)
	}
}

// A host that asks for too long waits is left with all its origins, and is not one that needs a replica.
func TestTroublesLeaveHost(t *testing.T) {
	tr, _ := newTroubles()
	u := site.Canonical("https://h/a")
	tr.AddEntry(u)
	tr.LeaveHost(u, "Crawl-delay", time.Unix(77, 0), false)
	if other := site.Canonical("http://h:81/"); !tr.IsDown(other) || !tr.IsLeft(other) || !tr.IsSlow(other) {
		t.Error("another origin of the host is not left")
	}
	if left := tr.LeftEntries(); len(left) != 1 || !left[0].Slow || left[0].Name != "h" ||
		len(tr.DownEntries()) != 0 || tr.WaitUntil().Unix() != 77 {
		t.Error(left, tr.DownEntries())
	}
}

// The wait of one URL is its own; that of several in a row is the host's, and of more when it is longer than
// the job waits.
func TestTroublesWaited(t *testing.T) {
	u := site.Canonical("http://h/a")
	for _, c := range []struct {
		after time.Duration
		least int
	}{{time.Second, waitsShort}, {time.Hour, waitsLong}} {
		tr, _ := newTroubles()
		res := answered(429, c.after)
		for i := range c.least {
			want := time.Duration(0)
			if i+1 == c.least {
				want = c.after
			}
			for range 2 { // the same URL twice counts once
				if got := tr.Waited(u, uint32(i), res); got != want {
					t.Errorf("%v after %d URLs: %v, want %v", c.after, i+1, got, want)
				}
			}
		}
		tr.Answered(u)
		if got := tr.Waited(u, 99, res); got != 0 {
			t.Errorf("%v after an answer", got)
		}
	}
}

// A URL of a host that limits its requests gets turns as long as waiting helps.
func TestTroublesWaitsAgain(t *testing.T) {
	tr, _ := newTroubles()
	page := func(i int) site.URL { return site.Canonical(fmt.Sprintf("http://h/%d", i)) }
	turns := func(u site.URL) (n int) {
		for n < 20 && tr.WaitsAgain(u, 0) {
			n++
		}
		return n
	}
	if n := turns(page(0)); n != 0 {
		t.Errorf("%d turns of a URL that asks to wait by itself", n)
	}
	for i := range uint32(waitsShort) {
		tr.Waited(page(0), i, answered(429, time.Second))
	}
	if n := turns(page(1)); n != 2 {
		t.Errorf("%d turns of a URL that only waits", n)
	}
	if tr.WaitsAgain(page(3), 500) {
		t.Error("a turn of a URL that fails beside those that wait")
	}
	tr.WaitsAgain(page(2), 0)
	for i := range 5 {
		other := page(100 + i)
		tr.WaitsAgain(other, 0)
		tr.Answered(other)
		if !tr.WaitsAgain(page(2), 0) {
			t.Errorf("no turn after %d waits that ended with an answer", i+1)
		}
	}
	for i := range 20 {
		tr.WaitsAgain(page(200+i), 0)
		tr.WaitsAgain(page(200+i), 0)
	}
	if tr.WaitsAgain(page(300), 0); tr.WaitsAgain(page(300), 0) {
		t.Error("a turn although 20 waits ended with another one")
	}
}

// A port that never answered says nothing of a host that answers at another one.
func TestTroublesObserve(t *testing.T) {
	tr, _ := newTroubles()
	dead, well := site.Canonical("http://h:1/"), site.Canonical("http://h/")
	none := &fetch.Result{}
	if o := tr.Observe(dead, 1, false, none, errSilent); o.Err == nil {
		t.Error("the host may be down, and its politeness is not told")
	}
	tr.Answered(well)
	if o := tr.Observe(dead, 1, false, none, errSilent); o.Err != nil {
		t.Error(o.Err)
	}
	if o := tr.Observe(well, 2, false, answered(503, time.Hour), nil); o.RetryAfter != 0 {
		t.Errorf("the wait of one URL became the host's: %v", o.RetryAfter)
	}
}

// Origins without an answer cost their own URLs, unless an entry point lies there.
func TestTroublesSilentOrigins(t *testing.T) {
	tr, _ := newTroubles()
	entry, well, silent := site.Canonical("http://e/"), site.Canonical("http://w/"), site.Canonical("http://s/")
	tr.AddEntry(entry)
	for _, u := range []site.URL{entry, well, silent, silent} {
		tr.Lose(u, true)
	}
	tr.Lose(silent, false)
	tr.Answered(well)
	if got := fmt.Sprint(tr.SilentOrigins()); got != "map[http://s:2]" {
		t.Error(got)
	}
	if !tr.IsEntry(entry) || tr.IsEntry(silent) {
		t.Error("entry points")
	}
}

func TestOrigins(t *testing.T) {
	u := site.Canonical("http://h/a")
	o := NewOrigins(true)
	if rules, known := o.Rules(u); rules != nil || known || o.Forbids(u) {
		t.Error("known before they were learned")
	}
	if first := o.Learn(u, &fetch.Robots{Status: 503}); !first || o.Forbids(u) {
		t.Error("silent rules forbid for good", first)
	}
	if first := o.Learn(u, nil); first {
		t.Error("learned twice for the first time")
	}
	if _, known := NewOrigins(false).Rules(u); !known {
		t.Error("rules that are not obeyed are not known")
	}
}
