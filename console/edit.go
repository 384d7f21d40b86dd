// SPDX-License-Identifier: Apache-2.0

package console

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"mirrord/app/env"
	"mirrord/app/jobs"
	"mirrord/job"
	"mirrord/scheduler/control"
	"mirrord/scheduler/status"
	"mirrord/site"
)

// editData is what the editor shows.
type editData struct {
	Job, File, Text, Tag string
	Checked              *jobs.EditedJob // nil before it was looked at
	Bad                  []badLine
	Fields               []formField // none when the text is no TOML
}

// badLine is a line of the text with its problem.
type badLine struct {
	jobs.JobFileError
	Text string
	Help string // the place in the page about keys
}

// editPage shows a job file in an editor.
func editPage(v *visit) error {
	t, err := jobs.ReadJobText(v.App, v.job)
	if err != nil {
		return err
	}
	v.w.Header().Set("ETag", `"`+t.Tag+`"`)
	d := editData{
		Job:  v.job,
		File: t.File,
		Text: string(t.Text),
		Tag:  t.Tag,
	}
	if dir := v.r.FormValue("never"); dir != "" { // a directory that is never to be skipped
		d.Text += fmt.Sprintf("\n[[priority]]\nmatch = [%q]\n", "/"+site.QuoteGlob(dir)+"/**")
		d.Checked, err = jobs.CheckEdit(v.App, jobs.JobEdit{Job: v.job, Text: []byte(d.Text), Tag: t.Tag})
		if err != nil {
			return err
		}
		d.Bad = badLines(d.Text, d.Checked.Errors)
	}
	return v.edit(http.StatusOK, d)
}

func (v *visit) edit(code int, d editData) error {
	d.Fields = formFields(d.Text)
	return v.draw(code, "edit.html", "Job file of "+v.job, d)
}

// editJob checks a new text and shows what it changes, or saves it. What cannot be saved is shown again, with
// the reason: no text is lost.
func editJob(v *visit) error {
	e := jobs.JobEdit{Job: v.job, Text: []byte(v.r.PostFormValue("text")), Tag: v.r.PostFormValue("tag")}
	if v.r.PostFormValue("do") == "save" {
		err := v.SaveJob(e)
		if !errors.Is(err, jobs.ErrJobMoved) && !isUsage(err) {
			return v.saved(err)
		}
		v.audit(v.r, v.who, act{what: v.op.Act(), job: v.job}, err)
	}
	text, unset := formed(string(e.Text), v.r.PostForm)
	e.Text = []byte(text)
	c, err := jobs.CheckEdit(v.App, e)
	if err != nil {
		return err
	}
	if unset != nil && len(c.Errors) == 0 {
		c.Errors = append(c.Errors, jobs.JobFileError{Message: unset.Error()})
	}
	d := editData{
		Job:     v.job,
		File:    c.Now.File,
		Text:    string(e.Text),
		Tag:     c.Now.Tag,
		Checked: c,
		Bad:     badLines(string(e.Text), c.Errors),
	}
	code := http.StatusOK
	switch {
	case len(c.Errors) > 0:
		code = http.StatusUnprocessableEntity
	case c.Moved:
		code = http.StatusConflict
	}
	return v.edit(code, d)
}

// saved puts the file in force and redirects to the job.
func (v *visit) saved(err error) error {
	to := jobPath(v.job, "")
	if err == nil {
		re, rerr := v.Daemon.Reload()
		refused := func(ch status.Change) bool { return ch.Job == v.job }
		if rerr != nil || slices.ContainsFunc(re.Refused, refused) {
			to += "?said=refused"
		}
	}
	return v.done(act{}, err, to)
}

// badLines are the lines at which something is wrong.
func badLines(text string, all []jobs.JobFileError) (out []badLine) {
	lines := strings.Split(text, "\n")
	for _, e := range all {
		b := badLine{JobFileError: e, Help: "keys"}
		if slices.ContainsFunc(job.Keys(), func(k job.Key) bool { return k.Name == e.Key }) {
			b.Help = e.Key
		}
		if e.Line > 0 && e.Line <= len(lines) {
			b.Text = strings.TrimRight(lines[e.Line-1], "\r")
		}
		out = append(out, b)
	}
	return out
}

// newMirror is what the form of a new mirror shows.
type newMirror struct {
	URL, Name, Every string
	Problem          string
	Schedules        [][2]string
	Dir              string   // of the job files
	Preview          *preview // of this address; nil: none was begun
	Here             []string // mirrors of its host
}

// Link is the address of the form with what was typed.
func (m newMirror) Link() string {
	q := url.Values{"url": {m.URL}, "name": {m.Name}, "every": {m.Every}}
	return "/new?" + q.Encode()
}

// newPage is the form of a new mirror, filled in with an address.
func newPage(v *visit) error {
	m := newMirror{URL: v.r.FormValue("url"), Name: v.r.FormValue("name"), Every: "@weekly"}
	if v.r.Form.Has("every") {
		m.Every = v.r.FormValue("every")
	}
	return newForm(v, http.StatusOK, m)
}

func newForm(v *visit, code int, m newMirror) error {
	if v.App == nil {
		return errNoPage
	}
	m.Dir, m.Preview = jobs.NewJobDir(v.App), v.previews.at(v.who.Name, m.URL)
	if p := m.Preview; p != nil && p.Look != nil {
		for name, t := range v.fresh.titles(v.fresh.get().Jobs) {
			if u, _, err := site.Parse(p.Look.URL); err == nil && u.Origin() == t.Primary {
				m.Here = append(m.Here, name)
			}
		}
		slices.Sort(m.Here)
	}
	m.Schedules = slices.Concat(schedules()[1:], [][2]string{{"", "only when I run it"}})
	return v.draw(code, "new.html", "New mirror", m)
}

// makeMirror writes the job file of a new mirror, whose first run begins.
func makeMirror(v *visit) error {
	if v.App == nil {
		return errNoPage
	}
	m := newMirror{
		URL:   strings.TrimSpace(v.r.PostFormValue("url")),
		Name:  strings.TrimSpace(v.r.PostFormValue("name")),
		Every: v.r.PostFormValue("every"),
	}
	if m.URL != "" && !strings.Contains(m.URL, "://") {
		m.URL = "https://" + m.URL
	}
	want := jobs.InitRequest{URL: m.URL, Job: m.Name, Schedule: m.Every}
	do := v.r.PostFormValue("do")
	if do == "preview" {
		return previewMirror(v, m, want)
	}
	want.Paused = m.Every != "" && do == "save"
	made, bad, err := jobs.CreateJob(v.App, want, nil)
	if m.Problem = formProblem(bad, err); m.Problem != "" {
		v.audit(v.r, v.who, act{what: v.op.Act(), about: m.URL}, errors.New(m.Problem))
		return newForm(v, http.StatusUnprocessableEntity, m)
	}
	v.job = made.Job
	if _, err := v.Daemon.Reload(); err != nil {
		v.Log.Warn("the jobs were not read after a change", "err", err)
	}
	if m.Every == "" && do != "save" {
		_, _, err = v.Daemon.Run(v.job, control.RunRequest{})
	}
	return v.done(act{about: m.URL}, err, jobPath(v.job, ""))
}

// previewMirror begins a preview of the mirror that a form describes, and returns to the form.
func previewMirror(v *visit, m newMirror, want jobs.InitRequest) error {
	j, bad, err := jobs.PlannedJob(v.App, want)
	if m.Problem = formProblem(bad, err); m.Problem != "" {
		return newForm(v, http.StatusUnprocessableEntity, m)
	}
	v.previews.begin(v.live.end, v.App, v.who.Name, j)
	v.audit(v.r, v.who, act{what: "preview a mirror", about: m.URL}, nil)
	m.URL = j.Seeds()[0].String()
	http.Redirect(v.w, v.r, m.Link()+"#preview", http.StatusSeeOther)
	return nil
}

// formProblem is the first problem of the job that a form describes; "" without one.
func formProblem(bad []jobs.JobFileError, err error) string {
	switch {
	case len(bad) > 0:
		return cmp.Or(bad[0].Key, "job file") + ": " + strings.TrimSuffix(bad[0].Message+"; "+bad[0].Hint, "; ")
	case err != nil:
		return env.Remedied(err)
	}
	return ""
}
