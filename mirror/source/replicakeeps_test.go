// SPDX-License-Identifier: Apache-2.0

package source_test

import (
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"mirrord/mirror/source"
	"mirrord/site"
	"mirrord/store/record"
	"mirrord/testing/mirrortest"
)

// A copy that the mirror holds is replaced by a replica's only on request, and by one that was compared and
// is newer. What the mirror lacks is filled in any case.
func TestReplicaKeepsGoodCopies(t *testing.T) {
	const (
		april = 1775001600 // Unix seconds
		none  = 0
	)
	text := mirrortest.Words(1, 300)
	page := mirrortest.HTML("P", text)
	more := mirrortest.HTML("P", text+" and a sentence more at the end of it all")
	short := mirrortest.HTML("P", strings.Join(strings.Fields(text)[:200], " "))
	other := mirrortest.HTML("P", mirrortest.Words(2, 300))
	picture := func(body string) mirrortest.Page {
		return mirrortest.Page{Body: body, Header: map[string]string{"Content-Type": "image/png"}}
	}
	for _, c := range []struct {
		name    string
		held    mirrortest.Page
		age     int64 // of the held one
		sends   mirrortest.Page
		sent    int64
		replace bool // what becomes of it with alternates_replace
	}{
		{"a newer edition", page, april, more, april + 1, true},
		{"of the same time", page, april, more, april, false},
		{"an older one", page, april, more, april - 1, false},
		{"one without a date", page, april, more, none, false},
		{"later than the last look", page, none, more, april + 9, true},
		{"before the last look", page, none, more, april + 7, false},
		{"neither has a date", page, none, more, none, false},
		{"a newer picture", picture("one"), april, picture("other"), april + 1, false},
		{"its end is missing", page, april, short, april + 1, false},
		{"something else", page, april, other, april + 1, false},
	} {
		for _, replace := range []bool{false, true} {
			p := newUntested(t, replace)
			p.tested(t, true)
			web := p.fake.Web
			web.Set("*", mirrortest.Status(404))
			web.Set("http://copy.example.net/robots.txt", mirrortest.Status(404))
			c.sends.Header = maps.Clone(c.sends.Header)
			if c.sent != none {
				c.sends.Header["Last-Modified"] = time.Unix(c.sent, 0).UTC().Format(http.TimeFormat)
			}
			web.Set(there+"p.html", c.sends)
			get := func(rec *record.Resource) source.Answer {
				ask := &source.Ask{Record: rec, Of: source.FromReplica, Why: "status 503"}
				a, err := p.chain.Get(t.Context(), ask)
				if err != nil {
					t.Fatal(err)
				}
				a.Release()
				return a
			}
			rec := p.record("p.html", c.held.Body)
			rec.MIME, _, _ = strings.Cut(c.held.Header["Content-Type"], ";")
			rec.Modified, rec.Checked = c.age, april+8
			a := get(rec)
			if taken := a.Content != nil; taken != (c.replace && replace) {
				t.Errorf("%s, replace %v: taken %v", c.name, replace, taken)
			} else if !taken && len(a.Notes) != 1 {
				t.Errorf("%s, replace %v: the notes are %q", c.name, replace, a.Notes)
			}
			if a := get(&record.Resource{URL: site.Canonical(home + "p.html")}); a.Content == nil {
				t.Errorf("%s, replace %v: what the mirror lacks is not filled", c.name, replace)
			}
			leads := &record.Resource{URL: site.Canonical(home + "p.html"), Target: 7}
			if a := get(leads); a.From != 0 {
				t.Errorf("%s, replace %v: a page takes the place of a redirect", c.name, replace)
			}
		}
	}
}
