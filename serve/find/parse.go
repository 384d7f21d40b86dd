// SPDX-License-Identifier: Apache-2.0

package find

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Bounds of a query.
const (
	mostQuery  = 1000 // bytes
	mostTerms  = 32
	leastStart = 3 // letters before a *
)

// QueryError says what the error of a query is, and what to do.
type QueryError struct{ Why string }

func (e *QueryError) Error() string { return e.Why }

// IsQuery reports whether an error is about the words that are looked for.
func IsQuery(err error) bool {
	_, ok := errors.AsType[*QueryError](err)
	return ok
}

// term is a word or a phrase.
type term struct {
	words  []string // folded; of a run of a script without blanks there is one
	grams  bool
	prefix bool // what begins with the last word, too
}

// query is a parsed query: one term of each group, and none of the others.
type query struct {
	groups [][]term
	not    []term
}

// parse reads a query: words, "phrases", -without, begin*, OR between two of them. All else is white space:
// no character has a meaning for the database.
func parse(text string) (q query, err error) {
	if len(text) > mostQuery {
		return q, &QueryError{fmt.Sprintf("the query has %d bytes; at most %d are looked for: give fewer words",
			len(text), mostQuery)}
	}
	if strings.TrimSpace(text) == "" {
		return q, &QueryError{"give at least one word to look for"}
	}
	p := parser{folder: newFolder()}
	for rest := strings.ToValidUTF8(text, " "); rest != "" && err == nil; {
		rest, err = p.next(rest)
	}
	if err != nil {
		return q, err
	}
	n := len(p.q.not)
	for _, g := range p.q.groups {
		n += len(g)
	}
	switch {
	case n > mostTerms:
		return q, &QueryError{fmt.Sprintf("the query has %d words; at most %d are looked for", n, mostTerms)}
	case len(p.q.groups) == 0 && len(p.q.not) > 0:
		return q, &QueryError{"these are only words that pages must not have: give one that they have"}
	case len(p.q.groups) == 0 && p.operators:
		return q, &QueryError{"these are only operators: give a word to look for"}
	case len(p.q.groups) == 0:
		return q, &QueryError{"there is no letter or digit in it: give a word to look for"}
	}
	return p.q, nil
}

// parser reads a query from its beginning to its end.
type parser struct {
	folder    *folder
	q         query
	or, not   bool // what was just read applies to the next term
	operators bool
}

// next reads one part of a query.
func (p *parser) next(s string) (rest string, err error) {
	switch c := s[0]; {
	case c == '"':
		phrase, after, _ := strings.Cut(s[1:], `"`) // one that is not closed goes to the end
		return after, p.add(phrase, false)
	case c == '-' && len(s) > 1 && s[1] != ' ' && s[1] != '-':
		p.not = true
		return s[1:], nil
	case isBlank(c), c == '-', c == '*':
		return s[1:], nil
	}
	n := strings.IndexAny(s, " \t\r\n\v\f\"")
	if n < 0 {
		n = len(s)
	}
	word := s[:n]
	switch word {
	case "AND":
		p.operators = true
		return s[n:], nil
	case "OR", "|":
		p.operators, p.or = true, true
		return s[n:], nil
	case "NOT":
		p.operators, p.not = true, true
		return s[n:], nil
	}
	whole, prefix := strings.CutSuffix(word, "*")
	return s[n:], p.add(whole, prefix)
}

func isBlank(c byte) bool { return c == ' ' || ('\t' <= c && c <= '\r') }

// add takes a word or phrase, which may have several pieces.
func (p *parser) add(text string, prefix bool) error {
	var terms []term
	p.folder.pieces(text, func(x piece) bool {
		last := len(terms) - 1
		if x.grams || last < 0 || terms[last].grams {
			terms = append(terms, term{words: []string{x.folded}, grams: x.grams})
		} else {
			terms[last].words = append(terms[last].words, x.folded)
		}
		return true
	})
	or, not := p.or, p.not
	p.or, p.not = false, false
	if len(terms) == 0 {
		return nil
	}
	if last := &terms[len(terms)-1]; prefix && !last.grams {
		word := last.words[len(last.words)-1]
		if utf8.RuneCountInString(word) < leastStart {
			return &QueryError{fmt.Sprintf("%s*: give at least %d letters before the *", word, leastStart)}
		}
		last.prefix = true
	}
	switch {
	case not:
		p.q.not = append(p.q.not, terms...)
	case or && len(p.q.groups) > 0 && len(terms) == 1:
		last := len(p.q.groups) - 1
		p.q.groups[last] = append(p.q.groups[last], terms[0])
	default:
		for _, t := range terms {
			p.q.groups = append(p.q.groups, []term{t})
		}
	}
	return nil
}

// match is a term in the language of FTS5. Its words have letters, digits and marks only, so that no quote
// ends early.
func (t term) match() string {
	if !t.grams {
		s := `"` + strings.Join(t.words, " ") + `"`
		if t.prefix {
			s += "*"
		}
		return s
	}
	run := t.words[0]
	switch n := utf8.RuneCountInString(run); {
	case n == 1:
		return oneCharacter + run + `"`
	case n < gramLength:
		return `"` + run + `"*`
	}
	return `"` + string(appendGrams(nil, run, false)) + `"`
}

// oneCharacter begins the match of a single character, which has a column of its own.
const oneCharacter = `{single} : "`

// match is a query in the language of FTS5, for rows that have all tags.
func (q query) match(tags string) string {
	var b strings.Builder
	b.WriteString(tags)
	for _, g := range q.groups {
		b.WriteString(" AND (" + matches(g) + ")")
	}
	if len(q.not) == 0 {
		return b.String()
	}
	return "(" + b.String() + ") NOT (" + matches(q.not) + ")"
}

// inTitle is match for rows that have all of it in their titles; "" when titles cannot tell.
func (q query) inTitle(tags string) string {
	s := q.match(tags)
	if len(q.not) > 0 || strings.Contains(s, oneCharacter) {
		return ""
	}
	return s
}

// isPlain reports whether each term is one word.
func (q query) isPlain() bool {
	return !slices.ContainsFunc(append(q.terms(), q.not...), func(t term) bool {
		return t.grams || len(t.words) > 1
	})
}

func matches(terms []term) string {
	out := make([]string, len(terms))
	for i, t := range terms {
		out[i] = "(" + t.match() + ")"
	}
	return strings.Join(out, " OR ")
}

// terms are all terms that pages may have, for ranking and excerpts.
func (q query) terms() []term { return slices.Concat(q.groups...) }

// CheckWords returns the error of a query, as Search does.
func CheckWords(words string) error {
	_, err := parse(words)
	return err
}
