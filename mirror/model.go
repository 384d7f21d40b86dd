// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"slices"
	"strings"

	"mirrord/policy"
	"mirrord/relocate"
	"mirrord/site"
	"mirrord/store"
)

// The history of a site is what its runs have observed (store.Observation), by the numbers of URLs. Policies are planned and rules mined from it, and
// both see the site as directories of URLs: those of the primary origin from the root on, those of others below @host.

// dirTable numbers the directories of URLs, parents first.
type dirTable struct {
	primary string // origin
	num     map[string]policy.Dir
	path    []string // by number; the root's is ""
	parent  []policy.Dir

	origin, dir string // of the URL before
	last        policy.Dir
}

func newDirTable(primary string) *dirTable {
	return &dirTable{primary: primary, num: map[string]policy.Dir{"": policy.Root}, path: []string{""}, parent: []policy.Dir{policy.Root}}
}

// of returns the number of the directory in which a URL lies.
func (d *dirTable) of(u site.URL) policy.Dir {
	if u.Dir() != d.dir || u.Origin() != d.origin {
		d.origin, d.dir = u.Origin(), u.Dir()
		d.last = d.add(dirPath(u, d.primary))
	}
	return d.last
}

func (d *dirTable) add(path string) policy.Dir {
	if n, ok := d.num[path]; ok {
		return n
	}
	up := policy.Root
	if i := strings.LastIndexByte(path, '/'); i >= 0 {
		up = d.add(path[:i])
	}
	n := policy.Dir(len(d.path))
	path = strings.Clone(path)
	d.num[path] = n
	d.path, d.parent = append(d.path, path), append(d.parent, up)
	return n
}

// dirPath is the path of a URL's directory, without slashes at its ends. Empty names, of which paths are free to have some, count as none.
func dirPath(u site.URL, primary string) string {
	p := strings.Trim(u.Dir(), "/")
	if strings.Contains(p, "//") {
		p = strings.Join(strings.FieldsFunc(p, func(c rune) bool { return c == '/' }), "/")
	}
	if u.Origin() == primary {
		return p
	}
	if p == "" {
		return "@" + u.Host()
	}
	return "@" + u.Host() + "/" + p
}

// siteModel is what a policy is planned from.
type siteModel struct {
	*policy.Model
	dirs   *dirTable
	looked []uint32          // by URL: the last run that looked at it; 0: none did
	last   int               // number of the latest run
	whole  int64             // complete runs, as far as they are believed
	died   map[uint32]uint32 // of URLs that are not in the mirror: the run that found them so
}

// learnedRuns is how many of the latest runs a model learns from. Of those before them it knows what entered and left.
const learnedRuns = 500

// learn makes the model of the site of the URL table, whose units have the numbers of the URLs. The run that is under way is no history.
func (r *run) learn() (*siteModel, error) {
	t := r.table.Settled()
	m := &siteModel{
		Model:  policy.NewModel(),
		dirs:   newDirTable(r.layout.Primary),
		looked: make([]uint32, t.Len()),
		died:   map[uint32]uint32{},
	}
	runs := 0
	in := make([]bool, t.Len()) // before the runs that are learned
	err := r.site.Observations(func(o *store.Observation) error {
		if o.Run != r.state.Number {
			runs++
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	skip := runs - learnedRuns
	each := func(s store.IDs, f func(id uint32)) {
		for id := range s.All() {
			if id >= t.Len() {
				break
			}
			f(id)
		}
	}
	if skip > 0 {
		n := 0
		err = r.site.Observations(func(o *store.Observation) error {
			if n++; n <= skip {
				each(o.Entered, func(id uint32) { in[id] = true })
				each(o.Left, func(id uint32) { in[id] = false })
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	mimes, docs := t.MIMEs(), documentTypes(t.MIMEs())
	decides := r.o.policyOf(r.job).Listings
	for id, s := range t.All() {
		d, k, name := policy.Root, policy.Page, ""
		if s.Given() {
			u := t.URL(id)
			d = m.dirs.of(u)
			for m.Dirs() < len(m.dirs.path) {
				if _, err := m.AddDir(m.dirs.parent[m.Dirs()]); err != nil {
					return nil, err
				}
			}
			k, name = unitKind(u, mimes[s.Type()], docs[s.Type()]), unitName(u)
			if decides && r.listings.has(id) {
				k, name = policy.Listing, ""
			}
		}
		if _, err := m.AddNamed(d, k, name, in[id]); err != nil {
			return nil, err
		}
	}
	n := 0
	err = r.site.Observations(func(o *store.Observation) error {
		if o.Run == r.state.Number {
			return nil
		}
		m.last = max(m.last, o.Run)
		if !o.Doubtful {
			if o.Complete {
				m.whole++
			}
			for _, s := range [...]store.IDs{o.Asked, o.Spared} {
				each(s, func(id uint32) {
					m.looked[id] = uint32(o.Run)
					if !t.State(id).Governed() && m.died[id] == 0 {
						m.died[id] = uint32(o.Run)
					}
				})
			}
			each(o.Left, func(id uint32) { m.died[id] = uint32(o.Run) })
			each(o.Entered, func(id uint32) { delete(m.died, id) })
		}
		if n++; n <= skip {
			return nil
		}
		run := policy.Run{Time: o.Time}
		if !o.Doubtful { // else what it found may be an error of the site: time went by
			run.Asked, run.Spared, run.Changed = policy.Spans(o.Asked), policy.Spans(o.Spared), policy.Spans(o.Changed)
			run.Entered, run.Left = policy.Spans(o.Entered), policy.Spans(o.Left)
			if n > 1 {
				run.Brought = policy.Spans(r.namedBy(o.Entered))
			}
		}
		m.Learn(&run)
		return nil
	})
	if err != nil {
		return nil, err
	}
	for id, s := range t.All() {
		m.SetIn(policy.ID(id), s.Governed())
	}
	return m, nil
}

// namedBy returns the documents that were the first to name some URLs.
func (r *run) namedBy(ids store.IDs) (out store.IDs) {
	t := r.table.Settled()
	var docs []uint32
	for id := range ids.All() {
		if id >= t.Len() {
			break
		}
		if ref := t.State(id).Referrer(); ref > 0 && (len(docs) == 0 || docs[len(docs)-1] != ref-1) {
			docs = append(docs, ref-1)
		}
	}
	slices.Sort(docs)
	for _, id := range slices.Compact(docs) {
		out.Add(id)
	}
	return out
}

// documentTypes says which of some MIME types are those of documents, which have links.
func documentTypes(mimes []string) []bool {
	out := make([]bool, len(mimes))
	for i, m := range mimes {
		out[i] = m != "" && relocate.Detect(m, site.URL{}, nil) != relocate.Unknown
	}
	return out
}

// unitKind tells pages from assets, by the type that the site gave, and by the name when it gave none.
func unitKind(u site.URL, mime string, document bool) policy.Kind {
	switch {
	case mime == "":
		return policy.KindOf(u.Path())
	case document && mime != "text/css" && !strings.HasPrefix(mime, "image/"):
		return policy.Page
	}
	return policy.Asset
}

// unitName is what units of the same kind in different directories have in common: the last name of the path, "/" for a directory's own page.
func unitName(u site.URL) string {
	p := u.Path()
	if name := p[strings.LastIndexByte(p, '/')+1:]; name != "" {
		return name
	}
	return "/"
}
