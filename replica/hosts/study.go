// SPDX-License-Identifier: Apache-2.0

package hosts

import (
	"cmp"
	"net/netip"
	"slices"
)

// StudyResult is a candidate pair that was tested.
type StudyResult struct {
	Host1, Host2 string
	Level        Level
}

// LevelCount is how many pairs are of a level (Bharat, Broder, table 2).
type LevelCount struct {
	Level string  `json:"level"`
	Pairs int     `json:"pairs"`
	Share float64 `json:"share"` // of all that were tested
}

// DomainCount is how many mirrors have their hosts in two top-level domains (table 3).
type DomainCount struct {
	Domain1 string  `json:"domain1"` // before Domain2
	Domain2 string  `json:"domain2"`
	Pairs   int     `json:"pairs"`
	Share   float64 `json:"share"` // of all mirrors
}

// RankPrecision is how many of the best candidates are mirrors (figure 1). Pairs of which the tests said
// nothing do not count.
type RankPrecision struct {
	Rank      int     `json:"rank"`
	Known     int     `json:"known"` // of these, of which the tests said something
	Mirrors   int     `json:"mirrors"`
	Precision float64 `json:"precision"`
}

// StudyTables are the tables of the paper.
type StudyTables struct {
	Levels  []LevelCount    `json:"levels"`
	Domains []DomainCount   `json:"domains"`
	Ranks   []RankPrecision `json:"ranks"`
}

// Tables counts results, which are in the order of their ranks.
func Tables(results []StudyResult) StudyTables {
	return StudyTables{
		Levels:  byLevel(results),
		Domains: byDomain(results),
		Ranks:   byRank(results),
	}
}

func byLevel(results []StudyResult) []LevelCount {
	var n [Level5 + 1]int
	for _, r := range results {
		n[r.Level]++
	}
	out := []LevelCount{}
	for _, l := range []Level{
		Level1, Level2, Level3, Level4, Level5, Mismatch, ServerFailure, DNSFailure, NoInformation,
	} {
		if n[l] > 0 {
			share := float64(n[l]) / float64(len(results))
			out = append(out, LevelCount{Level: l.String(), Pairs: n[l], Share: share})
		}
	}
	return out
}

func byDomain(results []StudyResult) []DomainCount {
	count, mirrors := map[[2]string]int{}, 0
	for _, r := range results {
		if !r.Level.Mirrors() {
			continue
		}
		mirrors++
		a, b := TopLevel(r.Host1), TopLevel(r.Host2)
		count[[2]string{min(a, b), max(a, b)}]++
	}
	out := []DomainCount{}
	for d, n := range count {
		out = append(out, DomainCount{
			Domain1: d[0],
			Domain2: d[1],
			Pairs:   n,
			Share:   float64(n) / float64(mirrors),
		})
	}
	slices.SortFunc(out, func(a, b DomainCount) int {
		return cmp.Or(cmp.Compare(b.Pairs, a.Pairs), cmp.Compare(a.Domain1, b.Domain1),
			cmp.Compare(a.Domain2, b.Domain2))
	})
	return out
}

// byRank counts at 10, 20, 50, 100 and so on, and at the end.
func byRank(results []StudyResult) []RankPrecision {
	out := []RankPrecision{}
	at := RankPrecision{}
	next, steps := 10, [3]int{1, 2, 5}
	for i, r := range results {
		at.Rank = i + 1
		if r.Level >= Mismatch {
			at.Known++
		}
		if r.Level.Mirrors() {
			at.Mirrors++
		}
		if at.Rank != next && at.Rank != len(results) {
			continue
		}
		if at.Known > 0 {
			at.Precision = float64(at.Mirrors) / float64(at.Known)
		}
		out = append(out, at)
		if at.Rank == next {
			step := len(out)
			next = steps[step%3] * pow10(1+step/3)
		}
	}
	return out
}

func pow10(n int) int {
	out := 1
	for range n {
		out *= 10
	}
	return out
}

// ParseLevel reads what Level.String wrote.
func ParseLevel(s string) Level {
	for l := NoInformation; l <= Level5; l++ {
		if l.String() == s {
			return l
		}
	}
	return NoInformation
}

// AddressPairs lists the pairs of hosts that have an address in common which at most most hosts have: one of
// more hosts is a machine of a hoster. The pairs of fewest hosts come first.
func AddressPairs(addresses map[string][]netip.Addr, most int) [][2]string {
	at := map[netip.Addr][]string{}
	for host, addrs := range addresses {
		for _, a := range addrs {
			if a = a.Unmap(); !slices.Contains(at[a], host) {
				at[a] = append(at[a], host)
			}
		}
	}
	rank := map[[2]string]int{}
	for _, on := range at {
		if len(on) > most {
			continue
		}
		slices.Sort(on)
		for i, a := range on {
			for _, b := range on[i+1:] {
				p := [2]string{a, b}
				if n, ok := rank[p]; !ok || len(on) < n {
					rank[p] = len(on)
				}
			}
		}
	}
	out := make([][2]string, 0, len(rank))
	for p := range rank {
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b [2]string) int {
		return cmp.Or(cmp.Compare(rank[a], rank[b]), slices.Compare(a[:], b[:]))
	})
	return out
}
