// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"fmt"
	"strings"

	"mirrord/internal/volatile"
	"mirrord/relocate"
	"mirrord/store"
)

// onlyVolatile compares a document with the stored one. only is true when it differs in nothing but what may
// change by itself; kept, when that always changes: then the stored body stays, and old says why. Otherwise
// now has what was learned for the next time.
func (r *run) onlyVolatile(now, old *store.Resource, body []byte) (only, kept bool) {
	if old.Listing || relocate.Format(old.Format) == relocate.Sitemap {
		return false, false // their dates are what they say
	}
	if old.Body != store.PackBody || old.Size > volatile.MaxBody || len(body) > volatile.MaxBody {
		return false, false
	}
	d, ok := r.difference(old, body)
	if !ok {
		return false, false
	}
	if old.Volatile.Covers(d) {
		old.Volatile = old.Volatile.Kept()
		old.Reason = "differs only in what always changes: " + examples(d.Examples)
		return true, true
	}
	now.Volatile = old.Volatile.Changed(d)
	now.Reason = "differs only in what may change by itself: " + examples(d.Examples)
	return true, false
}

// difference compares a body with the stored one.
func (r *run) difference(old *store.Resource, body []byte) (d volatile.Difference, ok bool) {
	p := <-r.procs
	defer func() { r.procs <- p }()
	fr, err := r.site.Frames.ReadFrame(p.r, old.At)
	if err != nil {
		return d, false // a stored body that cannot be read is replaced
	}
	return volatile.Compare(fr.Body, body)
}

func examples(texts []string) string {
	var b strings.Builder
	for i, t := range texts {
		if i == 3 {
			fmt.Fprintf(&b, " and %d more", len(texts)-i)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%q", t)
	}
	return b.String()
}

// explainHistory says what was learned of a resource.
func (r *run) explainHistory(x *Explanation, rec *store.Resource) {
	say := func(format string, args ...any) { x.Rules = append(x.Rules, fmt.Sprintf(format, args...)) }
	if rec.Volatile.Holds() && rec.Body == store.PackBody {
		what := "its stored body cannot be read"
		if fr, err := r.site.Frames.ReadFrame(store.NewFrameReader(), rec.At); err == nil {
			what = examples(rec.Volatile.Find(fr.Body))
		}
		say("volatile: a change of this alone does not count: %s; at most %d answers in a row are taken for unchanged so, and %d were", what, volatile.MaxHeld, rec.Volatile.Held)
	}
	if rec.NoETag {
		say("validators: its ETag is not sent, because it once stayed the same when the content changed")
	}
	if rec.NoDate {
		say("validators: its Last-Modified is not sent, because it once stayed the same when the content changed")
	}
	if until, ok := r.validators.Until(rec.URL); ok {
		say("validators: none are sent in its directory before run %d, because one of them hid a change", until)
	}
	if n := min(rec.Observed, 16); n > 0 {
		changes := 0
		for v := rec.Recent; v != 0; v &= v - 1 {
			changes++
		}
		say("history: changed at %d of the last %d times it was looked at again", changes, n)
	}
}
