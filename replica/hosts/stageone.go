// SPDX-License-Identifier: Apache-2.0

package hosts

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// HostPair is a candidate: two hosts whose URLs are alike.
type HostPair struct {
	Host1       string  `json:"host1"` // before Host2
	Host2       string  `json:"host2"`
	Score       float64 `json:"score"`        // the paper's, by which pairs are ranked
	Raw         float64 `json:"raw"`          // the score before the sizes of the hosts were counted in
	Shared      int     `json:"shared"`       // features in common that were counted
	SharedPaths int     `json:"shared_paths"` // of which are of paths
	// names of files with their directories, of a sample, that both have; 0 by the paper's rule
	Leaves  int     `json:"leaves"`
	Overlap float64 `json:"overlap"`        // the share they are of the sample of the host that has fewer
	Typo    bool    `json:"typo,omitempty"` // the names are a word and a slip of the finger: IsTypo
}

// considered is a host that has URLs enough.
type considered struct {
	name   string
	urls   *hostURLs
	sample []string
	n      int
}

// HostSample is a host that was considered, and the paths of it that were sampled.
type HostSample struct {
	Host  string
	URLs  int // unique
	Paths []string
	HTTPS bool // a URL was one of https
}

// Samples returns the hosts that have URLs enough, in order, with their samples.
func (v *Inventory) Samples() []HostSample {
	var out []HostSample
	for _, h := range v.consider() {
		out = append(out, HostSample{
			Host:  h.name,
			URLs:  h.n,
			Paths: h.sample,
			HTTPS: h.urls.https,
		})
	}
	return out
}

func (v *Inventory) consider() []considered {
	var out []considered
	for _, h := range v.list {
		if len(h.seen)+len(h.all) < v.MinURLs {
			continue
		}
		if sample, n := v.finish(h); n >= v.MinURLs {
			out = append(out, considered{
				name:   h.name,
				urls:   h,
				sample: sample,
				n:      n,
			})
		}
	}
	slices.SortFunc(out, func(a, b considered) int { return strings.Compare(a.name, b.name) })
	return out
}

// featuresOf lists the features of all hosts, by feature: those of the host, and those of paths that enough
// sampled paths have.
func (v *Inventory) featuresOf(hosts []considered) []onHost {
	var out []onHost
	var keys []uint64
	for i := range hosts {
		for _, f := range HostFeatures(hosts[i].name) {
			out = append(out, onHost{key: f.key(), host: uint32(i)})
		}
		keys = keys[:0]
		for _, p := range hosts[i].sample {
			features, _ := PathFeatures(p, v.StageOne)
			for _, f := range features {
				keys = append(keys, f.key())
			}
		}
		slices.Sort(keys)
		for from := 0; from < len(keys); {
			to := from
			for to < len(keys) && keys[to] == keys[from] {
				to++
			}
			if to-from >= minPaths {
				out = append(out, onHost{
					key:   keys[from],
					host:  uint32(i),
					extra: uint32(1000 * (to - from) / len(hosts[i].sample)),
				})
			}
			from = to
		}
	}
	return sortOnHosts(out)
}

// evidence is what two hosts have in common.
type evidence struct {
	score         float64
	shared, paths int
	// of the sampled paths of both, in thousandths, that have the feature that is on most of them
	share uint32

	leaves  int
	overlap float64
}

// pairs collects evidence by pair of hosts, the smaller number above.
type pairs map[uint64]evidence

func (p pairs) add(a, b onHost, isPath bool, weight float64) {
	k := pairOf(a.host, b.host)
	e := p[k]
	e.score += weight
	e.shared++
	if isPath {
		e.paths++
		if a.key&wordsBit != 0 {
			e.share = max(e.share, min(a.extra, b.extra))
		}
	}
	p[k] = e
}

func pairOf(a, b uint32) uint64 { return uint64(min(a, b))<<32 | uint64(max(a, b)) }

// Pairs returns the candidate pairs, best first. By the paper's rule these are the pairs with two features in
// common, one of them of paths, where features on more than maxHosts hosts do not count (Bharat, Broder,
// section 3.1). Else equal leaves vote for the pairs of their biggest hosts and the others, pairs that such
// pairs connect are candidates when their leaves agree, and features on many hosts count in the scores in the
// same way.
func (v *Inventory) Pairs() []HostPair {
	hosts := v.consider()
	place := bySize(hosts)
	features := v.featuresOf(hosts)
	found := shareFeatures(features)
	if !v.Paper {
		v.shareLeaves(hosts, place, found)
		found.dropWeak(hosts)
		weighFrequent(features, place, found)
	}
	out := []HostPair{}
	for k, e := range found {
		if (e.shared < minShared || e.paths < minSharedPaths) && !e.overlaps() {
			continue
		}
		a, b := &hosts[k>>32], &hosts[uint32(k)]
		raw := e.score + overlapWeight*e.overlap
		score := raw / (1 + sizeWeight*(math.Log(float64(a.n))+math.Log(float64(b.n))))
		out = append(out, HostPair{
			Host1:       a.name,
			Host2:       b.name,
			Score:       score,
			Raw:         raw,
			Shared:      e.shared,
			SharedPaths: e.paths,
			Leaves:      e.leaves,
			Overlap:     e.overlap,
			Typo:        IsTypo(a.name, b.name),
		})
	}
	slices.SortFunc(out, func(a, b HostPair) int {
		return cmp.Or(cmp.Compare(math.Round(b.Score*1e9), math.Round(a.Score*1e9)),
			strings.Compare(a.Host1, b.Host1), strings.Compare(a.Host2, b.Host2))
	})
	return out
}

// shareFeatures finds the pairs that have features in common which are on few hosts. A feature counts by the
// hosts that have it.
func shareFeatures(features []onHost) pairs {
	found := pairs{}
	for on := range runs(features) {
		if len(on) < 2 || len(on) > maxHosts {
			continue
		}
		isPath := isPathKey(on[0].key)
		weight := hostWeight / float64(len(on))
		if isPath {
			weight = pathWeight / float64(len(on))
		}
		for i, a := range on {
			for _, b := range on[i+1:] {
				found.add(a, b, isPath, weight)
			}
		}
	}
	return found
}

// Pairs whose leaves do not agree must have features that count weakest for each sampled path, or one that is
// in as many thousandths of the paths of both as leastShare, or names of hosts in common. Hosts of many pages
// with names made by chance have as many features in common, but of few pages each.
const (
	weakest    = 0.1
	leastShare = 120
)

// dropWeak drops the pairs whose leaves do not agree and that have too little else in common for the size of
// their samples.
func (p pairs) dropWeak(hosts []considered) {
	for k, e := range p {
		a, b := &hosts[k>>32], &hosts[uint32(k)]
		if !e.overlaps() && e.shared == e.paths && e.share < leastShare &&
			e.score < weakest*math.Sqrt(float64(len(a.sample)*len(b.sample))) {
			delete(p, k)
		}
	}
}

// weighFrequent adds the features of paths that are on many hosts to the scores of the pairs that were found.
func weighFrequent(features []onHost, place []uint32, found pairs) {
	for on := range runs(features) {
		if len(on) <= maxHosts || !isPathKey(on[0].key) {
			continue
		}
		stars(place, hostsOf(on), func(center, other uint32) {
			k := pairOf(center, other)
			if e, ok := found[k]; ok {
				e.score += pathWeight / float64(len(on))
				found[k] = e
			}
		})
	}
}
