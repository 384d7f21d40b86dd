// SPDX-License-Identifier: Apache-2.0

package console

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"mirrord/app/daemon"
	"mirrord/app/look"
	"mirrord/job"
	"mirrord/scheduler/status"
)

// perPage is how many mirrors a page of the list has.
const perPage = 100

// listed is a mirror in the list.
type listed struct {
	*status.Job
	Title string
	At    string // where it is served; ""
	Page  bool   // it has one: that of a file whose name cannot name a job has none
}

// tally is how many jobs are in a state that needs an operator.
type tally struct {
	N    int
	What status.Health
}

// mirrors is what the list shows.
type mirrors struct {
	Daemon      status.Daemon
	All         int // jobs
	Counts      []tally
	Rows        []listed
	Page, Pages int
	Q, By       string
}

// badness orders healths; what package status does not know is worst.
func badness(h status.Health) int {
	i := slices.Index(status.Healths(), h)
	if i < 0 {
		return len(status.Healths())
	}
	return i
}

// The orders of the list.
const (
	byName  = "name"
	byWorst = "worst"
)

// listPage lists the mirrors: worst first for operators, else by name.
func listPage(v *visit) error {
	all := v.fresh.get()
	m := mirrors{
		Daemon: all.Daemon,
		All:    len(all.Jobs),
		Q:      strings.TrimSpace(v.r.FormValue("q")),
		By:     v.r.FormValue("by"),
	}
	if m.By != byName && m.By != byWorst {
		if m.By = byName; v.who.Operates() {
			m.By = byWorst
		}
	}
	m.Counts = tallied(all.Jobs)
	jobs := all.Jobs
	if m.Q != "" {
		jobs = v.named(jobs, m.Q)
	}
	if m.By == byWorst {
		slices.SortStableFunc(jobs, func(x, y status.Job) int {
			return cmp.Compare(badness(y.Health), badness(x.Health))
		})
	}
	m.Pages = max(1, (len(jobs)+perPage-1)/perPage)
	page, _ := strconv.Atoi(v.r.FormValue("page"))
	m.Page = min(max(page, 1), m.Pages)
	jobs = jobs[(m.Page-1)*perPage : min(m.Page*perPage, len(jobs))]
	titles := v.fresh.titles(jobs)
	for i := range jobs {
		j := &jobs[i]
		m.Rows = append(m.Rows, listed{
			Job:   j,
			Title: titles[j.Name].Title,
			At:    v.served(j.Name, titles),
			Page:  job.ValidName(j.Name),
		})
	}
	return v.draw(http.StatusOK, "list.html", "Mirrors", m)
}

// tallied are the states that need an operator, with how many jobs are in them.
func tallied(jobs []status.Job) (out []tally) {
	n := map[status.Health]int{}
	for i := range jobs {
		n[jobs[i].Health]++
	}
	for _, h := range append(status.Healths()[1:], look.Broken) {
		if n[h] > 0 {
			out = append(out, tally{n[h], h})
		}
	}
	return out
}

// named are the jobs with a text in their names or titles.
func (v *visit) named(jobs []status.Job, text string) (out []status.Job) {
	text = strings.ToLower(text)
	titles := v.fresh.titles(jobs)
	for _, j := range jobs {
		if strings.Contains(strings.ToLower(j.Name), text) ||
			strings.Contains(strings.ToLower(titles[j.Name].Title), text) {
			out = append(out, j)
		}
	}
	return out
}

// served is where readers find a mirror, "" when that is not known.
func (v *visit) served(name string, titles map[string]daemon.MirrorTitle) string {
	t, published := titles[name]
	if v.Mirrors == "" || !published {
		return ""
	}
	return v.Mirrors + "/" + name + "/" + escapePath(t.Entry)
}
