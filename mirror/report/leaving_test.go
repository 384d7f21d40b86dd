// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"fmt"
	"strings"
	"testing"

	"mirrord/mirror/report"
	"mirrord/store"
	"mirrord/testing/mirrortest"
)

// What a changed job leaves out is known before the run, and is what the run then removes.
func TestLeavingOf(t *testing.T) {
	w := mirrortest.Start(t)
	w.Set(home+"/", mirrortest.HTML("Hub", `<a href=old/>old</a> <a href=keep.html>keep</a>`))
	w.Set(home+"/keep.html", mirrortest.HTML("Keep", "text"))
	w.Set(home+"/note.html", mirrortest.HTML("Note", "text"))
	var links strings.Builder
	for i := range 5 {
		fmt.Fprintf(&links, "<a href=%d.html>%d</a> ", i, i)
		w.Set(fmt.Sprintf("%s/old/%d.html", home, i), mirrortest.HTML(fmt.Sprint(i), `<a href=/note.html>note</a>`))
	}
	w.Set(home+"/old/", mirrortest.HTML("Old", links.String()))
	m := mirrortest.New(t, w, "url = \""+home+"/\"\n")
	m.Run()
	leaving := func() (l report.Leaving) {
		t.Helper()
		m.Site(func(s *store.Site) {
			var err error
			if l, err = report.LeavingOf(m.Job, s); err != nil {
				t.Fatal(err)
			}
		})
		return l
	}
	if l := leaving(); l != (report.Leaving{}) || l.String() != "" {
		t.Errorf("the same rules: %+v", l)
	}
	m.Set("scope.exclude", `["/old/**"]`)
	l := leaving()
	said := strings.Contains(l.String(), "7 of 9 published files")
	if (l.Files != 9) || (l.Refused != 6) || (l.Unreached != 1) || !said {
		t.Errorf("new rules: %+v, %s", l, l)
	}
	if s := m.Run(); s.Removed != 7 {
		t.Error(mirrortest.Text(s))
	}
	if l := leaving(); l != (report.Leaving{}) {
		t.Errorf("after the run: %+v", l)
	}
}
