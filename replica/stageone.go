package replica

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
	Score       float64 `json:"score"`       // the paper's, by which pairs are ranked
	Raw         float64 `json:"raw"`         // the score before the sizes of the hosts were counted in
	Shared      int     `json:"shared"`      // features in common that were counted
	SharedPaths int     `json:"sharedPaths"` // of which are of paths
	Leaves      int     `json:"leaves"`      // names of files with their directories, of a sample, that both have; 0 by the paper's rule
	Overlap     float64 `json:"overlap"`     // the share they are of the sample of the host that has fewer
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
}

// Samples returns the hosts that have URLs enough, in order, with their samples.
func (v *Inventory) Samples() []HostSample {
	var out []HostSample
	for _, h := range v.consider() {
		out = append(out, HostSample{h.name, h.n, h.sample})
	}
	return out
}

func (v *Inventory) consider() []considered {
	var out []considered
	for _, name := range slices.Sorted(slices.Values(v.names)) {
		h := v.hosts[name]
		if len(h.hashes)+len(h.all) < v.o.MinURLs {
			continue
		}
		if sample, n := v.finish(h); n >= v.o.MinURLs {
			out = append(out, considered{name: name, urls: h, sample: sample, n: n})
		}
	}
	return out
}

// hostFeature is a feature on a host.
type hostFeature struct {
	key  uint64
	host uint32
}

// featuresOf lists the features of all hosts, by feature: those of the host, and those of paths that at least two sampled paths have.
func (v *Inventory) featuresOf(hosts []considered) []hostFeature {
	var out []hostFeature
	var keys []uint64
	for i := range hosts {
		for _, f := range HostFeatures(hosts[i].name) {
			out = append(out, hostFeature{f.key(), uint32(i)})
		}
		keys = keys[:0]
		for _, path := range hosts[i].sample {
			features, _ := PathFeatures(path, v.o)
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
			if to-from >= 2 {
				out = append(out, hostFeature{keys[from], uint32(i)})
			}
			from = to
		}
	}
	slices.SortFunc(out, func(a, b hostFeature) int {
		if c := cmp.Compare(a.key, b.key); c != 0 {
			return c
		}
		return cmp.Compare(a.host, b.host)
	})
	return out
}

// evidence is what two hosts have in common.
type evidence struct {
	score         float64
	shared, paths int

	leaves  int
	overlap float64
}

// pairs collects evidence by pair of hosts, the smaller number above.
type pairs map[uint64]evidence

func (p pairs) add(a, b uint32, isPath bool, weight float64) {
	if a > b {
		a, b = b, a
	}
	k := uint64(a)<<32 | uint64(b)
	e := p[k]
	e.score += weight
	e.shared++
	if isPath {
		e.paths++
	}
	p[k] = e
}

// Pairs returns the candidate pairs, best first. By the paper's rule these are the pairs with two features in common, one of them of paths,
// where what is on more than MaxHosts hosts does not count (Bharat, Broder, section 3.1). Else what is on more counts between its biggest
// hosts and the others, equal leaves vote in the same way, and pairs that others connect are candidates when their leaves agree.
func (v *Inventory) Pairs() []HostPair {
	hosts := v.consider()
	found := v.shareFeatures(hosts)
	if !v.o.Paper {
		v.shareLeaves(hosts, found)
	}
	out := []HostPair{}
	for k, e := range found {
		if (e.shared < 2 || e.paths < 1) && !e.overlaps() {
			continue
		}
		a, b := &hosts[k>>32], &hosts[uint32(k)]
		raw := e.score + overlapWeight*e.overlap
		out = append(out, HostPair{
			Host1: a.name, Host2: b.name, Score: raw / (1 + 0.1*(math.Log(float64(a.n))+math.Log(float64(b.n)))), Raw: raw,
			Shared: e.shared, SharedPaths: e.paths, Leaves: e.leaves, Overlap: e.overlap,
		})
	}
	slices.SortFunc(out, func(a, b HostPair) int {
		if c := cmp.Compare(math.Round(b.Score*1e9), math.Round(a.Score*1e9)); c != 0 {
			return c
		}
		if c := strings.Compare(a.Host1, b.Host1); c != 0 {
			return c
		}
		return strings.Compare(a.Host2, b.Host2)
	})
	return out
}

// shareFeatures finds the pairs that have features in common. A feature counts 4 of a host and 1 of a path, by the hosts that have it.
func (v *Inventory) shareFeatures(hosts []considered) pairs {
	found := pairs{}
	eachFeature(v.featuresOf(hosts), func(key uint64, on []hostFeature) {
		isPath := key&1 == 1
		weight := 4 / float64(len(on))
		if isPath {
			weight = 1 / float64(len(on))
		}
		if len(on) > v.o.MaxHosts {
			if !v.o.Paper && isPath {
				stars(hosts, hostsOf(on), func(center, other uint32) { found.add(center, other, isPath, weight) })
			}
			return
		}
		for i, a := range on {
			for _, b := range on[i+1:] {
				found.add(a.host, b.host, isPath, weight)
			}
		}
	})
	return found
}

// eachFeature calls f with the hosts of each feature that are at least two.
func eachFeature(fs []hostFeature, f func(key uint64, on []hostFeature)) {
	for from := 0; from < len(fs); {
		to := from + 1
		for to < len(fs) && fs[to].key == fs[from].key {
			to++
		}
		if to-from >= 2 {
			f(fs[from].key, fs[from:to])
		}
		from = to
	}
}
