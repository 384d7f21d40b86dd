package mirror

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mirrord/phm"
	"mirrord/site"
	"mirrord/store"
)

// With repair = true a link to a page of another site, that is known to be broken and of which an equivalent copy is known, leads to that copy in the
// published pages. Nobody is asked: what is known is what the other mirrors of this state have recorded, and which pairs of base URLs a test found to be
// interchangeable. docs/replicas.md has the rules.

// repairs are the links to other sites that this run repairs. The zero value repairs none.
type repairs struct {
	cures map[string]cure // by the URL that is broken
	hash  string          // of cures; "" when they are those of the published version because some mirror could not be read
	on    bool            // the fact is to be written
	links int             // that the version which was published repairs
}

// cure is where a broken link leads instead.
type cure struct{ to, why string }

// Of the knowledge of others: how long what a mirror has recorded of a broken page says something, how old its last run may be, and how many broken pages are
// held in memory at most.
const (
	brokenFor    = 90 * 24 * time.Hour
	knownFor     = 30 * 24 * time.Hour
	mostCures    = 100_000
	silentRuns   = 3 // runs in a row without any answer of the origin, over silentFor, until it counts as failing
	silentFor    = 7 * 24 * time.Hour
	lookedRuns   = 50     // of a mirror, the last ones; more only of one that had no answer in any of them
	manyRuns     = 1000   // in which a job that runs four times an hour has its silentFor
	mostCompared = 20_000 // pages that are compared with the copy by more than the digests of their records
	mostOpen     = 32     // mirrors that stay open from one origin to the next
)

// repairFact says for which version, and with which cures, all documents were looked at.
const repairFact = "repair"

type repairRecord struct {
	Hash    string `json:"hash"`
	Version int    `json:"version"`
}

// errBusy says that a mirror whose knowledge is needed cannot be read now.
var errBusy = errors.New("another mirror cannot be read now")

// prepareRepairs finds out which links to other sites are repaired, and marks the documents in which that differs from the published version.
func (r *run) prepareRepairs(ctx context.Context) error {
	var last *repairRecord
	v, err := r.site.Fact(repairFact)
	if err != nil {
		return err
	}
	if v != nil {
		if last = new(repairRecord); json.Unmarshal(v, last) != nil {
			*last = repairRecord{}
		}
	}
	if !r.job.Repair && last == nil {
		return nil
	}
	x := &r.offsite
	if r.o.repairs != nil {
		x.on, x.cures = true, r.o.repairs
		published, err := publishedRepairs(r.site)
		if err != nil {
			return err
		}
		return errors.Join(r.noteRepairs(repairRecord{}), r.markRepairs(ctx, published))
	}
	if r.job.Repair {
		switch x.cures, err = r.findCures(ctx); {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil: // damage there is none here: this mirror is published all the same
			if !errors.Is(err, errBusy) {
				err = fmt.Errorf("what other mirrors know cannot be read: %w", err)
			}
			r.notes.cap("repair: " + err.Error() + ": links to other sites stay as they are")
			x.on = last != nil
			return r.keepCures()
		}
		maps.DeleteFunc(x.cures, func(_ string, c cure) bool { // a link to a file of the mirror would have to follow its place
			_, own := r.table.find([]byte(c.to))
			return own
		})
	}
	if last == nil && len(x.cures) == 0 {
		return nil
	}
	x.on, x.hash = true, hashOf(x.cures)
	if r.live == nil || last != nil && last.Hash == x.hash && last.Version == r.live.Number {
		return r.noteRepairs(repairRecord{})
	}
	published, err := publishedRepairs(r.site)
	if err != nil {
		return err
	}
	if len(published) == 0 && len(x.cures) == 0 {
		return nil
	}
	if err := r.noteRepairs(repairRecord{}); err != nil {
		return err
	}
	return r.markRepairs(ctx, published)
}

// repairsIn returns the repaired links of a kept version; nil when no version ever had any.
func repairsIn(st *store.State, s *store.Site, number int) (map[string]cure, error) {
	if v, err := s.Fact(repairFact); v == nil || err != nil {
		return nil, err
	}
	p, err := OpenPast(st, s, number)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	out := map[string]cure{}
	for i := range p.files {
		links, err := repairsOf(&p.files[i])
		if err != nil {
			return nil, err
		}
		for _, l := range links {
			out[l.Was] = cure{l.To, l.Why}
		}
	}
	return out, nil
}

// keepCures makes the repaired links of the published version those of this run.
func (r *run) keepCures() error {
	published, err := publishedRepairs(r.site)
	if err != nil {
		return err
	}
	r.offsite.cures = map[string]cure{}
	for _, links := range published {
		for _, l := range links {
			r.offsite.cures[l.Was] = cure{l.To, l.Why}
		}
	}
	return nil
}

// repaired notes that the published version has the repaired links of this run.
func (r *run) repaired() error {
	if !r.offsite.on {
		return nil
	}
	v := repairRecord{Hash: r.offsite.hash}
	if r.live != nil {
		v.Version = r.live.Number
	}
	if r.published != nil {
		v.Version = r.published.Number
	}
	return r.noteRepairs(v)
}

func (r *run) noteRepairs(rec repairRecord) error {
	v, err := json.Marshal(rec)
	if err != nil {
		return err
	}
	return r.site.SetFact(repairFact, v)
}

func hashOf(cures map[string]cure) string {
	h := sha256.New()
	for _, u := range slices.Sorted(maps.Keys(cures)) {
		fmt.Fprintf(h, "%s %s\n", u, cures[u].to)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// direction is one way to read a pair that a test found to be interchangeable: what is broken under from may be under to.
type direction struct {
	from, to site.URL
	pair     store.PairRecord
	named    bool // a job names to as an alternate of from: somebody answers for it
}

// findCures looks for broken pages and their equivalents in the other mirrors of the state.
func (r *run) findCures(ctx context.Context) (map[string]cure, error) {
	pairs, err := r.o.State.Pairs()
	if err != nil {
		return nil, err
	}
	var ways []direction
	for _, p := range pairs {
		if !p.Equal || r.now().Sub(p.Tested) > testedFor {
			continue
		}
		one, _, err1 := site.Parse(p.Base1)
		two, _, err2 := site.Parse(p.Base2)
		if err1 == nil && err2 == nil {
			ways = append(ways, direction{one, two, p, p.Named}, direction{two, one, p, false})
		}
	}
	if len(ways) == 0 {
		return nil, nil
	}
	slices.SortFunc(ways, func(a, b direction) int { // the best first
		return cmp.Or(strings.Compare(a.pair.Level, b.pair.Level), strings.Compare(a.from.String(), b.from.String()), strings.Compare(a.to.String(), b.to.String()))
	})
	k, err := r.newNeighbours()
	if err != nil {
		return nil, err
	}
	of := map[string][]direction{} // by the origin of what is broken, the best first
	for _, w := range ways {
		of[w.from.Origin()] = append(of[w.from.Origin()], w)
	}
	cures := map[string]cure{}
	for _, origin := range slices.Sorted(maps.Keys(of)) {
		for _, name := range k.names[origin] {
			for _, dir := range topmost(of[origin]) { // a family of many copies has many pairs: records are read once
				if err := k.cures(ctx, name, dir, of[origin], cures); err != nil {
					return nil, errors.Join(err, k.close())
				}
			}
		}
		if len(k.open) > mostOpen {
			if err := k.close(); err != nil {
				return nil, err
			}
		}
	}
	return cures, k.close()
}

// topmost returns the directories of which something may be broken, without those that lie below others of them.
func topmost(ways []direction) (out []site.URL) {
	all := slices.SortedFunc(func(yield func(site.URL) bool) {
		for _, w := range ways {
			if !yield(w.from) {
				return
			}
		}
	}, func(a, b site.URL) int { return strings.Compare(a.String(), b.String()) })
	for _, u := range all {
		if n := len(out); n == 0 || !strings.HasPrefix(u.String(), out[n-1].String()) {
			out = append(out, u)
		}
	}
	return out
}

// neighbours are the other mirrors of the state.
type neighbours struct {
	r        *run
	names    map[string][]string // by origin
	open     map[string]*neighbour
	frames   *store.FrameReader
	compared int // pages, with their copies, by their text
}

type neighbour struct {
	*store.Site
	name    string
	ended   time.Time
	since   int // number of the first of the runs that were looked at
	verdict string
	silent  map[string]bool // hosts that did not answer in any run of late
}

func (r *run) newNeighbours() (*neighbours, error) {
	names, err := r.o.State.Sites()
	if err != nil {
		return nil, err
	}
	k := &neighbours{r: r, names: map[string][]string{}, open: map[string]*neighbour{}}
	for _, name := range names {
		if name == r.site.Name {
			continue
		}
		meta, err := PublishedMeta(r.o.State, name)
		if err != nil {
			continue // it has no version, or verify reports it
		}
		origins := map[string]bool{meta.Primary: true}
		for _, raw := range meta.Origins {
			if u, _, err := site.Parse(raw); err == nil {
				origins[u.Origin()] = true
			}
		}
		for o := range origins {
			k.names[o] = append(k.names[o], name)
		}
	}
	return k, nil
}

// PublishedMeta reads what the published version of a site says of itself: without its database, and without keeping a run from it. A site that has no version is
// store.ErrNoVersion.
func PublishedMeta(st *store.State, name string) (*phm.Meta, error) {
	root, err := os.OpenRoot(filepath.Join(st.Dir, "sites", name))
	if err != nil {
		return nil, fmt.Errorf("site %s: %w", name, err)
	}
	defer root.Close()
	tree, err := root.OpenRoot("current")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("site %s: %w", name, store.ErrNoVersion)
	} else if err != nil {
		return nil, fmt.Errorf("site %s: %w", name, err)
	}
	defer tree.Close()
	return phm.OpenMeta(tree.FS())
}

// of names the mirrors that have the origin of a URL.
func (k *neighbours) of(u site.URL) []string { return k.names[u.Origin()] }

// get opens a mirror; nil is one of which nothing is known.
func (k *neighbours) get(name string) (*neighbour, error) {
	if n, ok := k.open[name]; ok {
		return n, nil
	}
	runs, err := k.r.o.State.Runs(name, lookedRuns)
	if err != nil {
		return nil, err
	}
	if len(runs) == 0 || k.r.now().Sub(runs[0].Ended) > knownFor {
		k.open[name] = nil
		return nil, nil
	}
	if runs[0].Verdict == Suspicious.String() {
		return nil, fmt.Errorf("%w: the last run of %s was suspicious", errBusy, name)
	}
	s, err := k.r.o.State.ReadSite(name)
	switch {
	case errors.Is(err, store.ErrLocked):
		return nil, fmt.Errorf("%w: %w", errBusy, err)
	case errors.Is(err, store.ErrNoSite):
		k.open[name] = nil
		return nil, nil
	case err != nil:
		return nil, err
	}
	n := &neighbour{Site: s, name: name, ended: runs[0].Ended, verdict: runs[0].Verdict}
	k.open[name] = n
	var first Summary
	if json.Unmarshal(runs[len(runs)-1].Summary, &first) == nil {
		n.since = first.Run
	}
	silent, in := silentHosts(runs)
	if in == lookedRuns && silent == nil { // it runs often
		if runs, err = k.r.o.State.Runs(name, manyRuns); err != nil {
			return nil, err
		}
		silent, _ = silentHosts(runs)
	}
	n.silent = silent
	return n, nil
}

// close lets go of the mirrors. It does not change what was found.
func (k *neighbours) close() (err error) {
	for _, n := range k.open {
		if n != nil {
			err = errors.Join(err, n.Close())
		}
	}
	clear(k.open)
	return err
}

// silentHosts returns the hosts that failed in all of the last runs, newest first, at least silentRuns of them over silentFor, which had no answer of the site; n is
// how many runs in a row had none.
func silentHosts(runs []store.RunRecord) (out map[string]bool, n int) {
	for ; n < len(runs); n++ {
		var sum Summary
		if json.Unmarshal(runs[n].Summary, &sum) != nil || len(sum.Down) == 0 || sum.answers() > 0 {
			break
		}
		now := map[string]bool{}
		for _, host := range sum.Down {
			now[host] = n == 0 || out[host]
		}
		out = now
	}
	if n < silentRuns || runs[0].Started.Sub(runs[n-1].Started) < silentFor {
		return nil, n
	}
	return out, n
}

// answers counts what the site itself answered.
func (s *Summary) answers() int64 {
	n := s.Fetched + s.Unchanged + s.Redirected + s.Gone - s.Spared["listing"] - s.Spared["sitemap"] - s.Spared["expiry"] - s.Reused
	for _, by := range s.Alternates {
		n -= by
	}
	return n
}
