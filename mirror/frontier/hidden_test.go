// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"fmt"
	"testing"
	"time"

	"mirrord/mirror/urls"
	"mirrord/site"
)

var hiddenPage = Robots{NoIndex: true, NoFollow: true}

// besideListed has read as many pages that may be listed as it takes to leave others.
func besideListed(run int, table *urls.Table) *SessionIDs {
	s := NewSessionIDs(nil, run, table, true)
	for n := range alikePairs {
		s.ReadLeft(site.Canonical(fmt.Sprint("http://h/listed", n)), nil, Robots{})
	}
	return s
}

// What robots are neither to list nor to follow is left to the origin by its parameter or its namespace once
// eight are so, unless the mirror has others there.
func TestHidden(t *testing.T) {
	at := func(form string, n int) site.URL { return site.Canonical(fmt.Sprintf("http://h/"+form, n)) }
	for name, c := range map[string]struct {
		form, also string
		hidden     int
		want       bool
	}{
		"a verb":          {"p%d?do=info", "p%d", 8, true},
		"seven":           {"p%d?do=info", "p%d", 7, false},
		"any value":       {"p?do=info%d", "p%d", 8, true},
		"values":          {"p?do=info%d", "p?do=see%d", 8, false},
		"a namespace":     {"wiki/Special:S%d", "wiki/p%d", 8, true},
		"below it":        {"wiki/Special:Links/p%d", "wiki/p%d", 8, true},
		"one in a value":  {"wiki.php?n=Docs.D%d", "wiki.php?n=Main.p%d", 8, true},
		"part of a space": {"wiki/Talk:S%d", "wiki/Talk:p%d", 8, false},
		"a path":          {"old/p%d", "new/p%d", 20, false},
	} {
		t.Run(name, func(t *testing.T) {
			table := newTable()
			s := besideListed(1, table)
			if s.ReadLeft(at(c.also, 1), nil, Robots{}) != "" {
				t.Error("a page is left")
			}
			for n := range c.hidden {
				s.ReadLeft(at(c.form, n), nil, hiddenPage)
			}
			learned := s.Learned()
			for _, s := range []*SessionIDs{s, NewSessionIDs(learned, 2, table, true)} {
				left := 0
				for n := range 20 {
					if s.Leaves(at(c.form, 100+n)) == LeftHidden {
						left++
					}
				}
				if (left > 15) != c.want || (!c.want && left > 0) {
					t.Errorf("%d of 20 are left, want %t", left, c.want)
				}
			}
			s = NewSessionIDs(learned, 3, table, true)
			if s.ReadLeft(at(c.form, 100), nil, Robots{}); s.Leaves(at(c.form, 101)) != "" {
				t.Error("left after one that is not hidden")
			}
		})
	}
}

// Pages that are not to be listed are left by a parameter that names what to do once eight of them named
// nothing new; those that did stay, and so do further pages of a list.
func TestUnlisted(t *testing.T) {
	names := func(what bool) Robots {
		return Robots{NoIndex: true, NamesNew: func(string) bool { return what }}
	}
	for form, want := range map[string]bool{"http://h/?do=rc&n=%d": true, "http://h/list?page=%d": false} {
		s := besideListed(1, newTable())
		at := func(n int) site.URL { return site.Canonical(fmt.Sprintf(form, n)) }
		if s.ReadLeft(at(0), nil, names(true)) != "" {
			t.Error("a page that leads on is left")
		}
		for n := range 8 {
			s.ReadLeft(at(1+n), nil, names(false))
		}
		if left := s.Leaves(at(100)) != ""; left != want {
			t.Errorf("%s: left %v", form, left)
		}
		if s.Leaves(at(0)) != "" {
			t.Errorf("%s: what named new pages is left", form)
		}
		if s.ReadLeft(at(101), nil, names(true)); s.Leaves(at(102)) != "" {
			t.Errorf("%s: left after one that names something new", form)
		}
	}
}

// Few pages that name something new are remembered. Where there are more, nothing is left.
func TestUnlistedIsBounded(t *testing.T) {
	names := func(what bool) Robots {
		return Robots{NoIndex: true, NamesNew: func(string) bool { return what }}
	}
	at := func(n int) site.URL { return site.Canonical(fmt.Sprint("http://h/?do=rc&n=p", n)) }
	for _, leading := range []int{mostAlike, mostAlike + 1} {
		s := besideListed(1, newTable())
		for n := range leading {
			s.ReadLeft(at(n), nil, names(true))
		}
		for n := range alikePairs {
			s.ReadLeft(at(leading+n), nil, names(false))
		}
		if left := s.Leaves(at(leading+100)) != ""; left != (leading == mostAlike) {
			t.Errorf("after %d pages that name something new: left %t", leading, left)
		}
	}
}

// The table calls Leaves while it is locked, and SessionIDs asks the table under a lock of its own.
func TestLeavesTakesNoLock(t *testing.T) {
	u := site.Canonical("http://h/?do=info&id=n")
	s := besideListed(1, newTable())
	for n := range 8 {
		s.ReadLeft(site.Canonical(fmt.Sprint("http://h/?do=info&id=n", n)), nil, hiddenPage)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	done := make(chan string)
	go func() { done <- s.Leaves(u) }()
	select {
	case why := <-done:
		if why != LeftHidden {
			t.Errorf("left for %q", why)
		}
	case <-time.After(time.Minute):
		t.Error("waits for a lock")
	}
}

// In a later run, new pages of a kind of which the mirror has others stay, although none of these is read.
func TestHiddenBesideKept(t *testing.T) {
	old := site.Canonical("http://h/?id=old")
	s := besideListed(2, newTable(old))
	for n := range 20 {
		if s.ReadLeft(site.Canonical(fmt.Sprint("http://h/?id=new", n)), nil, hiddenPage) != "" {
			t.Fatal("a new page is left")
		}
	}
}
