// SPDX-License-Identifier: Apache-2.0

package collections

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mirrord/replica/hash"
	"mirrord/replica/text"
	"mirrord/testing/replicatest"
)

// copyTruth is a copy of a collection: of what, in which language, and its number of pages.
type copyTruth struct {
	family, lang string
	pages        int
}

func readCopies(t testing.TB, c *replicatest.Corpus) map[string]*copyTruth {
	out := map[string]*copyTruth{}
	for _, line := range replicatest.ReadLines(t, filepath.Join(c.Dir, "truth-copies.tsv"))[1:] {
		f := strings.Split(line, "\t")
		out[f[0]] = &copyTruth{family: f[1]}
	}
	for i := range c.Pages {
		if cp := out[c.Pages[i].Copy]; cp != nil {
			cp.lang = c.Pages[i].Lang
			cp.pages++
		}
	}
	return out
}

func digestsOf(c *replicatest.Corpus) (pages []Address, digests []text.ContentDigest) {
	s := text.NewSketcher(text.SketchOptions{})
	made := map[string]text.ContentDigest{}
	for i := range c.Pages {
		blob := c.Pages[i].Blob
		if _, ok := made[blob]; !ok {
			made[blob] = s.HTML(c.Blobs[blob])
		}
		pages = append(pages, Address{c.Pages[i].Host, c.Pages[i].Path})
		digests = append(digests, made[blob])
	}
	return pages, digests
}

// sameDoc says whether two pages are of one document.
func sameDoc(p, q *replicatest.CorpusPage) bool {
	return p.Family == q.Family && p.Lang == q.Lang && p.Key == q.Key
}

// Pages that are said to be the same are of one document, and pages of one document are said to be the same.
// Pages of the same words but of another origin count for nothing: they are duplicates too.
func TestPageAccuracy(t *testing.T) {
	c := replicatest.ReadCorpus(t)
	if c == nil {
		return
	}
	pages, digests := digestsOf(c)
	found := findAll(t, pages, digests)
	docs := map[[3]string]int{}
	for i := range c.Pages {
		docs[[3]string{c.Pages[i].Family, c.Pages[i].Lang, c.Pages[i].Key}]++
	}
	of, right, wrong := 0, 0, 0
	for _, n := range docs {
		of += n * (n - 1) / 2
	}
	count := func(p, q uint32) {
		switch {
		case !found.same(p, q):
		case sameDoc(&c.Pages[p], &c.Pages[q]):
			right++
		case digests[p].Text != digests[q].Text:
			wrong++
		}
	}
	for _, members := range found.sets.All(2) {
		for i, p := range members {
			for _, q := range members[i+1:] {
				count(p, q)
			}
		}
	}
	number := map[Address]uint32{}
	for i, a := range pages {
		number[a] = uint32(i)
	}
	for i, a := range pages {
		for _, there := range found.elsewhere(a) {
			if q, ok := number[there]; ok && int(q) > i && found.sets.Find(q) != found.sets.Find(uint32(i)) {
				count(uint32(i), q)
			}
		}
	}
	precision, recall := float64(right)/float64(right+wrong), float64(right)/float64(of)
	t.Logf("%d pairs of pages of one document: precision %.3f, recall %.3f", of, precision, recall)
	if precision < 0.95 || recall < 0.90 {
		t.Errorf("precision %.3f, recall %.3f; want 0.95 and 0.90", precision, recall)
	}
}

// Copies that are found are copies, and copies of a collection are found.
func TestCopyAccuracy(t *testing.T) {
	c := replicatest.ReadCorpus(t)
	if c == nil {
		return
	}
	copies := readCopies(t, c)
	related := relatedCopies(t, c)
	isFound, families := map[string]bool{}, map[string]bool{}
	right, wrong := 0, 0
	for r, n := range related {
		a, b := copies[r[0]], copies[r[1]]
		if a == nil || b == nil || n < 10 || 2*n < min(a.pages, b.pages) {
			continue
		}
		if a.family == b.family && a.lang == b.lang {
			right++
			isFound[r[0]], isFound[r[1]] = true, true
			families[a.family+" "+a.lang] = true
		} else {
			wrong++
			t.Logf("wrong: %s and %s: %d", r[0], r[1], n)
		}
	}
	of, all := 0, map[string]bool{}
	for name, a := range copies {
		for other, b := range copies {
			if other != name && a.family == b.family && a.lang == b.lang && a.pages >= 10 && b.pages >= 10 {
				of++
				all[a.family+" "+a.lang] = true
				if !isFound[name] {
					t.Logf("missed: %s (%s, %d pages)", name, a.family, a.pages)
				}
				break
			}
		}
	}
	precision, recall := float64(right)/float64(right+wrong), float64(len(isFound))/float64(of)
	t.Logf("%d of %d copies (%.3f), %d of %d families; of %d pairs of copies %d wrong: precision %.3f",
		len(isFound), of, recall, len(families), len(all), right+wrong, wrong, precision)
	if precision < 0.98 || recall < 0.95 || len(families) < len(all) {
		t.Errorf("precision %.3f, recall %.3f, %d families; want 0.98, 0.95 and %d", precision, recall,
			len(families), len(all))
	}
}

// Copies as the command lists them: each place is a copy of the first one of its cluster, and every copy is
// listed.
func TestPrintedCopies(t *testing.T) {
	c := replicatest.ReadCorpus(t)
	if c == nil {
		return
	}
	copies := readCopies(t, c)
	pages, digests := digestsOf(c)
	clusters := Clusters(findAll(t, pages, digests).pairs)
	right, wrong, listed := 0, 0, map[string]bool{}
	for _, cluster := range clusters {
		first := copiesBelow(c, cluster.Copies[0].Address)
		for _, cp := range cluster.Copies[1:] {
			good := false
			for name := range copiesBelow(c, cp.Address) {
				for other := range first {
					a, b := copies[name], copies[other]
					if name != other && a != nil && b != nil && a.family == b.family && a.lang == b.lang {
						good, listed[name], listed[other] = true, true, true
					}
				}
			}
			if right++; !good {
				right--
				wrong++
				t.Logf("wrong: %v is no copy of %v", cp, cluster.Copies[0])
			}
		}
	}
	of, missed := 0, 0
	for name, a := range copies {
		for other, b := range copies {
			if other != name && a.family == b.family && a.lang == b.lang && a.pages >= 10 && b.pages >= 10 {
				if of++; !listed[name] {
					missed++
					t.Logf("missed: %s (%s, %d pages)", name, a.family, a.pages)
				}
				break
			}
		}
	}
	precision, recall := float64(right)/float64(right+wrong), 1-float64(missed)/float64(of)
	t.Logf("%d clusters; %d places listed, %d wrong: precision %.3f; recall %.3f of %d copies", len(clusters),
		right+wrong, wrong, precision, recall, of)
	if precision < 0.98 || recall < 0.99 {
		t.Errorf("precision %.3f, recall %.3f; want 0.98 and 0.99", precision, recall)
	}
}

// copiesBelow are the copies that a tenth and more of the pages below a directory are of.
func copiesBelow(c *replicatest.Corpus, dir Address) map[string]bool {
	n, all := map[string]int{}, 0
	for i := range c.Pages {
		if p := &c.Pages[i]; p.Host == dir.Host && strings.HasPrefix(p.Path, dir.Path) {
			n[p.Copy]++
			all++
		}
	}
	out := map[string]bool{}
	for name, m := range n {
		if 10*m >= all {
			out[name] = true
		}
	}
	return out
}

// relatedCopies counts, for two copies, the pages of the one that lie in a directory pair with pages of the
// other of their group.
func relatedCopies(t testing.TB, c *replicatest.Corpus) map[[2]string]int {
	pages, digests := digestsOf(c)
	found := findAll(t, pages, digests)
	groups := found.sets
	of := map[string][]uint32{}
	for i := range c.Pages {
		of[c.Pages[i].Host] = append(of[c.Pages[i].Host], uint32(i))
	}
	out := map[[2]string]int{}
	for _, pair := range found.pairs {
		in := map[uint32][]uint32{}
		for _, q := range of[pair.B.Host] {
			if strings.HasPrefix(c.Pages[q].Path, pair.B.Path) {
				in[groups.Find(q)] = append(in[groups.Find(q)], q)
			}
		}
		for _, p := range of[pair.A.Host] {
			if !strings.HasPrefix(c.Pages[p].Path, pair.A.Path) {
				continue
			}
			var seen []string
			for _, q := range in[groups.Find(p)] {
				if renamed := pair.A.Path == dirOf(c.Pages[p].Path) ||
					pair.B.Path == dirOf(c.Pages[q].Path); (!sameEnds(c.Pages[p].Path, c.Pages[q].Path) && !renamed) ||
					slices.Contains(seen, c.Pages[q].Copy) {
					continue
				}
				seen = append(seen, c.Pages[q].Copy)
				out[[2]string{c.Pages[p].Copy, c.Pages[q].Copy}]++
			}
		}
	}
	return out
}

// sitePages makes pages of a host that say what their names say.
func sitePages(host, prefix, suffix string, from, to int) (pages []Address, digests []text.ContentDigest) {
	s := text.NewSketcher(text.SketchOptions{})
	for i := from; i < to; i++ {
		var b strings.Builder
		for j := range 40 {
			fmt.Fprintf(&b, "w%d ", hash.Mix(uint64(i)<<16|uint64(j))%5000)
		}
		pages = append(pages, Address{host, fmt.Sprintf("%sd%d/p%d%s", prefix, i%3, i, suffix)})
		digests = append(digests, s.Plain([]byte(b.String())))
	}
	return pages, digests
}

func TestFind(t *testing.T) {
	var pages []Address
	var digests []text.ContentDigest
	add := func(p []Address, d []text.ContentDigest) {
		pages, digests = append(pages, p...), append(digests, d...)
	}
	add(sitePages("a.test", "/doc/x/", ".html", 0, 60))
	add(sitePages("b.test", "/pub/mirror/x/", ".html", 0, 30)) // a part, renamed above
	add(sitePages("c.test", "/x/", ".htm", 0, 60))             // files renamed
	add(sitePages("a.test", "/other/", ".html", 1000, 1050))
	add(sitePages("d.test", "/few/", ".html", 1000, 1005)) // too few
	f := findAll(t, pages, digests)
	var got []string
	for _, c := range Clusters(f.pairs) {
		for _, cp := range c.Copies {
			got = append(got, fmt.Sprintf("%v %d %.1f", cp.Address, cp.Pages, cp.Share))
		}
		got = append(got, "")
	}
	want := []string{"a.test/doc/x/ 60 1.0", "c.test/x/ 60 1.0", "b.test/pub/mirror/x/ 30 0.5", ""}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
	if got, want := f.elsewhere(Address{"a.test", "/doc/x/d1/p4.html"}),
		(Address{"b.test", "/pub/mirror/x/d1/p4.html"}); !slices.Contains(got, want) {
		t.Errorf("elsewhere: %v", got)
	}
	if got := f.elsewhere(Address{"z.test", "/"}); len(got) != 0 {
		t.Errorf("elsewhere of an unknown host: %v", got)
	}
	if !f.same(0, 60) || f.same(0, 1) {
		t.Error("same")
	}
}
