// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"strings"

	"mirrord/mirror/admit"
	"mirrord/mirror/ledger"
	"mirrord/relocate"
	"mirrord/site"
	"mirrord/store"
)

// Browsers ask for /favicon.ico at the origin of each page that names no icon (HTML standard, section
// 4.6.7.9). So does a run, after all else: it is what a page needs to be shown, but nobody promised it. It is
// treated as a guess: its absence is no failure, is not counted, and is looked at again only in every eighth
// run.

const faviconPath = "/favicon.ico"

func isFavicon(u site.URL) bool { return u.RequestURI() == faviconPath }

// mayBeIcon reports whether an answer of this type may be an image: some servers do not know the type of
// icons.
func mayBeIcon(mime string) bool {
	switch mime {
	case "", "application/octet-stream", "application/ico", "application/x-ico", "application/x-icon":
		return true
	}
	return strings.HasPrefix(mime, "image/")
}

// favicon adds the icon of a page that names none to the candidates.
func (p *processor) favicon(now *store.Resource, links []relocate.HeaderLink) {
	for _, l := range links {
		if l.Is("icon") {
			return
		}
	}
	if !p.doc.Icon {
		p.cands = append(p.cands, admit.Candidate{URL: []byte(now.URL.Origin() + faviconPath), Purpose: admit.Requisite, Follow: true, Guess: true})
	}
}

// rests reports whether a guess that led nowhere is not asked in this run.
func (r *run) rests(id uint32, s ledger.State) bool {
	nowhere := s.Outcome() == site.Gone || s.Outcome() == site.Trapped
	return nowhere && !s.InSet() && (int(id)+r.state.Number)%guessAgain != 0
}
