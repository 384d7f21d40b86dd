// SPDX-License-Identifier: Apache-2.0

package find

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Bounds of one search. What matches in more pages than that is ranked by its titles, and by the pages that
// are nearest to the entry points of their mirrors.
const (
	mostMatches = 1000 // rows that are looked at
	mostRanked  = 150  // texts that are read, to rank them
	mostReading = 8 << 20
	searchFor   = 10 * time.Second
)

// TextSearch says what to look for.
type TextSearch struct {
	Words  string
	Job    string    // only in this mirror; "": in all
	Only   []string  // only in these mirrors; nil: in all
	At     int       // as the mirror Job was in this version; 0: now, and then what has gone
	AtTime time.Time // as the mirrors were at this time; zero: no such limit
	Under  string    // only URLs that begin so, without a scheme
	Skip   int       // so many results
	Limit  int       // results; 0: 10
	// which directories are copies of one another; nil: no results are rolled up
	Families *Families
}

// In reports whether the pages of a mirror are looked at.
func (s *TextSearch) In(name string) bool {
	return (s.Job == "" || name == s.Job) && (s.Only == nil || slices.Contains(s.Only, name))
}

// SearchResults are what was found.
type SearchResults struct {
	Query   string      `json:"query"`
	Results []FoundPage `json:"results"`
	Lines   int         `json:"lines"`            // results that there are, at least
	Matches int         `json:"matches"`          // pages that match, at least
	More    bool        `json:"more"`             // there are more than were counted
	Behind  []string    `json:"behind,omitempty"` // mirrors whose published version is not in the index yet
}

// FoundPage is one line: a page, or the best page of a collection.
type FoundPage struct {
	Job     string    `json:"job"`
	URL     string    `json:"url"`
	Path    string    `json:"path"` // in the mirror
	Title   string    `json:"title,omitempty"`
	Excerpt []Excerpt `json:"excerpt"`
	// the versions in which the page had the words, as far as the index knows
	First  int        `json:"first"`
	Last   int        `json:"last,omitempty"`  // 0: it has them now
	Since  *time.Time `json:"since,omitempty"` // of version first
	Until  *time.Time `json:"until,omitempty"` // of the version after last: they were gone then
	Gone   bool       `json:"gone,omitempty"`
	Linked int        `json:"linked,omitempty"` // pages that link to it; copies of one page are one
	Same   int        `json:"same,omitempty"`   // other pages that say the same, which have no line of their own

	Collection *FoundCollection `json:"collection,omitempty"` // of a page that has copies

	id    int64
	job   int64
	same  int64
	text  string
	score float64
	place place
}

// Name is its title, or its URL.
func (p *FoundPage) Name() string { return cmp.Or(strings.TrimSpace(p.Title), p.URL) }

// Versions says in which versions a page had the words; "" when it has them since the first version that the
// index knows.
func (p *FoundPage) Versions() string {
	on := func(at *time.Time) string {
		if at == nil {
			return ""
		}
		return " (" + at.UTC().Format(time.DateOnly) + ")"
	}
	switch {
	case !p.Gone && p.First > 1:
		return fmt.Sprintf("since version %d%s", p.First, on(p.Since))
	case !p.Gone:
		return ""
	}
	s := fmt.Sprintf("in version %d%s", p.First, on(p.Since))
	if p.First < p.Last {
		s = fmt.Sprintf("in versions %d%s to %d", p.First, on(p.Since), p.Last)
	}
	if p.Until != nil {
		s += "; gone since " + p.Until.UTC().Format(time.DateOnly)
	}
	return s
}

// Excerpt is a part of a text.
type Excerpt struct {
	Text string `json:"text"`
	Hit  bool   `json:"hit,omitempty"` // it is what was looked for
}

// Search looks for pages. An error in the words is a QueryError.
func (x *Index) Search(ctx context.Context, s TextSearch) (*SearchResults, error) {
	q, err := parse(s.Words)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithTimeout(ctx, searchFor)
	defer stop()
	out, err := x.search(ctx, s, q)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return nil, &QueryError{"this takes too long: give more words, or more letters before a *"}
	}
	return out, damage(err)
}

func (x *Index) search(ctx context.Context, s TextSearch, q query) (*SearchResults, error) {
	s.Limit = cmp.Or(max(s.Limit, 0), 10)
	out := &SearchResults{Query: s.Words, Results: []FoundPage{}}
	tx, err := x.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer tx.Rollback() // nothing was written
	r := reading{
		ctx: ctx,
		x:   x,
		tx:  tx,
		s:   s,
		q:   q,
	}
	if err := r.readJobs(); err != nil || (s.Job != "" && r.only == 0) {
		return out, err
	}
	pages, more, err := r.matches()
	if err != nil {
		return nil, err
	}
	out.More = more
	if pages, err = r.joined(pages); err != nil {
		return nil, err
	}
	out.Matches = len(pages)
	lines := rollUp(pages, s.Families)
	if err := r.rank(lines); err != nil {
		return nil, err
	}
	lines = oneForEachText(oneForEachCollection(lines))
	out.Lines = len(lines)
	lines = lines[min(s.Skip, len(lines)):]
	lines = lines[:min(s.Limit, len(lines))]
	for i := range lines {
		if err := r.show(&lines[i]); err != nil {
			return nil, err
		}
	}
	out.Results = append(out.Results, lines...)
	return out, nil
}

// reading is one search.
type reading struct {
	ctx  context.Context
	x    *Index
	tx   *sql.Tx
	s    TextSearch
	q    query
	jobs map[int64]string
	only int64 // the job that is looked in; 0: all
	// versions that the index knows, by job, oldest first; read when they are needed
	versions map[int64][]DatedVersion
}

func (r *reading) readJobs() error {
	r.jobs, r.versions = map[int64]string{}, map[int64][]DatedVersion{}
	return each(r.ctx, r.tx, "SELECT id, name FROM job", func(scan func(...any) error) error {
		var id int64
		var name string
		err := scan(&id, &name)
		if r.s.In(name) {
			r.jobs[id] = name
			if name == r.s.Job {
				r.only = id
			}
		}
		return err
	})
}

// matches are the rows that match: those of published versions first.
func (r *reading) matches() (out []FoundPage, more bool, err error) {
	seen := map[int64]bool{}
	past := r.s.At > 0 || !r.s.AtTime.IsZero()
	for _, now := range [...]bool{true, false} {
		tags := tagsWanted(r.only, now)
		for _, in := range [...]wordTable{inTitles, inAll} {
			match := r.q.match(tags)
			if in == inTitles {
				match = r.q.inTitle(tags)
			}
			if match == "" {
				continue
			}
			if in == inAll && !r.q.isPlain() {
				in = inWords
			}
			n, err := r.take(in, match, seen, &out)
			// the database makes two of some plain words, such as 2⑴, and the table of plain words has no phrases
			if err != nil && strings.Contains(err.Error(), "phrase queries are not supported") {
				n, err = r.take(inWords, match, seen, &out)
			}
			if err != nil {
				return nil, false, err
			}
			more = more || n >= mostMatches
		}
		if len(out) >= mostMatches && !past {
			break
		}
	}
	if past {
		if out, err = r.then(out); err != nil {
			return nil, false, err
		}
	}
	return out, more, nil
}

// wordTable is one of the tables of words.
type wordTable string

const (
	inAll    wordTable = "terms"
	inWords  wordTable = "words"
	inTitles wordTable = "titles"
)

// take appends the rows of a match in the language of FTS5 that are wanted.
func (r *reading) take(in wordTable, match string, seen map[int64]bool, out *[]FoundPage) (n int, err error) {
	q := "SELECT t.id, t.job, t.url, t.path, t.title, t.first, t.last, t.same, t.named " +
		"FROM (SELECT rowid AS id FROM " + string(in) + " WHERE " + string(in) + " MATCH ? LIMIT ?) w " +
		"JOIN text t ON t.id = w.id"
	err = each(r.ctx, r.tx, q, func(scan func(...any) error) error {
		var p FoundPage
		err := scan(&p.id, &p.job, &p.URL, &p.Path, &p.Title, &p.First, &p.Last, &p.same, &p.Linked)
		n++
		p.Job = r.jobs[p.job]
		_, rest, _ := strings.Cut(p.URL, "://")
		if err == nil && !seen[p.id] && p.Job != "" && strings.HasPrefix(rest, r.s.Under) {
			seen[p.id] = true
			*out = append(*out, p)
		}
		return err
	}, match, mostMatches)
	return n, err
}

// tagged begins tags: no word of a page or a query has it.
const tagged = "\ue000"

// tagsOf are the words that every row has besides those of its page.
func tagsOf(job int64, now bool) string {
	if now {
		return fmt.Sprintf(tagged+"now "+tagged+"j%d", job)
	}
	return fmt.Sprintf(tagged+"past "+tagged+"j%d", job)
}

// tagsWanted asks for rows by their tags.
func tagsWanted(job int64, now bool) string {
	s := tagged + "past"
	if now {
		s = tagged + "now"
	}
	if job > 0 {
		s += fmt.Sprintf(" AND "+tagged+"j%d", job)
	}
	return "(" + s + ")"
}

// then leaves the rows of the version or time that is wanted.
func (r *reading) then(pages []FoundPage) ([]FoundPage, error) {
	var out []FoundPage
	for _, p := range pages {
		vs, err := r.versionsOf(p.job)
		if err != nil {
			return nil, err
		}
		at := 0
		for _, v := range vs {
			if v.Number == r.s.At || (r.s.At == 0 && !v.At.After(r.s.AtTime)) {
				at = v.Number
			}
		}
		if r.s.At > 0 && at == 0 {
			return nil, &QueryError{Why: fmt.Sprintf("at %d: the mirror has no version of that number", r.s.At)}
		}
		k := kept{first: p.First, last: p.Last}
		if at > 0 && k.meets(at, at) {
			out = append(out, p)
		}
	}
	return out, nil
}

// versionsOf are the versions of a mirror that the index knows, oldest first.
func (r *reading) versionsOf(job int64) (out []DatedVersion, err error) {
	if vs, ok := r.versions[job]; ok {
		return vs, nil
	}
	const q = "SELECT number, at FROM version WHERE job = ? ORDER BY number"
	err = each(r.ctx, r.tx, q, func(scan func(...any) error) error {
		var v DatedVersion
		var at int64
		err := scan(&v.Number, &at)
		v.At = time.Unix(at, 0).UTC()
		out = append(out, v)
		return err
	}, job)
	r.versions[job] = out
	return out, err
}

// joined makes one of the rows of a URL: what it says now, or said last, with the versions in which it had
// the words without a break.
func (r *reading) joined(pages []FoundPage) ([]FoundPage, error) {
	type named struct {
		job int64
		url string
	}
	by := map[named]int{}
	var out []FoundPage
	later := slices.Clone(pages)
	slices.SortStableFunc(later, func(a, b FoundPage) int {
		if (a.Last == 0) != (b.Last == 0) {
			return cmp.Compare(a.Last, b.Last) // the present one first
		}
		return cmp.Compare(b.First, a.First)
	})
	for _, p := range later {
		key := named{p.job, p.URL}
		i, ok := by[key]
		if !ok {
			p.Gone = p.Last > 0
			by[key] = len(out)
			out = append(out, p)
			continue
		}
		vs, err := r.versionsOf(p.job)
		if err != nil {
			return nil, err
		}
		broken := slices.ContainsFunc(vs, func(v DatedVersion) bool {
			return p.Last < v.Number && v.Number < out[i].First
		})
		if !broken {
			out[i].First = min(out[i].First, p.First)
		}
	}
	return out, nil
}

// oneForEachText leaves the best of the pages that say the same.
func oneForEachText(pages []FoundPage) []FoundPage {
	by := map[int64]int{}
	var out []FoundPage
	for _, p := range pages {
		if i, ok := by[p.same]; ok {
			out[i].Same++
			continue
		}
		by[p.same] = len(out)
		out = append(out, p)
	}
	return out
}

// show fills in what a result shows.
func (r *reading) show(p *FoundPage) error {
	if p.text == "" {
		if err := r.readText(p); err != nil {
			return err
		}
	}
	p.Excerpt = excerpt(p.text, r.q.terms())
	vs, err := r.versionsOf(p.job)
	if err != nil {
		return err
	}
	for _, v := range vs {
		at := v.At
		switch {
		case v.Number == p.First:
			p.Since = &at
		case p.Gone && v.Number > p.Last && p.Until == nil:
			p.Until = &at
		}
	}
	return nil
}

func (r *reading) readText(p *FoundPage) error {
	var packed []byte
	err := r.tx.QueryRowContext(r.ctx, "SELECT text FROM said WHERE id = ?", p.id).Scan(&packed)
	if err == nil {
		p.text, err = r.x.unpack(packed)
	}
	return err
}
