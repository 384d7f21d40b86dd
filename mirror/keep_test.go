package mirror_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"mirrord/internal/mirrortest"
	"mirrord/mirror"
	"mirrord/site"
	"mirrord/store"
)

// answers is a page that answers one status after the other, and the last one for ever.
func answers(status ...int) mirrortest.Page {
	var mu sync.Mutex
	return mirrortest.Page{Handle: func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		code := status[0]
		if len(status) > 1 {
			status = status[1:]
		}
		w.WriteHeader(code)
	}}
}

// A page leaves after two answers that it is gone; a failure before or between them is no such answer.
func TestGoneNeedsTwoAnswers(t *testing.T) {
	for _, c := range []struct {
		status []int
		stays  bool
	}{
		{[]int{404, 404}, false}, {[]int{410}, false},
		{[]int{503, 404, 503}, true}, {[]int{404, 503}, true}, {[]int{503, 404, 200}, true},
		{[]int{503, 404, 404}, false}, {[]int{404, 503, 404}, false},
	} {
		t.Run(fmt.Sprint(c.status), func(t *testing.T) {
			w := mirrortest.Start(t)
			hub(w, 12)
			m := mirrortest.New(t, w, job())
			wantVerdict(t, m.Run(), mirror.Complete, true)
			w.Set(home+"/page05.html", answers(c.status...))
			s := m.Run()
			if _, there := m.Tree()["page05.html"]; there != c.stays {
				t.Errorf("in the mirror: %v, want %v\n%s", there, c.stays, mirrortest.Text(s))
			}
		})
	}
}

// A redirect that leads nowhere is a failure, and a failed page keeps its last good copy.
func TestBrokenRedirectKeepsThePage(t *testing.T) {
	for name, location := range map[string]string{"no Location": "", "no URL": "http://[::bad/"} {
		t.Run(name, func(t *testing.T) {
			w := mirrortest.Start(t)
			hub(w, 12)
			m := mirrortest.New(t, w, job())
			wantVerdict(t, m.Run(), mirror.Complete, true)
			before := m.Tree()["page05.html"]
			p := mirrortest.Page{Status: http.StatusFound, Header: map[string]string{}}
			if location != "" {
				p.Header["Location"] = location
			}
			w.Set(home+"/page05.html", p)
			s := m.Run()
			if got := m.Tree()["page05.html"]; got != before {
				t.Errorf("page05.html is %q, was %q\n%s", got, before, mirrortest.Text(s))
			}
			wantText(t, s, "failed", "page05.html")
		})
	}
}

// The share of failures is that of the whole run: when a run that was interrupted goes on, the few URLs that failed are asked again, and the
// many that did not are not.
func TestFailuresOfAResumedRun(t *testing.T) {
	w := mirrortest.Start(t)
	hub(w, 90)
	for i := range 5 {
		w.Set(fmt.Sprintf("%s/page%02d.html", home, i), mirrortest.Status(500))
	}
	m := mirrortest.New(t, w, job("limits.max_failures = 0.1", "polite.connections = 1"))
	s := interrupted(t, m, w, func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/page88.html") })
	if s.Verdict != mirror.Partial {
		t.Fatalf("the interrupted run is %v", s.Verdict)
	}
	s = m.Run()
	if !s.Resumed {
		t.Fatal("the second run did not go on with the first")
	}
	wantVerdict(t, s, mirror.Complete, true)
}

// What was written of a run that publishing found to be suspicious does not say that it was complete.
func TestObservationOfARunThatMayNotBePublished(t *testing.T) {
	w := mirrortest.Start(t)
	hub(w, 40)
	m := mirrortest.New(t, w, job())
	wantVerdict(t, m.Run(), mirror.Complete, true)
	for i := range 20 {
		w.Remove(fmt.Sprintf("%s/page%02d.html", home, i))
	}
	wantVerdict(t, m.Run(), mirror.Suspicious, false)
	o := observations(t, m)
	if last := o[len(o)-1]; last.Complete {
		t.Errorf("run %d dropped half of the site, was not published, and is said to be complete", last.Run)
	}
}

// A record with a number that no URL has is damage, and no panic.
func TestRecordWithAWrongNumber(t *testing.T) {
	for name, rec := range map[string]store.Resource{
		"its own":    {ID: 1 << 20, Outcome: site.Gone},
		"target":     {Outcome: site.Redirected, Target: 1 << 20},
		"referrer's": {Outcome: site.Gone, Referrer: 1 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			w := mirrortest.Start(t)
			hub(w, 3)
			m := mirrortest.New(t, w, job())
			wantVerdict(t, m.Run(), mirror.Complete, true)
			u, _, err := site.Parse(home + "/odd.html")
			if err != nil {
				t.Fatal(err)
			}
			st, err := store.OpenState(m.Dir, store.Options{})
			if err != nil {
				t.Fatal(err)
			}
			s, err := st.OpenSite("test")
			if err != nil {
				t.Fatal(err)
			}
			known, err := s.Known()
			if err != nil {
				t.Fatal(err)
			}
			rec.URL = u
			err = s.Commit(known, nil, []*store.Done{{Resource: rec}})
			if err := errors.Join(err, s.Close(), st.Close()); err != nil {
				t.Fatal(err)
			}
			m.Damaged = true
			if _, err := m.RunWith(t.Context(), func(*mirror.Options) {}); !errors.Is(err, store.ErrDamaged) {
				t.Errorf("error %v", err)
			}
		})
	}
}
