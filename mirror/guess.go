// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"fmt"
	"io"
	"path"
	"strings"

	"mirrord/mirror/admit"
	"mirrord/mirror/crawl"
	"mirrord/mirror/ledger"
	"mirrord/relocate"
	"mirrord/site"
	"mirrord/store"
)

// Strings in scripts that are plainly the addresses of files are guesses: most name what the page loads, some
// name nothing. But for the first ones they are asked after all that is linked, and what they lead to belongs
// to the mirror like anything else. A guess that leads nowhere is gone and no failure, is asked again only in
// every eighth run, and too many of them end the guessing of the run.

const (
	guessSample   = 100 // guesses of a run that are asked soon
	docGuesses    = 100 // guesses followed of one document
	guessPatience = 50  // guesses that may lead nowhere before it counts how many led somewhere
	guessAgain    = 8   // a guess that led nowhere is asked again in one of so many runs
)

// seenIn is what a candidate says of its URL.
func seenIn(c *admit.Candidate) ledger.Seen {
	if c.Guess {
		return ledger.Guess
	}
	return ledger.Named
}

func (r *run) isGuess(id uint32) bool { return r.table.State(id).Guessed() }

// guess decides on a link of a script: n is how many of the document came before it.
func (r *run) guess(c *admit.Candidate, now *store.Resource, n int) {
	c.Guess = true
	u := site.Canonical(string(c.URL))
	c.Purpose = admit.Requisite
	if guessedPage(u) {
		c.Purpose = admit.Page
	}
	switch {
	case n == docGuesses:
		r.notes.Add(fmt.Sprintf("documents with more than %d addresses in scripts: the rest was not followed", docGuesses), now.URL)
		c.Follow = false
	case n > docGuesses:
		c.Follow = false
	case !r.rules.AllowGuess(u, now.URL), r.tired():
		c.Follow = false
	}
}

// tired reports whether most of the guesses of this run led nowhere.
func (r *run) tired() bool {
	if r.stats.GuessGone.Load() < max(guessPatience, 2*r.stats.GuessFound.Load()) {
		return false
	}
	r.notes.Cap(tiredReason)
	return true
}

const tiredReason = "addresses in scripts were no longer followed: most led nowhere"

// guessPriority is when a guess that was not asked yet is asked: the first ones soon, to learn whether it is
// worth it.
func (r *run) guessPriority() crawl.Priority {
	if r.stats.Guesses.Add(1) <= guessSample {
		return crawl.PrioRequisite
	}
	return crawl.PrioGuess
}

// guessedPage reports whether a URL is named like a page.
func guessedPage(u site.URL) bool {
	switch strings.ToLower(path.Ext(u.Path())) {
	case ".html", ".htm", ".xhtml", ".pdf":
		return true
	}
	return false
}

// misled reports whether a guess of an image or the like was answered with a page: many a site has one for
// every path.
func (r *run) misled(rec *store.Resource, mime string) bool {
	page := mime == "text/html"
	if isFavicon(rec.URL) {
		page = !mayBeIcon(mime)
	}
	return page && !rec.InSet && !guessedPage(rec.URL) && r.isGuess(rec.ID)
}

// script finds what a script of its own names and returns its targets. The script itself is kept byte for
// byte.
func (r *run) script(now *store.Resource, body []byte, p *processor) []uint32 {
	if err := p.doc.Scan(body, relocate.Input{URL: now.URL, HeaderCharset: now.Charset, Format: relocate.Script, MaxLinks: relocatedLinks * int(r.job.Limits.MaxLinks)}); err != nil {
		r.notes.Add("documents whose links could not be found: "+err.Error(), now.URL)
		return nil
	}
	p.collect(r, now)
	p.ids = append(p.ids[:0], make([]int64, len(p.cands))...)
	r.enqueue(r.admitInto(p.ids, now.ID, now.Depth, p.cands)...)
	return p.targets(p.cands)
}

// isScript reports whether a stored body is a script that may name something.
func isScript(rec *store.Resource) bool {
	return rec.Body == store.BlobBody && !ledger.IsSitemap(rec) && relocate.Detect(rec.MIME, rec.URL, nil) == relocate.Script
}

// rescanScript finds what a stored script names under new rules. as is how what became of the request counts.
func (r *run) rescanScript(rec *store.Resource, as ledger.Account) *ledger.Finding {
	f := &ledger.Finding{Done: store.Done{Resource: *rec, Linked: !r.job.Scripts}, As: as}
	if body, ok := r.storedScript(rec); ok && r.job.Scripts {
		p := <-r.procs
		defer func() { r.procs <- p }()
		f.Targets, f.Linked = r.script(rec, body, p), true
	}
	return f
}

// storedScript reads a stored script that is not too large to be scanned.
func (r *run) storedScript(rec *store.Resource) ([]byte, bool) {
	if rec.Size > int64(r.job.Limits.MaxDocument) {
		return nil, false
	}
	f, err := r.o.State.Bodies.Open(rec.Digest, 0, rec.Size)
	if err != nil {
		return nil, false // verify reports it
	}
	defer f.Close()
	body, err := io.ReadAll(f)
	return body, err == nil && relocate.Detect(rec.MIME, rec.URL, body) == relocate.Script
}
