// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"mirrord/app/archives"
	"mirrord/internal/count"
	"mirrord/replica/collections"
	"mirrord/replica/hash"
	"mirrord/replica/hosts"
	"mirrord/replica/text"
	"mirrord/store/shared"
)

// suggestHosts says what may be done with two hosts, from the tests of these two only. known are their
// numbers of pages; 0 when they were not counted.
func suggestHosts(v *hosts.PairVerdict, known [2]int) string {
	equal := len(v.Equal())
	switch {
	case v.Alias:
		return "one redirects to the other: one host by two names"
	case v.RootOnly:
		return "only the first page is the same: do nothing"
	case !v.Confident:
		return "too few pages were had: look again"
	case v.Interchangeable():
		return "either may stand for the other; " + fullerHost(v, known)
	case v.Level == hosts.Level5:
		return "some of the same words at the same paths, as translations have: keep both"
	case v.Cut[0]+v.Cut[1] > 0 && equal == 0:
		return cutPages(v) + ": keep both"
	case v.Cut[0]+v.Cut[1] > 0:
		return fmt.Sprintf("%s; use only the paths that are equal (%d)", cutPages(v), equal)
	case equal == 0:
		return "single pages are nearly the same, none is equal: see the collections"
	}
	return fmt.Sprintf("use only the paths that are equal (%d)", equal)
}

// suggestTested is suggestHosts of a pair that was tested over the network, which may not have answered.
func suggestTested(v *hosts.PairVerdict, known [2]int) string {
	switch {
	case !v.Level.Mirrors() && v.Level != hosts.Mismatch:
		return "this says nothing of the two, try again later; an earlier test that did counts for 30 days"
	case !v.Level.Mirrors():
		return v.Level.String() + ": neither may stand for the other"
	}
	return suggestHosts(v, known)
}

// suggestRecord is suggestTested of a pair of which only the record of its test is left.
func suggestRecord(p *shared.PairRecord) string {
	v := hosts.PairVerdict{
		Level:     hosts.ParseLevel(p.Level),
		Alias:     p.Alias,
		RootOnly:  p.RootOnly,
		Confident: p.Confident,
	}
	switch {
	case !v.Level.Mirrors():
		return suggestTested(&v, [2]int{})
	case v.Interchangeable():
		return "either may stand for the other"
	case v.Alias || v.RootOnly || !v.Confident || v.Level == hosts.Level5:
		return suggestHosts(&v, [2]int{})
	case len(p.SamePaths) > 0:
		return fmt.Sprintf("use only the paths that are equal (%d)", len(p.SamePaths))
	}
	return "keep both"
}

// fullerHost says which of two hosts has more, and by what that is known.
func fullerHost(v *hosts.PairVerdict, known [2]int) string {
	names := [2]string{v.Host1, v.Host2}
	fuller := func(i int, evidence string) string { return names[i] + " is the fuller: " + evidence }
	for i, other := range [2]int{1, 0} {
		switch {
		case v.Cut[other] > v.Cut[i]:
			const form = "%d of %d pages that were compared have less on %s"
			return fuller(i, fmt.Sprintf(form, v.Cut[other], v.Answered, names[other]))
		case v.Cut[0] == v.Cut[1] && differ(known[i], known[other]):
			return fuller(i, fmt.Sprintf("%s, the other %d", count.Of(known[i], "page"), known[other]))
		}
	}
	for i, other := range [2]int{1, 0} {
		if v.Cut[0] == v.Cut[1] && differ(v.Words[i], v.Words[other]) {
			const form = "%d words in the pages that were compared, the other %d"
			return fuller(i, fmt.Sprintf(form, v.Words[i], v.Words[other]))
		}
	}
	if equal := len(v.Equal()); equal > 0 {
		return fmt.Sprintf("of %d pages that were compared %d are equal, and neither has more", v.Answered, equal)
	}
	return fmt.Sprintf("neither has more in the %d pages that were compared", v.Answered)
}

// differ reports whether one number is the greater by more than a fiftieth.
func differ(a, b int) bool { return 50*(a-b) > a }

// cutPages says of which host pages lack a part of what the other's say.
func cutPages(v *hosts.PairVerdict) string {
	host, n := v.Host1, v.Cut[0]
	if v.Cut[1] > n {
		host, n = v.Host2, v.Cut[1]
	}
	const form = "%d of %d pages that were compared lack a part on %s, or are cut off"
	return fmt.Sprintf(form, n, v.Answered, host)
}

// A copy is a whole one with this share of the pages of the fullest; of at most so many copies of a
// collection at most so many pages are read.
const (
	wholeShare  = 0.9
	readCopies  = 8
	readOfACopy = 16
)

// copyFact is what was seen in one place of a collection.
type copyFact struct {
	sample   []sampledPage // of least hash
	modified time.Time
	words    int
	compared int
}

// sampledPage is a page by its path below the copy.
type sampledPage struct {
	hash uint64
	file replicaFile
}

// add takes a page into the sample, if its hash is small enough.
func (c *copyFact) add(rel string, file replicaFile) {
	if file.modified.After(c.modified) {
		c.modified = file.modified
	}
	p := sampledPage{hash.Token(strings.ToLower(rel)), file}
	if n := len(c.sample); n == readOfACopy && c.sample[n-1].hash <= p.hash {
		return
	}
	at, found := slices.BinarySearchFunc(c.sample, p.hash, func(a sampledPage, h uint64) int {
		return cmp.Compare(a.hash, h)
	})
	if !found {
		c.sample = slices.Insert(c.sample, at, p)
		c.sample = c.sample[:min(len(c.sample), readOfACopy)]
	}
}

// copyFacts looks at the whole copies of collections: what their pages say of the last change, and how much
// the same pages say in each.
func (r *replicaPages) copyFacts(
	ctx context.Context, clusters []collections.DirCluster,
) (map[collections.Address]*copyFact, error) {
	facts := map[collections.Address]*copyFact{}
	dirs := map[string][]string{} // by host
	for i := range clusters {
		for _, cp := range wholeCopies(&clusters[i]) {
			if facts[cp.Address] == nil {
				facts[cp.Address] = new(copyFact)
				dirs[cp.Host] = append(dirs[cp.Host], cp.Path)
			}
		}
	}
	if len(facts) == 0 {
		return facts, nil
	}
	again := replicaPages{trees: r.trees, warn: func(string) {}}
	again.take = func(a collections.Address, file replicaFile) error {
		for _, dir := range dirs[a.Host] {
			if rel, ok := strings.CutPrefix(a.Path, dir); ok {
				facts[collections.Address{Host: a.Host, Path: dir}].add(rel, file)
			}
		}
		return nil
	}
	if err := again.read(ctx); err != nil {
		return nil, err
	}
	for i := range clusters {
		if err := countWords(ctx, wholeCopies(&clusters[i]), facts); err != nil {
			return nil, err
		}
	}
	return facts, nil
}

// wholeCopies are the copies of a collection that are no parts of it, if there are several.
func wholeCopies(c *collections.DirCluster) []collections.Copy {
	n := 0
	for n < len(c.Copies) && n < readCopies && c.Copies[n].Share >= wholeShare {
		n++
	}
	if n < 2 {
		return nil
	}
	return c.Copies[:n]
}

// countWords counts the words of the pages that are in the samples of all copies.
func countWords(
	ctx context.Context, copies []collections.Copy, facts map[collections.Address]*copyFact,
) error {
	in := map[uint64]int{}
	for _, cp := range copies {
		for _, p := range facts[cp.Address].sample {
			in[p.hash]++
		}
	}
	sketcher := text.NewSketcher(text.SketchOptions{})
	for _, cp := range copies {
		f := facts[cp.Address]
		f.words, f.compared = 0, 0
		for _, p := range f.sample {
			if in[p.hash] < len(copies) {
				continue
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			d, err := p.file.digest(sketcher)
			if err != nil {
				return err
			}
			if f.compared++; d != nil {
				f.words += int(d.Words)
			}
		}
	}
	return nil
}

// clusterOf describes a collection. It puts its fullest and freshest copy first.
func clusterOf(c *collections.DirCluster, facts map[collections.Address]*copyFact) ReplicaCollection {
	whole := wholeCopies(c)
	best, why := bestCopy(whole, facts)
	c.Lead(best)
	out := ReplicaCollection{Cardinality: len(c.Copies), Size: c.Size()}
	for _, cp := range c.Copies {
		rc := ReplicaCopy{
			At:     cp.String(),
			Pages:  cp.Pages,
			Share:  cp.Share,
			Shared: cp.Shared,
		}
		if f := facts[cp.Address]; f != nil {
			rc.Compared, rc.Words, rc.Modified = f.compared, f.words, f.modified
		}
		out.Copies = append(out.Copies, rc)
	}
	if len(whole) > 1 {
		out.Suggestion = suggestCopy(out.Copies, len(whole), why)
	} else {
		const form = "%s is the fullest, with %s; the others have parts of it"
		out.Suggestion = fmt.Sprintf(form, out.Copies[0].At, count.Of(out.Copies[0].Pages, "page"))
	}
	return out
}

// bestCopy returns which of some whole copies is the fullest and freshest, and by what.
func bestCopy(copies []collections.Copy, facts map[collections.Address]*copyFact) (best int, why string) {
	if len(copies) == 0 {
		return 0, ""
	}
	better := func(i, j int) string {
		return isBetter(copies[i].Pages, copies[j].Pages, facts[copies[i].Address], facts[copies[j].Address])
	}
	for i := 1; i < len(copies); i++ {
		if better(i, best) != "" {
			best = i
		}
	}
	for i := range copies {
		if by := better(best, i); i != best && by != "" {
			why = by // by what it is better than the last of those that are not as good
		}
	}
	if why == "" {
		why = count.Of(copies[best].Pages, "page") + "; no difference was seen"
		if n := facts[copies[best].Address].compared; n > 0 {
			why += fmt.Sprintf(" in the %d that were compared", n)
		}
	}
	return best, why
}

// suggestCopy names the first of n whole copies, by what it is the best, and what the others have.
func suggestCopy(copies []ReplicaCopy, n int, why string) string {
	same, most := 0, 0
	for _, cp := range copies[1:n] {
		if float64(cp.Shared) >= wholeShare*float64(copies[0].Pages) {
			same++
		} else {
			most++
		}
	}
	var rest []string
	if same > 0 {
		rest = append(rest, count.Of(same, "other place has", "other places have")+" nearly all of it")
	}
	if most > 0 {
		rest = append(rest,
			count.Of(most, "other place has", "other places have")+" as many pages, not all of them the same")
	}
	return fmt.Sprintf("mirror %s once (%s); %s", copies[0].At, why, strings.Join(rest, ", "))
}

// isBetter says by what a copy of n pages is fuller or fresher than one of m; "" when it is not.
func isBetter(n, m int, a, b *copyFact) string {
	switch {
	case differ(n, m):
		return fmt.Sprintf("the fullest: %s, others %d", count.Of(n, "page"), m)
	case differ(m, n):
		return ""
	case differ(a.words, b.words):
		return fmt.Sprintf("the fullest: %d words in %s, others %d", a.words, count.Of(a.compared, "page"), b.words)
	case differ(b.words, a.words):
		return ""
	case a.modified.After(b.modified) && !b.modified.IsZero():
		const form = "the freshest: changed on %s, others on %s"
		return fmt.Sprintf(form, a.modified.UTC().Format(archives.TimeForm),
			b.modified.UTC().Format(archives.TimeForm))
	}
	return ""
}
