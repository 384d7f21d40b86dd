// SPDX-License-Identifier: Apache-2.0

package replicagolden

import (
	"fmt"
	"slices"
	"strings"

	"mirrord/replica/hosts"
)

type goldenURL struct {
	HostPath []string `json:"host_path"` // null when the address is invalid
	URL      string
}

type goldenHost struct {
	Host     string
	Features [][3]string
}

type goldenPath struct {
	Path         string
	Avoided      bool
	Depth, Index [][4]any
}

func (c *goldenCheck) urls() {
	for _, s := range c.g.SplitURL {
		host, path, err := hosts.SplitURL([]byte(s.URL))
		got := []string{string(host), string(path)}
		if err != nil {
			got = nil
		}
		c.same("parts of "+s.URL, quoted(got), quoted(s.HostPath))
	}
	for _, h := range c.g.HostFeatures {
		got, want := []string{}, []string{}
		for _, f := range hosts.HostFeatures(h.Host) {
			got = append(got, "h "+f.A+" "+f.B)
		}
		for _, f := range h.Features {
			want = append(want, strings.Join(f[:], " "))
		}
		slices.Sort(want)
		c.same("features of "+h.Host, got, want)
	}
	for _, p := range c.g.PathFeatures {
		for _, byIndex := range []bool{false, true} {
			features, avoided := hosts.PathFeatures(p.Path, hosts.StageOne{PositionIsIndex: byIndex})
			wanted := p.Depth
			if byIndex {
				wanted = p.Index
			}
			got, want := []string{}, []string{}
			for _, f := range features {
				got = append(got, fmt.Sprint("p ", f.A, " ", f.B, " ", f.Position))
			}
			for _, f := range wanted {
				want = append(want, string(latin1Bytes(fmt.Sprint(f[0], " ", f[1], " ", f[2], " ", f[3]))))
			}
			slices.Sort(got)
			slices.Sort(want)
			c.same("features of "+p.Path, got, want)
			c.values("avoided "+p.Path, avoided, p.Avoided)
		}
	}
}

type goldenSampling struct {
	BottomK  []string `json:"bottom_k"`
	Paths    []string
	Selected []string
}

func (c *goldenCheck) sampling() {
	g := c.g.Sampling
	if len(g.Paths) == 0 {
		return
	}
	for _, paper := range []bool{false, true} {
		v := hosts.NewInventory(hosts.StageOne{Paper: paper, MinURLs: 1})
		for _, p := range g.Paths {
			v.Add([]byte("h.test"), []byte(p))
		}
		want := slices.Sorted(slices.Values(g.BottomK))
		if paper {
			want = slices.Sorted(slices.Values(g.Selected))
		}
		c.same(fmt.Sprint("sample, paper ", paper), v.Samples()[0].Paths, want)
	}
}

type goldenStage1 struct {
	Hosts  map[string]int `json:"hosts_considered"`
	Pairs  [][6]any
	Params struct {
		First   int
		M0      int
		MinURLs int `json:"min_urls"`
	}
	Samples map[string][]string
	URLs    []string
}

func (c *goldenCheck) stage1(name string, g goldenStage1) {
	if len(g.URLs) == 0 {
		return
	}
	v := hosts.NewInventory(hosts.StageOne{
		Paper:        true,
		MinURLs:      g.Params.MinURLs,
		FirstModulus: g.Params.M0,
		FirstDouble:  g.Params.First,
	})
	for _, u := range g.URLs {
		if err := v.AddURL([]byte(u)); err != nil {
			c.values(name+": "+u, err, nil)
		}
	}
	if g.Hosts != nil {
		hosts, samples := map[string]int{}, map[string][]string{}
		for _, h := range v.Samples() {
			hosts[h.Host], samples[h.Host] = h.URLs, h.Paths
		}
		c.same(name+": hosts", hosts, g.Hosts)
		c.same(name+": samples", samples, g.Samples)
	}
	got, want := []string{}, []string{}
	for _, p := range v.Pairs() {
		got = append(got, fmt.Sprintf("%s %s %.9f %.9f %d %d", p.Host1, p.Host2, p.Score, p.Raw, p.Shared,
			p.SharedPaths))
	}
	for _, p := range g.Pairs {
		want = append(want, fmt.Sprintf("%s %s %.9f %.9f %.0f %.0f", p[:]...))
	}
	c.same(name+": pairs", got, want)
}

type goldenClass struct {
	Level string
	Tests []string
}

func (c *goldenCheck) levels() {
	for _, g := range c.g.Classify {
		var outcomes []hosts.TestOutcome
		for _, name := range g.Tests {
			for o := hosts.SourceFailed; o <= hosts.NotSimilar; o++ {
				if o.String() == name {
					outcomes = append(outcomes, o)
				}
			}
		}
		c.same("level of "+strings.Join(g.Tests, " "), keyOf(hosts.Classify(outcomes)), g.Level)
	}
}

// keyOf is how files of expected values write a level.
func keyOf(l hosts.Level) string {
	switch l {
	case hosts.NoInformation:
		return "noinfo"
	case hosts.DNSFailure, hosts.ServerFailure, hosts.Mismatch:
		return strings.ToLower(strings.ReplaceAll(l.String(), " ", "-"))
	}
	return "L" + l.String()
}
