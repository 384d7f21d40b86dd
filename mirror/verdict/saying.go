// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"maps"
	"strings"

	"mirrord/replica/text"
	"mirrord/site"
	"mirrord/store/record"
)

// Texts reads what pages say. It is used by one goroutine.
type Texts interface {
	// Now returns the text of a page as it is stored, Before that of the published file. ok is false without
	// one to read; an error is one of the disk.
	Now(rec *record.Resource) (said string, ok bool, err error)
	Before(rec *record.Resource) (said string, ok bool, err error)
}

// Pages that became a login or error page say the same, and have lost what only they said. Honest pages of
// one template have the same title and links too, but each has words of its own. So words decide: which a
// page had that the others had not, whether it still has them, and whether it has others instead. An error
// page may have some of its own: the address that was requested, a number of the incident, the time.
const (
	mostRead   = 120 // pages of a group that are read
	keptShare  = 0.2 // of its own words that an honest page keeps at least
	ownLetters = 2   // words of letters that an error page has of its own, at most
	ownWords   = 12  // words that it has of its own, at most
)

// words are the words of a page, each once.
type words map[string]bool

func wordsOf(said string) words {
	w := words{}
	for _, t := range text.Tokens(said) {
		w[t] = true
	}
	return w
}

// without returns the words that none of the others has.
func (w words) without(others ...words) words {
	out := words{}
next:
	for t := range w {
		for _, o := range others {
			if o[t] {
				continue next
			}
		}
		out[t] = true
	}
	return out
}

// isLittle reports whether words are no more than an error page may have of its own.
func (w words) isLittle() bool {
	letters := 0
	for t := range w {
		if !strings.ContainsAny(t, "0123456789") {
			letters++
		}
	}
	return (letters <= ownLetters) && (len(w) <= ownWords)
}

// common returns the words that at least half of some pages have. Fewer than three have none in common.
func common(pages []words) words {
	out := words{}
	if len(pages) < 3 {
		return out
	}
	n := map[string]int{}
	for _, w := range pages {
		for t := range w {
			n[t]++
		}
	}
	for t, k := range n {
		if 2*k >= len(pages) {
			out[t] = true
		}
	}
	return out
}

// addressWords are the words of a URL: an error page may repeat it.
func addressWords(u site.URL) words { return wordsOf(u.String()) }

// SaysSame reports whether two texts of a URL are the same but for a few words, such as a token or the time.
func SaysSame(a, b string, u site.URL) bool {
	x, y := wordsOf(a), wordsOf(b)
	return (len(x)+len(y) > 0) && x.isNearly(y, addressWords(u))
}

// isNearly reports whether two pages have the same words but for a few, and at least half of them. Words of
// the address do not count.
func (w words) isNearly(other, address words) bool {
	a, b := w.without(address), other.without(address)
	onlyA, onlyB := a.without(b), b.without(a)
	shared := len(a) - len(onlyA)
	return onlyA.isLittle() && onlyB.isLittle() && (2*shared >= max(len(a), len(b)))
}

// addressesOf returns the words of two URLs.
func addressesOf(a, b site.URL) words {
	w := addressWords(a)
	maps.Copy(w, addressWords(b))
	return w
}

// suspect is a page that may have become a login or error page.
type suspect struct {
	id   uint32
	url  site.URL
	size int64
	rec  *record.Resource // to read it by; nil once it was read

	now, before   words
	isNow, wasOne bool // whether now and before are known
}

// lost reports whether a page lost what only it said, and says nothing else instead. known is false when the
// words cannot tell, because there are none of before or now.
func (s *suspect) lost(commonBefore, commonNow words) (lost, known bool) {
	if !s.isNow || (len(s.now) == 0 && len(s.before) == 0) {
		return false, false
	}
	address := addressWords(s.url)
	if !s.now.without(commonNow, address).isLittle() {
		return false, true
	}
	if !s.wasOne {
		return false, false
	}
	own := s.before.without(commonBefore)
	if rest := own.without(address); len(rest) > 0 {
		own = rest // an error page that repeats the address keeps nothing
	}
	if len(own) == 0 {
		return false, len(s.before) > 0 // it said what the others said before, too
	}
	kept := len(own) - len(own.without(s.now))
	return float64(kept) < keptShare*float64(len(own)), true
}

// read reads the words of the suspects, or of an even sample of them, and returns those.
func read(c *Case, all []*suspect) (sample []*suspect, err error) {
	n := min(len(all), mostRead)
	for i := range n {
		s := all[i*len(all)/n]
		var said string
		if said, s.isNow, err = c.Texts.Now(s.rec); err != nil {
			return nil, err
		}
		s.now = wordsOf(said)
		if c.Live != nil {
			if said, s.wasOne, err = c.Texts.Before(s.rec); err != nil {
				return nil, err
			}
			s.before = wordsOf(said)
		}
		s.rec = nil
		sample = append(sample, s)
	}
	return sample, nil
}

// becameOne returns those of the suspects, which look alike, that say the same by now and said something
// else before. page is the error page that they may have become, nil when it is not known. Where a sample
// was read, what holds for most of it counts for all.
func becameOne(c *Case, all []*suspect, page *ErrorPage) (same []uint32, err error) {
	sample, err := read(c, all)
	if err != nil {
		return nil, err
	}
	nows, befores := make([]words, len(sample)), make([]words, len(sample))
	for i, s := range sample {
		nows[i], befores[i] = s.now, s.before
	}
	commonNow, commonBefore := common(nows), common(befores)
	if page != nil {
		commonNow = page.words()
	}
	var found, unknown []*suspect
	for _, s := range sample {
		if (page != nil) && s.isNow && !s.now.isNearly(page.words(), addressesOf(s.url, page.URL)) {
			continue // it does not say what the error page says
		}
		switch lost, known := s.lost(commonBefore, commonNow); {
		case lost:
			found = append(found, s)
		case !known:
			unknown = append(unknown, s)
		}
	}
	found = append(found, alikeInSize(unknown, page)...)
	if (len(sample) < len(all)) && 2*len(found) > len(sample) {
		return ids(all), nil
	}
	return ids(found), nil
}

func ids(of []*suspect) (out []uint32) {
	for _, s := range of {
		out = append(out, s.id)
	}
	return out
}
