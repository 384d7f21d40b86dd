// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"fmt"
	"testing"

	"mirrord/fetch"
	"mirrord/site"
)

// What may be trouble of single URLs is confirmed by a URL that is known to answer.
func TestOutageWitness(t *testing.T) {
	page, home := site.Canonical("http://h/a"), site.Canonical("http://h/")
	for _, symptom := range []Symptom{BadAnswer, Broken, Silent} {
		tr, _ := newTroubles()
		tr.AddEntry(home)
		tr.Answered(home)
		fail := func() (asked int) {
			for asked = 1; asked < 10; asked++ {
				tr.Failed(page, "bad", symptom)
				if w, ok := tr.Witness(page); ok {
					if w != home {
						t.Errorf("the witness is %s", w)
					}
					break
				}
			}
			if tr.IsDown(page) {
				t.Errorf("%d: down without a witness", symptom)
			}
			return asked
		}
		if n := fail(); n > 3 {
			t.Errorf("%d: %d failures before the witness", symptom, n)
		}
		if _, ok := tr.Witness(page); ok {
			t.Error("two witnesses at a time")
		}
		tr.Answered(home)
		fail()
		tr.WitnessFailed(home, "bad", symptom)
		if !tr.IsDown(page) {
			t.Errorf("%d: not down although the witness failed", symptom)
		}
	}
}

// Connection refused, or an untrusted certificate: no witness is needed.
func TestOutageAtOnce(t *testing.T) {
	u := site.Canonical("http://h/")
	for _, c := range []struct {
		symptom Symptom
		heard   bool
		want    int
	}{
		{Refused, false, 4},
		{Refused, true, 4},
		{Unreachable, false, 1},
		{Unreachable, true, 2},
		{Silent, false, 2},
	} {
		tr, _ := newTroubles()
		tr.AddEntry(u)
		if c.heard {
			tr.Answered(u)
		}
		n := 0
		for ; n < 10 && !tr.IsDown(u); n++ {
			tr.Failed(u, "down", c.symptom)
		}
		if n != c.want {
			t.Errorf("%v: down after %d failures", c, n)
		}
	}
}

// Many answers 429 are those of a section while a URL that is known to answer does; else the host takes no
// more requests. Those that were under way together decide nothing.
func TestOutageBusy(t *testing.T) {
	page, home := site.Canonical("http://h/a"), site.Canonical("http://h/")
	for _, well := range []bool{true, false} {
		tr, _ := newTroubles()
		tr.AddEntry(home)
		tr.Answered(home)
		for range 2 * mostBusy {
			tr.Failed(page, "status 429", Busy)
		}
		w, ok := tr.Witness(page)
		if !ok || w != home || tr.IsDown(page) {
			t.Fatalf("witness %v %v, down %v", w, ok, tr.IsDown(page))
		}
		if well {
			tr.Answered(w)
		} else {
			tr.WitnessFailed(w, "status 429", Busy)
		}
		if tr.IsDown(page) == well || tr.IsSlow(page) == well {
			t.Errorf("the witness answers %v, the host is down: %v", well, tr.IsDown(page))
		}
	}
	tr, _ := newTroubles()
	for range mostBusy {
		tr.Failed(page, "status 429", Busy)
	}
	if !tr.IsSlow(page) {
		t.Error("a host that answers nothing else is not left")
	}
}

// Refusals are those of a part while a URL that the origin gave comes. Each time that is so twice as many are
// needed to ask again.
func TestOutageRefusals(t *testing.T) {
	page, home := site.Canonical("http://h/a"), site.Canonical("http://h/")
	tr, _ := newTroubles()
	tr.AddEntry(home)
	tr.Known = func(string, []site.URL) (site.URL, bool) { return home, true }
	tr.Answered(site.Canonical("http://h/other")) // which the mirror may not have
	refuse := func() (n int) {
		for n = 1; n < 100; n++ {
			tr.Failed(page, "status 403", Refusal)
			if w, ok := tr.Witness(page); ok {
				if w != home || tr.IsDown(page) {
					t.Fatalf("the witness is %v; down: %v", w, tr.IsDown(page))
				}
				break
			}
		}
		return n
	}
	for _, want := range []int{7, 13, 25} {
		if n := refuse(); n != want {
			t.Errorf("a URL that is known to answer is requested after %d refusals, want %d", n, want)
		}
		tr.Answered(home)
	}
	refuse()
	tr.WitnessFailed(home, "status 403", Refusal)
	if !tr.IsDown(page) || !tr.IsSlow(page) || len(tr.DownEntries()) > 0 || len(tr.LeftEntries()) != 1 {
		t.Errorf("down %v, slow %v, %v", tr.IsDown(page), tr.IsSlow(page), tr.LeftEntries())
	}
	tr, _ = newTroubles() // nothing is known to answer
	for range mostRefusals {
		tr.Failed(page, "status 403", Refusal)
	}
	if !tr.IsSlow(page) {
		t.Error("an origin that gives nothing is not left")
	}
}

// An origin of which every second request fails, in a regular way or by chance, is not down.
func TestOutageFlaky(t *testing.T) {
	wrong := 0
	for seed := range uint32(300) {
		tr, _ := newTroubles()
		u := site.Canonical("http://h/")
		tr.AddEntry(u)
		tr.Answered(u)
		for range 200 {
			seed = seed*1664525 + 1013904223
			_, asked := tr.Witness(u)
			switch {
			case seed>>31 == 0:
				tr.Answered(u)
			case asked:
				tr.WitnessFailed(u, "bad", BadAnswer)
			default:
				tr.Failed(u, "bad", BadAnswer)
			}
		}
		if tr.IsDown(u) {
			wrong++
		}
	}
	if wrong > 60 {
		t.Errorf("%d of 300 origins that fail by chance were found down", wrong)
	}
	tr, _ := newTroubles()
	u := site.Canonical("http://h/")
	for range 100 {
		tr.Failed(u, "bad", BadAnswer)
		tr.Answered(u)
	}
	if tr.IsDown(u) {
		t.Error("an origin of which every second request fails is down")
	}
}

func TestSymptomOf(t *testing.T) {
	u := site.Canonical("http://h/")
	for _, c := range []struct {
		err  error
		want string
	}{
		{&fetch.Error{URL: u, Class: fetch.ErrRefused}, "3 true"},
		{&fetch.Error{URL: u, Class: fetch.ErrTLS}, "3 true"},
		{&fetch.Error{URL: u, Class: fetch.ErrDNS}, "3 true"},
		{&fetch.Error{URL: u, Class: fetch.ErrTimeout}, "4 true"},
		{fetch.Unanswered(u, 1), "2 true"},
		{&fetch.Error{URL: u, Class: fetch.ErrReset}, "1 true"},
		{&fetch.Error{URL: u, Class: fetch.ErrTooLarge}, "0 false"},
		{nil, "0 false"},
	} {
		s, ok := SymptomOf(c.err)
		if got := fmt.Sprint(uint8(s), ok); got != c.want {
			t.Errorf("%v: %s, want %s", c.err, got, c.want)
		}
	}
}
