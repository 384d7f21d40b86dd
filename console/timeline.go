// SPDX-License-Identifier: Apache-2.0

package console

import (
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	"mirrord/app/env"
	"mirrord/app/look"
	"mirrord/store/record"
)

// framing lets a page show mirrored pages in frames: from where mirrord serve has them, which is never this
// origin; and those of own, which are 'self' or none.
func framing(v *visit, own string) {
	from := strings.TrimSpace(own + " " + mirrorsAt(v))
	if from != "" {
		v.w.Header().Set("Content-Security-Policy", contentPolicy+"; frame-src "+from)
	}
}

// mirrorsAt is the origin of mirrord serve; "" when it is not known, or that of this console.
func mirrorsAt(v *visit) string {
	u, err := url.Parse(v.Mirrors)
	if err != nil || u.Host == "" || strings.EqualFold(u.Host, v.r.Host) {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// rawPage is where mirrord serve has a page of a version; "" when that is not known.
func rawPage(v *visit, k *look.KeptPage) string {
	if mirrorsAt(v) == "" || k.File == nil {
		return ""
	}
	return v.Mirrors + "/" + v.job + "/.well-known/mirrord/memento/" +
		k.Stamp.UTC().Format("20060102150405") + "/" + k.File.URL
}

// timeline is the slider that leads from version to version.
type timeline struct {
	Job, Page, Path string // Page is the one that is shown: view, diff or beside
	First           int    // the least index
	Index, Last     int
	Say             string // what the slider stands at
}

// viewData is what the page of an older version shows.
type viewData struct {
	*look.KeptPage
	Line    timeline
	Raw     string
	Current int
	Dir     string // of the page; "" at the top
	Before  int    // the version in which the state before this one came; 0
	Asked   asked
}

// State is the version in which the page that is shown changed last; 0 when that is not known.
func (d viewData) State() (number int) {
	for _, s := range d.States {
		if s <= d.Version().Number {
			number = s
		}
	}
	return number
}

func viewPath(name string, version int, p string) string {
	q := url.Values{"version": {strconv.Itoa(version)}}
	if p != "" {
		q.Set("path", p)
	}
	return jobPath(name, "view") + "?" + q.Encode()
}

// viewPage shows a page of a version in a frame.
func viewPage(v *visit) error {
	r := look.KeptPageRequest{Job: v.job, Path: strings.TrimSpace(v.r.FormValue("path"))}
	var err error
	if r.Version, err = v.number("version"); err != nil {
		return err
	}
	if date := v.r.FormValue("date"); date != "" && r.Version == 0 {
		if r.At, err = time.Parse(time.DateOnly, date); err != nil {
			return env.Usagef("date: %q is not a date such as 2026-03-01", date)
		}
		r.At = r.At.Add(24*time.Hour - time.Second) // its end
	}
	k, err := look.PageOf(v.r.Context(), v.App, r)
	if err != nil {
		return err
	}
	d := viewData{
		KeptPage: k,
		Raw:      rawPage(v, k),
		Current:  k.Versions[len(k.Versions)-1].Number,
		Line:     lineOf(v.job, "view", k.Path, k.Versions, k.Index),
	}
	if k.File != nil {
		if d.Dir = path.Dir(k.Path); d.Dir == "." {
			d.Dir = ""
		}
	}
	for _, s := range k.States {
		if s < d.State() {
			d.Before = s
		}
	}
	d.Asked = asked{
		Job:     v.job,
		Path:    k.Path,
		Version: k.Version().Number,
		Says:    strings.TrimSpace(v.r.FormValue("says")),
	}
	if d.Asked.Says != "" && k.File != nil {
		r.Version = d.Asked.Version
		d.Asked.Found, err = look.SinceWhen(v.r.Context(), v.App, r, d.Asked.Says)
		if err != nil {
			return err
		}
	}
	framing(v, "")
	return v.show("view.html", "Version "+strconv.Itoa(k.Version().Number)+" of "+v.job, d)
}

func lineOf(name, page, p string, vs []record.Version, at int) timeline {
	l := timeline{
		Job:   name,
		Page:  page,
		Path:  p,
		Index: at,
		Last:  len(vs) - 1,
		Say:   fmt.Sprintf("version %d, %s", vs[at].Number, exact(vs[at].Time)),
	}
	if page != "view" { // pairs
		l.First = 1
	}
	return l
}

// stepPage redirects to the version of the slider: a page of it, or what it changed.
func stepPage(v *visit) error {
	vs, err := look.Versions(v.App, v.job)
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(v.r.FormValue("n"))
	if err != nil || n < 0 || n >= len(vs) {
		return env.Usagef("this version no longer exists; look at the list of versions")
	}
	to := viewPath(v.job, vs[n].Number, v.r.FormValue("path"))
	if page := v.r.FormValue("page"); n > 0 && (page == "diff" || page == "beside") {
		to = pairPath(v.job, page, vs[n-1].Number, vs[n].Number, v.r.FormValue("path"))
	}
	if v.r.Header.Get("HX-Request") != "" {
		v.w.Header().Set("HX-Redirect", to)
		v.w.WriteHeader(http.StatusNoContent)
		return nil
	}
	http.Redirect(v.w, v.r, to, http.StatusSeeOther)
	return nil
}

// searchData is what the page of a search in a version shows.
type searchData struct {
	Job, Q string
	Number int // of the version; 0 is the current one
	Found  *look.VersionSearch
}

// searchPage finds pages of one version.
func searchPage(v *visit) error {
	d := searchData{Job: v.job, Q: strings.TrimSpace(v.r.FormValue("q"))}
	var err error
	if d.Number, err = v.number("version"); err != nil {
		return err
	}
	if len(d.Q) > mostSearch {
		return env.Usagef("a search has at most %d bytes", mostSearch)
	}
	if d.Q != "" {
		if d.Found, err = look.SearchVersion(v.App, v.job, d.Number, d.Q, v.titles); err != nil {
			return err
		}
		d.Number = d.Found.Version.Number
	}
	return v.show("search.html", "Search a version of "+v.job, d)
}

// mostSearch is how many bytes a search may have.
const mostSearch = 1000
