// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"mirrord/site"
)

// The addresses of RFC 7089, below wellKnown on the host of a mirror, or below /NAME on the base host. URL is
// an original resource, as it stands, query included.
//
//	timegate/URL                 302 to the Memento that Accept-Datetime asks for, the newest without one
//	                             (§4.2.1, pattern 2.1)
//	timemap/link/URL             all Mementos as application/link-format (§5)
//	timemap/json/URL             the same as JSON
//	memento/YYYYMMDDhhmmss/URL   the Memento that was in effect at that time, UTC
//
// On the base host the first three also work without /NAME: the first mirror by name that has the URL
// answers.

const stamp = "20060102150405"

// memento answers a request below wellKnown.
func (v *view) memento(rest string) error {
	kind, arg, _ := strings.Cut(rest, "/")
	if kind == "changed" && v.framed == "" {
		kind = ""
	}
	switch kind {
	case "timegate":
		if u, ok := v.original(arg); ok {
			v.w.Header().Add("Vary", "Accept-Datetime")
			if done, err := v.gate(u, true); done || err != nil {
				return err
			}
			v.never(v.w, v.r, u)
		}
	case "timemap":
		form, arg, _ := strings.Cut(arg, "/")
		if form != "link" && form != "json" {
			http.Error(v.w, "a time map is had as link or as json", http.StatusNotFound)
			return nil
		}
		if u, ok := v.original(arg); ok {
			return v.timeMap(u, form)
		}
	case "memento", "changed":
		at, arg, _ := strings.Cut(arg, "/")
		t, err := time.Parse(stamp, at)
		if err != nil || len(at) != len(stamp) {
			http.Error(v.w, "a version is named by a time as 20061231235959", http.StatusBadRequest)
			return nil
		}
		switch u, ok := v.original(arg); {
		case ok && kind == "changed":
			return barred{v}.change(u, t)
		case ok:
			return v.version(u, t)
		}
	case "mirror":
		return v.offer(arg)
	case "frame.js":
		serveScript(frameScript)(v.Server, v.w, v.r)
	default:
		v.notFound(v.w, v.r, v.wordsFor(v.r).Nothing)
	}
	return nil
}

// original reads the URL of an original resource from the end of an address; if that is not valid, it has
// answered.
func (v *view) original(arg string) (site.URL, bool) {
	u, err := originalURL(arg + query(v.r.URL))
	if err != nil {
		http.Error(v.w, "the address ends in no http or https URL", http.StatusBadRequest)
		return site.URL{}, false
	}
	return u, true
}

// originalURL parses a URL that is in a path; proxies like to make one slash of two.
func originalURL(s string) (site.URL, error) {
	scheme, rest, ok := strings.Cut(s, ":/")
	if !ok || (scheme != "http" && scheme != "https") {
		return site.URL{}, site.ErrNotWeb
	}
	u, _, err := site.Parse(scheme + "://" + strings.TrimPrefix(rest, "/"))
	return u, err
}

// gate redirects to the Memento of u that is wanted; done is false if no Memento fits.
func (v *view) gate(u site.URL, own bool) (done bool, err error) {
	want := time.Time{}
	if ad := v.r.Header.Get("Accept-Datetime"); ad != "" {
		if want, err = http.ParseTime(ad); err != nil {
			// §4.5.3
			http.Error(v.w, "Accept-Datetime is not a date as in Thu, 31 May 2007 20:35:00 GMT", http.StatusBadRequest)
			return true, nil
		}
	}
	all, known, err := history(v.r.Context(), v.site, u)
	if err != nil {
		return false, err
	}
	if !known {
		if all, err = nearest(v.r.Context(), v.site, u, want); err != nil {
			return false, err
		}
	}
	if len(all) == 0 {
		return false, nil
	}
	i := len(all) - 1
	if !want.IsZero() {
		i = inEffect(all, want)
	}
	h := v.w.Header()
	h.Set("Link", strings.Join(v.neighbours(u, all, i, known, own), ", "))
	h.Set("Cache-Control", "no-cache")
	redirect(v.w, http.StatusFound, v.uriM(u, all[i].Time))
	return true, nil
}

// inEffect returns the index of the version that was the current one at t; the first one for an earlier time
// (§4.5.3: the nearest).
func inEffect(all []Version, t time.Time) int {
	n, _ := slices.BinarySearchFunc(all, t, func(v Version, t time.Time) int {
		if v.Time.Truncate(time.Second).After(t) {
			return 1
		}
		return -1
	})
	return max(n-1, 0)
}

// uriM is the address of the Memento of u at a time.
func (v *view) uriM(u site.URL, t time.Time) string {
	return v.at(wellKnown + "memento/" + t.UTC().Format(stamp) + "/" + u.String())
}

// neighbours are the links of a TimeGate or of Memento i (§2.2): the original, the TimeGate, the TimeMap, and
// the first, previous, this, next and last Memento. A TimeGate does not link to itself. Without known, all is
// not the whole history and says nothing of first and last.
func (v *view) neighbours(u site.URL, all []Version, i int, known, gate bool) []string {
	links := []string{link(u.String(), `rel="original"`)}
	if !gate {
		links = append(links, link(v.at(wellKnown+"timegate/"+u.String()), `rel="timegate"`))
	}
	links = append(links,
		link(v.at(wellKnown+"timemap/link/"+u.String()), `rel="timemap"`, `type="application/link-format"`))
	for j, m := range all {
		var rel []string
		if j == 0 && known {
			rel = append(rel, "first")
		}
		if j == len(all)-1 && known {
			rel = append(rel, "last")
		}
		switch j {
		case i - 1:
			rel = append(rel, "prev")
		case i + 1:
			rel = append(rel, "next")
		}
		if len(rel) > 0 || j == i {
			links = append(links, v.mementoLink(u, m, append(rel, "memento")))
		}
	}
	return links
}

func (v *view) mementoLink(u site.URL, m Version, rel []string) string {
	return link(v.uriM(u, m.Time), `rel="`+strings.Join(rel, " ")+`"`,
		`datetime="`+m.Time.UTC().Format(http.TimeFormat)+`"`)
}

// states returns the states of u, if the site knows them.
func states(ctx context.Context, s Site, u site.URL) (all []State, known bool, err error) {
	if h, ok := s.(Historian); ok {
		return h.History(ctx, u)
	}
	return nil, false, nil
}

// history returns the versions from which on u is another resource, oldest first, if the site knows.
func history(ctx context.Context, s Site, u site.URL) (all []Version, known bool, err error) {
	changes, known, err := states(ctx, s, u)
	return mementosOf(changes), known, err
}

func mementosOf(all []State) (out []Version) {
	for _, x := range all {
		if !x.Missing {
			out = append(out, x.Version)
		}
	}
	return out
}

// nearest returns the version in effect at a time (zero: the last), or where u is not in it the nearest that
// has u, older ones first.
func nearest(ctx context.Context, s Site, u site.URL, t time.Time) ([]Version, error) {
	all, err := s.Versions()
	if err != nil || len(all) == 0 {
		return nil, err
	}
	i := len(all) - 1
	if !t.IsZero() {
		i = inEffect(all, t)
	}
	order := slices.Concat(all[:i+1], nil)
	slices.Reverse(order)
	for _, x := range append(order, all[i+1:]...) {
		_, ok, err := lookUp(ctx, s, x.Number, u)
		if err != nil {
			return nil, err
		}
		if ok {
			return []Version{x}, nil
		}
	}
	return nil, nil
}

// lookUp finds u in a version; one that was dropped meanwhile has nothing.
func lookUp(ctx context.Context, s Site, number int, u site.URL) (Resource, bool, error) {
	snap, err := s.Snapshot(ctx, number)
	if errors.Is(err, ErrNoVersion) {
		return Resource{}, false, nil
	}
	if err != nil {
		return Resource{}, false, err
	}
	defer snap.release()
	return snap.Table.Find(u)
}

// allStates returns the states of u, by looking into every version if the site does not know them.
func allStates(ctx context.Context, s Site, u site.URL) ([]State, error) {
	all, known, err := states(ctx, s, u)
	if err != nil || known {
		return all, err
	}
	return slowHistory(ctx, s, u)
}

// slowHistory looks into every version.
func slowHistory(ctx context.Context, s Site, u site.URL) (out []State, err error) {
	all, err := s.Versions()
	if err != nil {
		return nil, err
	}
	var last Resource
	for _, x := range all {
		r, ok, err := lookUp(ctx, s, x.Number, u)
		if err != nil {
			return nil, err
		}
		if !ok && len(out) > 0 && !out[len(out)-1].Missing {
			out = append(out, State{Version: x, Missing: true})
			last = Resource{}
		}
		if ok && (last.URL.IsZero() || r.Digest != last.Digest || r.RedirectTo != last.RedirectTo ||
			r.RedirectPart != last.RedirectPart || r.MIME != last.MIME) {
			out = append(out, State{Version: x})
			last = r
		}
	}
	return out, nil
}

// asOf opens the version that was in effect at a time, the n-th of all. The caller releases it.
func (v *view) asOf(t time.Time) (all []Version, n int, err error) {
	all, err = v.site.Versions()
	if err == nil && len(all) == 0 {
		err = ErrNoVersion
	}
	if err == nil {
		n = inEffect(all, t)
		v.Snapshot, err = v.site.Snapshot(v.r.Context(), all[n].Number)
	}
	return all, n, err
}

// version sends the Memento of u that was in effect at t.
func (v *view) version(u site.URL, t time.Time) error {
	all, n, err := v.asOf(t)
	if err != nil {
		return err
	}
	defer v.release()
	f, err := v.resolve(u)
	if err != nil {
		return err
	}
	if !f.ok {
		return v.missing(u)
	}
	h := v.w.Header()
	if n < len(all)-1 { // the version of a past time stays what it is
		h.Set("Cache-Control", "public, max-age=3600")
	}
	h.Set("X-Robots-Tag", "noindex") // search engines list the page itself
	if f.to.IsZero() {
		states, known, err := history(v.r.Context(), v.site, f.r.URL)
		if err != nil {
			return err
		}
		if known = known && len(states) > 0; !known {
			states = all[n : n+1]
		}
		i := inEffect(states, all[n].Time)
		h.Set("Memento-Datetime", states[i].Time.UTC().Format(http.TimeFormat))
		links := append(v.neighbours(f.r.URL, states, i, known, false), link(f.r.URL.String(), `rel="canonical"`))
		h.Set("Link", strings.Join(links, ", "))
	}
	if f.to.IsZero() {
		if f.r, err = inItsTime(v, t, f.r); err != nil {
			return err
		}
	}
	return v.answer(u, f, past{v, t})
}

// past gives the addresses of the version of a time.
type past struct {
	v *view
	t time.Time
}

func (p past) of(u site.URL) string {
	return p.v.prefix + wellKnown + "memento/" + p.t.Format(stamp) + "/" + u.String()
}

// serveAnyMemento answers a Memento request on the base host that names no mirror: the first one that has
// the URL answers.
func (s *Server) serveAnyMemento(w http.ResponseWriter, r *http.Request) {
	rest := r.URL.EscapedPath()[len(wellKnown):]
	kind, arg, _ := strings.Cut(rest, "/")
	if kind == "timemap" {
		_, arg, _ = strings.Cut(arg, "/")
	}
	u, err := originalURL(arg + query(r.URL))
	if (kind != "timegate" && kind != "timemap") || err != nil {
		s.notFound(w, r, s.wordsFor(r).Nothing)
		return
	}
	names, err := s.names()
	if err != nil {
		s.failed(w, r, "", err)
		return
	}
	for _, name := range names {
		st, err := s.open(name)
		if err != nil {
			continue
		}
		snap, err := st.Snapshot(r.Context(), 0)
		if err != nil {
			continue
		}
		_, ok, err := snap.Table.Find(u)
		snap.release()
		if err == nil && ok {
			w.Header().Add("Vary", "Accept-Datetime")
			redirect(w, http.StatusFound, "/"+name+r.URL.EscapedPath()+query(r.URL))
			return
		}
	}
	s.notFound(w, r, s.wordsFor(r).Nothing)
}
