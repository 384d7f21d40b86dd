// SPDX-License-Identifier: Apache-2.0

package console

import (
	"cmp"
	"html/template"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"mirrord/app/daemon"
	"mirrord/job"
	"mirrord/scheduler/status"
)

// perPage is how many mirrors a page of the list has.
const perPage = 100

// listed is a mirror in the list.
type listed struct {
	*status.Job
	Kind  kind
	Note  string // what its state says beyond that
	Title string
	Host  string // of its site; "" before the first version
	At    string // where it is served; ""
	Page  bool   // it has one: that of a file whose name cannot name a job has none
	Strip template.HTML
	Fails time.Time // since when its runs fail; zero: they do not
}

// stateCount is a state that the list can be narrowed to, with how many jobs are in it.
type stateCount struct {
	Key, Word string
	N         int
}

// concern is a state that needs an operator, with the mirrors that are in it.
type concern struct {
	Kind  kind
	First *listed
	What  string   // the reason of the only one, or of the first
	Soft  string   // what readers see meanwhile
	More  []listed // the others that are named
	Rest  int      // how many more there are
}

// mirrors is what the list shows.
type mirrors struct {
	Daemon      status.Daemon
	All         int       // jobs
	Running     int       // of them
	Changed     time.Time // when a version was last published
	Picked      string    // "": not all rows are selected
	Bytes, Disk int64     // of all published versions; of all that is stored
	States      []stateCount
	Concerns    []concern
	Rows        []listed
	Page, Pages int
	From, Until int   // which of the rows, from 1
	Found       int   // jobs that the search and the state leave
	Most        int64 // size or disk usage of one of the rows: it fills a bar
	Q, By, In   string
}

// badness orders states; those that need an operator come first.
func badness(j *status.Job) int {
	key := kindOf(j).Key
	return slices.IndexFunc(kinds(), func(k kind) bool { return k.Key == key })
}

// sorts are the orders of the list: by a column, each in the direction that is asked for most.
func sorts() map[string]func(x, y *status.Job) int {
	seconds := func(t *time.Time, never int64) int64 {
		if t == nil {
			return never
		}
		return t.Unix()
	}
	return map[string]func(x, y *status.Job) int{
		"name":  func(x, y *status.Job) int { return strings.Compare(x.Name, y.Name) },
		"state": func(x, y *status.Job) int { return cmp.Compare(badness(x), badness(y)) },
		"checked": func(x, y *status.Job) int {
			return cmp.Compare(seconds(x.Verified, 0), seconds(y.Verified, 0))
		},
		"files": func(x, y *status.Job) int { return cmp.Compare(y.Files, x.Files) },
		"size":  func(x, y *status.Job) int { return cmp.Compare(y.Bytes, x.Bytes) },
		"disk":  func(x, y *status.Job) int { return cmp.Compare(diskOf(y), diskOf(x)) },
		"next": func(x, y *status.Job) int {
			return cmp.Compare(seconds(x.Next, math.MaxInt64), seconds(y.Next, math.MaxInt64))
		},
	}
}

// diskOf is what a mirror takes on the disk, as far as that is known.
func diskOf(j *status.Job) int64 {
	if j.Disk == nil {
		return 0
	}
	return j.Disk.Total
}

// sortJobs orders jobs by a column; "-" before it turns the order round. Jobs that are equal stay by name.
func sortJobs(jobs []status.Job, by string) {
	key, turned := strings.CutPrefix(by, "-")
	compare := sorts()[key]
	slices.SortStableFunc(jobs, func(x, y status.Job) int {
		if turned {
			return compare(&y, &x)
		}
		return compare(&x, &y)
	})
}

// listPage lists the mirrors: those that need an operator first for operators, else by name.
func listPage(v *visit) error {
	all := v.fresh.get()
	m := mirrors{
		Daemon: all.Daemon,
		All:    len(all.Jobs),
		Q:      strings.TrimSpace(v.r.FormValue("q")),
		By:     v.r.FormValue("by"),
		In:     v.r.FormValue("state"),
		Picked: v.r.FormValue("all"),
	}
	if sorts()[strings.TrimPrefix(m.By, "-")] == nil {
		if m.By = "name"; v.who.Operates() {
			m.By = "state"
		}
	}
	for i := range all.Jobs {
		j := &all.Jobs[i]
		m.Bytes += j.Bytes
		m.Disk += diskOf(j)
		if busy(j) {
			m.Running++
		}
		if at := j.Published; at != nil && at.After(m.Changed) {
			m.Changed = *at
		}
	}
	m.States = statesOf(all.Jobs)
	sortJobs(all.Jobs, "state")
	m.Concerns = v.concerns(all.Jobs)
	jobs := within(all.Jobs, m.In)
	if m.Q != "" {
		jobs = v.named(jobs, m.Q)
	}
	sortJobs(jobs, "name")
	sortJobs(jobs, m.By)
	m.Found = len(jobs)
	m.Pages = max(1, (m.Found+perPage-1)/perPage)
	page, _ := strconv.Atoi(v.r.FormValue("page"))
	m.Page = min(max(page, 1), m.Pages)
	m.From, m.Until = (m.Page-1)*perPage, min(m.Page*perPage, m.Found)
	m.Rows = v.listed(jobs[m.From:m.Until])
	m.Most = 1
	for i := range m.Rows {
		m.Most = max(m.Most, m.Rows[i].Bytes, diskOf(m.Rows[i].Job))
	}
	return v.show("list.html", "Mirrors", m)
}

// listed are jobs with what their mirrors say of themselves.
func (v *visit) listed(jobs []status.Job) (out []listed) {
	titles, strips := v.fresh.titles(jobs), v.fresh.strips(jobs)
	for i := range jobs {
		j := &jobs[i]
		l := listed{
			Job:   j,
			Kind:  kindOf(j),
			Note:  noteOf(j),
			Title: titles[j.Name].Title,
			At:    v.served(j.Name, titles),
			Page:  job.ValidName(j.Name),
			Strip: strips[j.Name].drawn,
			Fails: strips[j.Name].fails,
		}
		if at, err := url.Parse(titles[j.Name].Primary); err == nil {
			l.Host = at.Host
		}
		out = append(out, l)
	}
	return out
}

// Named is how people call the mirror.
func (l *listed) Named() string { return cmp.Or(l.Title, l.Name) }

// To is the list with other values of its address.
func (m mirrors) To(by, in string, page int) string {
	q := url.Values{}
	for key, value := range map[string]string{"by": by, "state": in, "q": m.Q} {
		if value != "" {
			q.Set(key, value)
		}
	}
	if page > 1 {
		q.Set("page", strconv.Itoa(page))
	}
	if len(q) == 0 {
		return "/"
	}
	return "/?" + q.Encode()
}

// Columns are the headings, with the keys of those that the list is sorted by.
func (mirrors) Columns() [][2]string {
	return [][2]string{{"name", "Mirror"}, {"state", "State"}, {"", "Last 30 runs"}, {"checked", "Last checked"},
		{"files", "Files"}, {"size", "Size"}, {"disk", "Disk usage"}, {"next", "Next run"}}
}

// needs is the state of all that an operator has to decide.
const needs = "needs"

// statesOf are the states in which there are jobs.
func statesOf(jobs []status.Job) (out []stateCount) {
	n := map[string]int{}
	for i := range jobs {
		k := kindOf(&jobs[i])
		n[k.Key]++
		if k.Needs() {
			n[needs]++
		}
	}
	for _, k := range append([]kind{{Key: needs, Word: "Needs you"}}, kinds()...) {
		if n[k.Key] > 0 {
			out = append(out, stateCount{k.Key, k.Word, n[k.Key]})
		}
	}
	return out
}

// within are the jobs in a state; all when there is no such state.
func within(jobs []status.Job, in string) []status.Job {
	isState := func(k kind) bool { return k.Key == in }
	if in != needs && !slices.ContainsFunc(kinds(), isState) {
		return jobs
	}
	return slices.DeleteFunc(slices.Clone(jobs), func(j status.Job) bool {
		k := kindOf(&j)
		return k.Key != in && (in != needs || !k.Needs())
	})
}

// Limits of what the list shows of the states that need an operator.
const (
	mostConcerns = 5
	mostNamed    = 4 // mirrors in each
)

// concerns are the states that need an operator, for operators. jobs are sorted by state.
func (v *visit) concerns(jobs []status.Job) (out []concern) {
	if !v.who.Operates() {
		return nil
	}
	for len(jobs) > 0 && len(out) < mostConcerns {
		k := kindOf(&jobs[0])
		n := 1
		for n < len(jobs) && kindOf(&jobs[n]).Key == k.Key {
			n++
		}
		if !k.Needs() {
			break
		}
		named := v.listed(jobs[:min(n, mostNamed)])
		first := &named[0]
		c := concern{
			Kind:  k,
			First: first,
			More:  named[1:],
			Rest:  n - len(named),
			Soft:  readersSee(first.Job, v.Now()),
		}
		if why := slices.Concat(first.Problems, first.Reasons); len(why) > 0 {
			c.What = why[0]
		}
		out = append(out, c)
		jobs = jobs[n:]
	}
	return out
}

// readersSee says which version readers see while a mirror waits for an operator.
func readersSee(j *status.Job, now time.Time) string {
	if j.Version == 0 {
		return "Readers see nothing yet."
	}
	says := "Readers see version " + strconv.Itoa(j.Version)
	if j.Published != nil {
		says += ", published " + ago(now, *j.Published)
	}
	return says + "."
}

// named are the jobs with a text in their names, titles or addresses.
func (v *visit) named(jobs []status.Job, text string) (out []status.Job) {
	text = strings.ToLower(text)
	titles := v.fresh.titles(jobs)
	for _, j := range jobs {
		t := titles[j.Name]
		if strings.Contains(strings.ToLower(j.Name+"\n"+t.Title+"\n"+t.Primary), text) {
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
