// SPDX-License-Identifier: Apache-2.0

package revisit

import (
	"time"

	"mirrord/internal/volatile"
	"mirrord/mirror/urls"
	"mirrord/site"
	"mirrord/store/record"
)

// A page may name an image whose address holds the time of the answer: a pixel that counts visitors, or has
// the program do its work. The page is unchanged but for this noise and names the image that the mirror has,
// which no answer names again.

// sampleClocks is in every how many runs such an image is requested.
const sampleClocks = 8

// Stays returns the outcome of a file whose address holds the time of an answer of which the site is known to
// make another one each time: unchanged, without a request, but for one run in eight.
func (p *Noise) Stays(rec *record.Resource, now time.Time) (f *urls.Finding, ok bool) {
	known := p.known.Load()
	_, has := volatile.WithoutClock(rec.URL.RequestURI())
	kept := rec.InSet && rec.Body == record.BlobBody && rec.Outcome != site.Failed && rec.Gone == 0
	if known == nil || !known.clock || !kept || !has ||
		(int(rec.ID)+p.run)%sampleClocks == 0 {
		return nil, false
	}
	f = UnchangedBy(*rec, urls.ByExpiry, now)
	f.Done.Reason = "skipped: its address holds the time, and is another one in each answer"
	return f, true
}

// HasClocks reports whether the site is known to make addresses that hold the time of the answer.
func (p *Noise) HasClocks() bool {
	known := p.known.Load()
	return known != nil && known.clock
}
