// SPDX-License-Identifier: Apache-2.0

package hosts

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"mirrord/testing/replicatest"
)

// population is an invented set of hosts, and which of them are mirrors of one another.
type population struct {
	r     *rand.Rand
	paths map[string][]string // by host
	truth map[[2]string]string
}

func newPopulation(seed uint64) *population {
	return &population{rand.New(rand.NewPCG(seed, 1)), map[string][]string{}, map[[2]string]string{}}
}

func (p *population) word() string {
	const syllables = "bakoritenmusalverpodingaloxinertuhelformizacor"
	s := ""
	for range 3 + p.r.IntN(2) {
		at := p.r.IntN(len(syllables)/2) * 2
		s += syllables[at : at+2]
	}
	return s
}

// host makes up a name.
func (p *population) host() string {
	for {
		h := []string{"www.", "ftp.", "mirror.", ""}[p.r.IntN(4)] + p.word() + "." + p.word() +
			[]string{".edu", ".de", ".ac.jp"}[p.r.IntN(3)]
		if p.paths[h] == nil {
			p.paths[h] = []string{}
			return h
		}
	}
}

// own makes n paths of a site of its own.
func (p *population) own(n int) (paths []string) {
	for range n {
		paths = append(paths, "/"+p.word()+"/"+p.word()+"-"+p.word()+".html")
	}
	return paths
}

// put lays paths under a prefix of a host, as many as the rate says.
func (p *population) put(host, prefix string, paths []string, rate float64) {
	for _, path := range paths {
		if p.r.Float64() < rate {
			p.paths[host] = append(p.paths[host], prefix+path)
		}
	}
}

// mirrors makes a list of mirrors as those of a Linux distribution: each has a share of four collections in
// part, half of them under a directory of its own.
func (p *population) mirrors(hosts, files int, share float64) {
	var collections [][]string
	for range 4 {
		collections = append(collections, nil)
		for range files {
			w := p.word()
			collections[len(collections)-1] = append(collections[len(collections)-1],
				fmt.Sprintf("/pool/%c/%s/%s_%d.%d-%d.deb", w[0], w, w, p.r.IntN(4), p.r.IntN(30), p.r.IntN(9)))
		}
	}
	var names []string
	var has [][4]string
	for range hosts {
		h, mounts := p.host(), [4]string{}
		for i, c := range collections {
			if p.r.Float64() > share {
				continue
			}
			if mounts[i] = fmt.Sprint("/dist", i); p.r.IntN(2) == 0 {
				mounts[i] = "/" + p.word() + "/mirror" + mounts[i]
			}
			p.put(h, mounts[i], c, 0.3+0.6*p.r.Float64())
		}
		p.put(h, "", p.own(50+p.r.IntN(100)), 1)
		for j, other := range has {
			for i := range mounts {
				if mounts[i] != "" && mounts[i] == other[i] {
					p.truth[pairKey(h, names[j])] = "same prefix"
				} else if k := pairKey(h, names[j]); mounts[i] != "" && other[i] != "" && p.truth[k] == "" {
					p.truth[k] = "renamed"
				}
			}
		}
		names, has = append(names, h), append(has, mounts)
	}
}

// alikes makes hosts that have what programs put on every host, and pages that are numbered; every tenth has
// a mirror.
func (p *population) alikes(hosts int) {
	common := []string{"/", "/index.html", "/about.html", "/contact/", "/news/index.html", "/robots.txt",
		"/favicon.ico", "/images/logo.gif", "/css/style.css", "/js/jquery.js", "/forum/index.php"}
	for i := range hosts {
		h := p.host()
		p.put(h, "", common, 0.95)
		for page := range 60 + p.r.IntN(200) {
			p.put(h, "", []string{fmt.Sprintf("/node/%d", page), fmt.Sprintf("/article/%d.html", page),
				fmt.Sprintf("/index.php?id=%d", page)}, 0.9)
		}
		p.put(h, "", p.own(60), 1)
		if i%10 == 0 {
			m := p.host()
			p.put(m, "", p.paths[h], 0.7)
			p.truth[pairKey(h, m)] = "mirror"
		}
	}
}

// parts makes a big host of many sections, and small hosts that have a part of one of them, every other under
// another name.
func (p *population) parts(sections, pages, hosts int) {
	big := p.host()
	for i := range sections {
		name := "/" + p.word()
		section := p.own(pages)
		p.put(big, name, section, 0.95)
		if i >= hosts {
			continue
		}
		h, prefix, kind := p.host(), name, "part"
		if i%2 == 1 {
			prefix, kind = "/mirrored/"+p.word(), "renamed part"
		}
		p.put(h, prefix, section[:120], 0.95)
		p.put(h, "", p.own(200), 1)
		p.truth[pairKey(big, h)] = kind
	}
}

// ids makes hosts whose pages have names of digits and letters made by chance; every third has a mirror, as
// it is, under another directory or in part.
func (p *population) ids(hosts int) {
	for i := range hosts {
		h := p.host()
		for range 300 + p.r.IntN(3000) {
			p.put(h, "", []string{fmt.Sprintf("/item/%x/view-%x.html", p.r.Uint32(), p.r.Uint32())}, 1)
		}
		if i%3 > 0 {
			continue
		}
		m := p.host()
		prefix, rate := "", 0.5
		switch i % 9 {
		case 3:
			prefix = "/" + p.word()
		case 6:
			p.put(m, "", p.own(1500), 1)
			rate = 0.2
		}
		p.put(m, prefix, p.paths[h], rate)
		p.truth[pairKey(h, m)] = "mirror"
	}
}

// endings makes hosts of which every third has a mirror with other endings of its pages, some under another
// directory.
func (p *population) endings(hosts int) {
	for i := range hosts {
		h := p.host()
		p.put(h, "", p.own(120+p.r.IntN(300)), 1)
		if i%3 > 0 {
			continue
		}
		m, prefix := p.host(), ""
		if i%2 > 0 {
			prefix = "/copy"
		}
		for _, path := range p.paths[h] {
			p.put(m, prefix, []string{strings.TrimSuffix(path, "l")}, 0.8)
		}
		p.truth[pairKey(h, m)] = "mirror"
	}
}

// languages makes groups of hosts that have the same tree, with the language in the name of each file.
func (p *population) languages(groups int) {
	for range groups {
		tree := p.own(130)
		dirs := []string{"/" + p.word(), "/" + p.word() + "/" + p.word(), "/" + p.word() + "/" + p.word(),
			"/" + p.word()}
		var names []string
		for _, lang := range []string{"de", "fr", "ja", "es", "ko", "tr", "pt", "ru"} {
			h := p.host()
			for i, page := range tree {
				p.put(h, "", []string{dirs[i%len(dirs)] + page[strings.LastIndexByte(page, '/'):] + "." + lang}, 0.9)
			}
			p.put(h, "", p.own(20), 1)
			for _, other := range names {
				p.truth[pairKey(h, other)] = "translation"
			}
			names = append(names, h)
		}
	}
}

// names makes sites under two names, each of which has been crawled by half.
func (p *population) names(hosts int) {
	for i := range hosts {
		h := "site-" + p.word() + ".test"
		other := "www." + h
		dirs := []string{}
		for range 12 {
			dirs = append(dirs, "/"+p.word()+"/"+p.word())
		}
		for j := range 300 + 30*i {
			here := []string{h, other}[j%2]
			p.put(here, dirs[p.r.IntN(len(dirs))], []string{"/" + p.word() + "-" + p.word() + ".html"}, 1)
		}
		p.truth[pairKey(h, other)] = "two names"
	}
}

func (p *population) inventory(t *testing.T) *Inventory {
	v := NewInventory(StageOne{})
	for h, paths := range p.paths {
		for _, path := range paths {
			if err := v.AddURL([]byte("http://" + h + path)); err != nil {
				t.Fatal(h, path, err)
			}
		}
	}
	return v
}

// Of populations that are not the ones by which the rule was made, mirrors are found under the same and under
// other prefixes, in part and in large families, and pages that programs put on every host join no hosts.
func TestStageOnePopulations(t *testing.T) {
	large := 300
	if replicatest.Long() {
		large = 1400
	}
	for _, tc := range []struct {
		name              string
		fill              func(*population)
		recall, precision float64
	}{
		{"mirror lists", func(p *population) { p.mirrors(150, 400, 0.4) }, 0.97, 0.99},
		{"a large family", func(p *population) { p.mirrors(large, 90, 0.45) }, 0.90, 0.99},
		{"sites alike", func(p *population) { p.alikes(300) }, 1, 0.9},
		{"names by chance", func(p *population) { p.ids(60) }, 1, 0.9},
		{"other endings", func(p *population) { p.endings(90) }, 1, 0.9},
		{"other languages", func(p *population) { p.languages(12) }, 0.9, 0.9},
		{"two names", func(p *population) { p.names(60) }, 1, 0.9},
		{"parts of a big host", func(p *population) { p.parts(80, 300, 30) }, 1, 0.9},
	} {
		p := newPopulation(7)
		tc.fill(p)
		v := p.inventory(t)
		big := map[string]bool{}
		for _, s := range v.Samples() {
			big[s.Host] = true
		}
		of, found := map[string]int{}, map[string]int{}
		right := 0
		pairs := v.Pairs()
		for _, pair := range pairs {
			if kind := p.truth[pairKey(pair.Host1, pair.Host2)]; kind != "" {
				found[kind]++
				right++
			}
		}
		for k, kind := range p.truth {
			if big[k[0]] && big[k[1]] {
				of[kind]++
			}
		}
		var said []string
		for kind := range of {
			recall := float64(found[kind]) / float64(of[kind])
			said = append(said, fmt.Sprintf("%s %.3f of %d", kind, recall, of[kind]))
			if recall < tc.recall {
				t.Errorf("%s: recall of %s %.3f, want %.2f", tc.name, kind, recall, tc.recall)
			}
		}
		precision := float64(right) / float64(max(1, len(pairs)))
		t.Logf("%s: %d hosts; recall %s; %d pairs, precision %.3f", tc.name, len(big), strings.Join(said, ", "),
			len(pairs), precision)
		if precision < tc.precision {
			t.Errorf("%s: precision %.3f, want %.2f", tc.name, precision, tc.precision)
		}
	}
}

func TestLeaves(t *testing.T) {
	for path, want := range map[string]struct {
		leaf  string
		tells bool
	}{
		"": {"", false}, "/": {"", false}, "no": {"", false}, "/a?b=/c/d": {"", false},
		"/node/17": {"node/17", false}, "/x/IMAGES/Logo.GIF": {"IMAGES/Logo.GIF", false},
		"/x/y/page12.html": {"y/page12", false}, "/2004/05/": {"2004/05/", false},
		"/20040512.html": {"20040512", false}, "/a/b1.txt": {"a/b1.txt", false}, "/wp/x2y": {"wp/x2y", false},
		"/doc/manual/Bind.HTML": {"manual/Bind", true}, "/rfc/rfc1234.txt": {"rfc/rfc1234.txt", true},
		"/article/123456.php": {"article/123456", true}, "/x/1d4f9.htm": {"x/1d4f9", true},
		"/doc/%E6%97%A5.html": {"doc/\xe6\x97\xa5", true}, "/doc/100%25.html": {"doc/100%", false},
		"/doc/\xe6\x97\xa5.html": {"doc/\xe6\x97\xa5", true},
		"/%7Ekurt/x":             {"~kurt/x", true}, "/a/%": {"a/%", false}, "/a/%8": {"a/%8", false},
		"/a/%8z": {"a/%8z", false}, "/manual/.html": {"manual/.html", true}, "/manual/": {"manual/", true},
	} {
		if got := string(leafOf([]byte(path))); got != want.leaf || tells([]byte(got)) != want.tells {
			t.Errorf("%q: %q, %v; want %q, %v", path, got, tells([]byte(got)), want.leaf, want.tells)
		}
	}
	if got := shapeOf([]byte("news12/2004/05-a.txt")); string(got) != "news0/0/0-a.txt" {
		t.Errorf("shape %s", got)
	}
}
