// SPDX-License-Identifier: Apache-2.0

package hosts

import (
	"crypto/sha256"
	"slices"
	"strings"

	"mirrord/relocate"
	"mirrord/replica/hash"
	"mirrord/replica/text"
	"mirrord/site"
)

// PageBody is a page as tests compare it. It is made once of the bytes, which can be let go then.
type PageBody struct {
	sum      [sha256.Size]byte
	text     bool
	k        int // words of a shingle
	shingles hash.Set
	list     []uint64 // shingles in their order

	answer bool     // by NewAnswer: said is known
	said   hash.Set // shingles of the text without the page's own path
}

// DefaultShingle is k of the tests, in words: with fewer, unrelated pages share shingles.
const DefaultShingle = 10

// NewAnswer is NewBody of the answer to a request for a path, which can then be distinguished from responses
// to any request (see PageBody.Alike).
func NewAnswer(body []byte, isText, isHTML bool, k int, path string) PageBody {
	return newBody(body, isText, isHTML, k, &path)
}

// AnswerBody is NewAnswer of the answer to a URL, told from its media type and first bytes.
func AnswerBody(mime string, u site.URL, body []byte) PageBody {
	html := relocate.Detect(mime, u, body[:min(len(body), 1024)]) == relocate.HTML
	return NewAnswer(body, html || strings.HasPrefix(mime, "text/"), html, 0, u.RequestURI())
}

// NewBody prepares a body for comparison with shingles of k words, 0 for 10. Of other data than text
// only the bytes are compared; isHTML says that it is text with markup.
func NewBody(body []byte, isText, isHTML bool, k int) PageBody {
	return newBody(body, isText, isHTML, k, nil)
}

func newBody(body []byte, isText, isHTML bool, k int, path *string) PageBody {
	if k <= 0 {
		k = DefaultShingle
	}
	b := PageBody{sum: sha256.Sum256(body), text: isText && text.IsText(body), k: k}
	if b.text {
		tokens := text.Tokens(text.ExtractAs(body, isHTML))
		b.list = text.ShingleList(tokens, k)
		b.shingles = hash.NewSet(slices.Clone(b.list))
		if path != nil {
			b.answer, b.said = true, text.Shingles(withoutPath(tokens, *path), k)
		}
	}
	return b
}

// maxOwn bounds the words of a path that are looked for.
const maxOwn = 64

// withoutPath takes out the words of a path, or of its last segment, wherever they follow each other: encoded
// or not. It works in the list given.
func withoutPath(tokens []string, path string) []string {
	last := path[strings.LastIndexByte(path, '/')+1:]
	var own [][]string
	for _, s := range []string{path, site.Unescape(path), last, site.Unescape(last)} {
		if words := text.Tokens(s); len(words) > 0 {
			own = append(own, words[:min(len(words), maxOwn)])
		}
	}
	out := tokens[:0]
	for i := 0; i < len(tokens); {
		n := 0
		for _, words := range own {
			if i+len(words) <= len(tokens) && slices.Equal(words, tokens[i:i+len(words)]) {
				n = max(n, len(words))
			}
		}
		if n == 0 {
			out = append(out, tokens[i])
			n = 1
		}
		i += n
	}
	return out
}

// Compare gives the outcome of two bodies that were had, and their resemblance.
func (b PageBody) Compare(c PageBody) (TestOutcome, float64) {
	if b.sum == c.sum {
		return FullMatch, 1
	}
	if !b.text || !c.text {
		return NotSimilar, 0
	}
	switch r := hash.Resemblance(b.shingles, c.shingles); {
	case r >= 1:
		return FullSimilar, r
	case r >= highAlike:
		return HighSimilar, r
	case r > 0:
		return TraceSimilar, r
	}
	return NotSimilar, 0
}

// Alike says whether a page is the same as another answer of its host, which was one to a path that does not
// exist: nine tenths of the text, or of the remaining text when each of the two responses repeats the path
// that it is for.
func (b PageBody) Alike(probe PageBody) bool { return b.likeness(probe) >= softAlike }

// likeness is the resemblance of a page to another answer of its host, of the texts or of the texts
// without the paths, whichever is more.
func (b PageBody) likeness(probe PageBody) float64 {
	_, r := probe.Compare(b)
	if b.answer && probe.answer {
		r = max(r, hash.Resemblance(b.said, probe.said))
	}
	return r
}
