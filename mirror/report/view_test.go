// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"strings"
	"testing"
	"time"

	"mirrord/mirror/report"
	"mirrord/site"
	"mirrord/store"
	"mirrord/store/record"
	"mirrord/testing/mirrortest"
)

// A view of a site that a run writes has what the run has committed: its journal says more than the records.
func TestViewHasTheJournal(t *testing.T) {
	w := mirrortest.Start(t)
	w.Set(home+"/", mirrortest.HTML("Hub", `<a href=a.html>a</a>`))
	w.Set(home+"/a.html", mirrortest.HTML("A", "text"))
	m := mirrortest.New(t, w, "url = \""+home+"/\"\n")
	m.Run()
	st, err := store.OpenState(m.Dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	run, err := st.OpenSite("test")
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	known, err := run.Records.Known()
	if err != nil {
		t.Fatal(err)
	}
	old, _, err := run.Records.Get(site.Canonical(home + "/a.html"))
	if err != nil {
		t.Fatal(err)
	}
	old.Outcome, old.Status, old.InSet, old.Run = site.Gone, 404, false, 2
	news := []record.NewURL{{URL: home + "/asked.html", Referrer: 1}, {URL: home + "/waits.html", Referrer: 1}}
	asked := record.Resource{
		ID:       known,
		URL:      site.Canonical(home + "/asked.html"),
		Outcome:  site.Failed,
		Status:   500,
		Run:      2,
		Referrer: 1,
	}
	if err := run.Records.Commit(known, news, []*record.Done{{Resource: old}, {Resource: asked}}); err != nil {
		t.Fatal(err)
	}
	view, err := st.ViewSite("test")
	if err != nil {
		t.Fatal(err)
	}
	defer view.Close()
	v, err := report.Load(m.Job, view, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"/":           "mirrored",
		"/a.html":     "gone",
		"/asked.html": "failed",
		"/waits.html": "waits to be asked",
	} {
		x, err := v.Explain(t.Context(), nil, home+path)
		if err != nil || !strings.Contains(x.Answer, want) {
			t.Errorf("%s: %+v, %v; want %q", path, x, err, want)
		}
		if path != "/" && (len(x.Found) == 0 || x.Found[0] != home+"/") {
			t.Errorf("%s was found in %q", path, x.Found)
		}
	}
	if rep, err := v.Plan(); err != nil || rep.Known == 0 {
		t.Errorf("%+v, %v", rep, err)
	}
}
