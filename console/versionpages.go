// SPDX-License-Identifier: Apache-2.0

package console

import (
	"bytes"
	"errors"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"mirrord/app/access"
	"mirrord/app/env"
	"mirrord/app/look"
	"mirrord/phm/diff"
	"mirrord/store/record"
)

// versionRow is a version with its notes.
type versionRow struct {
	record.Version
	Note   string
	Before int // the version before it that is kept; 0 for the oldest
}

// versionsData is what the page of versions shows.
type versionsData struct {
	Job      string
	Current  int
	Versions []versionRow
}

// versionsPage lists the versions of a mirror, newest first.
func versionsPage(v *visit) error {
	vs, err := look.Versions(v.App, v.job)
	if err != nil {
		return err
	}
	d := versionsData{Job: v.job, Current: vs[len(vs)-1].Number}
	for i, x := range slices.Backward(vs) {
		row := versionRow{Version: x, Note: look.VersionNote(x, i == len(vs)-1)}
		if i > 0 {
			row.Before = vs[i-1].Number
		}
		d.Versions = append(d.Versions, row)
	}
	return v.show("versions.html", "Versions of "+v.job, d)
}

// diffShown is how many directories, and how many files, a page of differences lists.
const diffShown = 500

// diffData is what the page of differences shows.
type diffData struct {
	*look.Difference
	Current  int // the version that readers see
	Up       string
	Dirs     []*diff.Dir
	Files    []diff.FileChange
	MoreDirs int
	More     int
	Back     bool // B can be restored
	Words    bool // what pages say is compared, not their source
	Line     timeline
}

// Asked is the form that asks since when the newer page says something.
func (d diffData) Asked() asked { return asked{Job: d.Job, Path: d.Path, Version: d.B} }

// pairPath is the address of a page about two versions; from 0: about the run that is held for review.
func pairPath(name, page string, from, to int, p string) string {
	q := url.Values{"from": {strconv.Itoa(from)}, "to": {strconv.Itoa(to)}}
	if from == 0 {
		q = url.Values{"held": {"1"}}
	}
	if p != "" && p != "." {
		q.Set("path", p)
	}
	return jobPath(name, page) + "?" + q.Encode()
}

// diffPage compares two versions, or the current one with the run held for review: by directory, or a page
// line by line.
func diffPage(v *visit) error {
	r := look.DiffRequest{
		Job:   v.job,
		Held:  v.r.FormValue("held") != "",
		Path:  v.r.FormValue("path"),
		Files: true,
		Words: v.r.FormValue("as") == "words",
	}
	var err error
	if r.From, err = v.number("from"); err != nil {
		return err
	}
	if r.To, err = v.number("to"); err != nil {
		return err
	}
	if since := v.r.FormValue("since"); since != "" && !r.Held {
		if r.Since, err = time.Parse(time.DateOnly, since); err != nil {
			return env.Usagef("since: %q is not a date such as 2026-03-01", since)
		}
	}
	c, err := look.Diff(v.App, r)
	if errors.Is(err, look.ErrNoneHeld) {
		return env.Usagef("nothing is held for review now")
	}
	if err != nil {
		return err
	}
	d := diffData{Difference: c, Words: r.Words}
	if t := c.Tree; t != nil {
		d.Dirs, d.MoreDirs = first(t.Dirs)
		d.Files, d.More = first(t.Files)
		d.More += t.More
	}
	if c.Path != "" {
		d.Up = path.Dir(c.Path)
	}
	if err := d.place(v); err != nil && !c.Held { // a first version that is held back has none before it
		return err
	}
	return v.show("diff.html", "What changed in "+v.job, d)
}

// first are as many as a page lists, and how many more there are.
func first[T any](all []T) ([]T, int) {
	n := min(len(all), diffShown)
	return all[:n], len(all) - n
}

// place finds the versions around those that are compared.
func (d *diffData) place(v *visit) error {
	vs, err := look.Versions(v.App, v.job)
	if err != nil {
		return err
	}
	d.Current = vs[len(vs)-1].Number
	d.Back = v.who.Operates() && !d.Held && d.A == d.Current && d.B < d.A && d.Path == ""
	at := slices.IndexFunc(vs, func(x record.Version) bool { return x.Number == d.B })
	if d.Held || at < 1 || vs[at-1].Number != d.A {
		return nil
	}
	d.Line = lineOf(v.job, "diff", d.Path, vs, at)
	return nil
}

// number reads a version of the form; 0 when it is not there.
func (v *visit) number(field string) (int, error) {
	text := v.r.FormValue(field)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, env.Usagef("%s: %q is no number of a version", field, access.Clip(text))
	}
	return n, nil
}

// explainData is what the page of an explanation shows.
type explainData struct {
	Job, URL string
	Problem  string // with the URL
	X        any    // what look.Explain says; nil when nothing was asked for
	Older    bool   // there is an older version
}

// explainPage says why a URL is or is not in the mirror.
func explainPage(v *visit) error {
	d := explainData{Job: v.job, URL: strings.TrimSpace(v.r.FormValue("url"))}
	code := http.StatusOK
	if d.URL != "" {
		x, err := look.Explain(v.r.Context(), v.App, v.job, look.ExplainRequest{URL: d.URL})
		if isUsage(err) {
			d.Problem, code = err.Error(), http.StatusBadRequest
		} else if err != nil {
			return err
		} else {
			vs, _ := look.Versions(v.App, v.job) // none: it did not run yet
			d.X, d.Older = x, len(vs) > 1
		}
	}
	return v.draw(code, "explain.html", "Explain a URL of "+v.job, d)
}

// planPage says what the next run would request; for a part of the page of the job in one line.
func planPage(v *visit) error {
	p, err := look.Plan(v.App, v.job, v.Now())
	if v.r.FormValue("short") != "" {
		if err != nil { // the page of the plan says why
			v.w.WriteHeader(http.StatusNoContent)
			return nil
		}
		part, err := v.part("planned", p)
		if err == nil {
			send(v.w, v.r, http.StatusOK, "text/html; charset=utf-8", part)
		}
		return err
	}
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := p.WriteText(&b, v.r.FormValue("all") != ""); err != nil {
		return err
	}
	return v.show("plan.html", "Plan of "+v.job, struct{ Job, Text string }{v.job, b.String()})
}
