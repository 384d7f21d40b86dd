// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"fmt"
	"io"
	"strings"

	"mirrord/internal/count"
	"mirrord/replica/hosts"
)

// WriteText writes what was found for people.
func (r *Replicas) WriteText(w io.Writer) {
	fmt.Fprintf(w, "%s, of which %s read again; %s, %d could not be read\n", count.Of(r.Pages, "page"),
		count.Of(r.Pages-r.Kept, "was", "were"),
		count.Of(r.Skipped, "file is no page", "files are not pages"), r.Bad)
	for _, n := range r.Elsewhere {
		fmt.Fprintf(w, "%s\n", n.Line())
	}
	fmt.Fprintf(w, "\n%s\n", count.Of(len(r.Hosts), "pair of hosts that mirror each other",
		"pairs of hosts that mirror each other"))
	for _, h := range r.Hosts {
		level := h.Level
		if !h.Confident {
			level += "?"
		}
		fmt.Fprintf(w, "  level %-2s %3.0f%% good  %s %s: %s\n", level, 100*h.Good, h.Host1, h.Host2, h.Suggestion)
		if h.Level == "4" && !h.RootOnly {
			for _, path := range h.Equal {
				fmt.Fprintf(w, "             equal: %s\n", path)
			}
		}
	}
	fmt.Fprintf(w, "\n%s\n", count.Of(len(r.All), "collection in several places",
		"collections in several places"))
	for i, c := range r.Clusters {
		fmt.Fprintf(w, "%3d  %d copies of %s: %s\n", i+1, c.Cardinality, count.Of(c.Size, "page"), c.Suggestion)
		for _, cp := range c.Copies {
			common := ""
			if 10*cp.Shared < 9*cp.Pages {
				common = fmt.Sprintf(": at least %d of them in common with the first", cp.Shared)
			}
			fmt.Fprintf(w, "     %6d %3.0f%%  %s%s\n", cp.Pages, 100*cp.Share, strings.TrimSpace(cp.At), common)
		}
	}
	r.writeRelated(w)
}

// writeRelated writes the directories that are no copies of one another, though they share many pages.
func (r *Replicas) writeRelated(w io.Writer) {
	if len(r.Related) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s\n", count.Of(len(r.Related), "pair of directories with the same names and other pages",
		"pairs of directories with the same names and other pages"))
	for _, p := range r.Related {
		fmt.Fprintf(w, "  %s %s: %s in common; at %d of %d places they say something else, as translations do\n",
			p.At[0], p.At[1], count.Of(p.Shared, "page"), p.Differ, p.Places)
	}
}

// WritePairs writes what the tests of pairs came to; of which jobs they are, when only these were tested.
func WritePairs(w io.Writer, pairs []ReplicaPair, of []string) {
	switch {
	case len(pairs) > 0:
	case len(of) > 0:
		fmt.Fprintf(w, "nothing to test: there are no alternates of %s; without names the mirrors "+
			"are compared with one another too\n", strings.Join(of, ", "))
	default:
		fmt.Fprintln(w,
			"nothing to test: no job names alternates, and no two mirrors look alike by their addresses")
	}
	for _, p := range pairs {
		p.writeText(w)
	}
}

func (p *ReplicaPair) writeText(w io.Writer) {
	if p.Untested != "" {
		fmt.Fprintf(w, "%s %s\n  not tested: %s\n", p.Base1, p.Base2, p.Untested)
		return
	}
	level := p.Level
	if p.Mirrors {
		level = "level " + level
		if !p.Confident {
			level += "?"
		}
	}
	fmt.Fprintf(w, "%s %s\n  %s, %.0f%% of %s good: %s\n", p.Base1, p.Base2, level, 100*p.Good,
		count.Of(p.Answered, "answered test"), p.Suggestion)
	for _, path := range p.SamePaths {
		if p.Level != "4" {
			break
		}
		fmt.Fprintf(w, "    equal: %s\n", path)
	}
}

// WriteText writes the pairs for people.
func (c *Candidates) WriteText(w io.Writer) {
	fmt.Fprintf(w, "%s of %s, %s; %s\n", count.Of(c.URLs, "address", "addresses"), count.Of(c.Hosts, "host"),
		count.Of(c.Bad, "bad line"), count.Of(c.Found, "candidate pair"))
	writeSkipped(w, c.Skipped)
	if c.Found > 0 {
		fmt.Fprintf(w, "\n%8s %8s %8s  %s\n", "score", "features", "overlap", "hosts")
	}
	for _, p := range c.Pairs {
		typo := ""
		if p.Typo {
			typo = " (typo of a host name)"
		}
		fmt.Fprintf(w, "%8.3f %8d %7.0f%%  %s %s%s\n", p.Score, p.Shared, 100*p.Overlap, p.Host1, p.Host2, typo)
	}
}

// WriteText writes the pairs and the tables for people.
func (s *Study) WriteText(w io.Writer) {
	fmt.Fprintf(w, "%s of %s, %s; %s, of which %s tested before\n", count.Of(s.URLs, "address", "addresses"),
		count.Of(s.Hosts, "host"), count.Of(s.Bad, "bad line"),
		count.Of(s.Candidates, "candidate pair"),
		count.Of(s.Kept, "was", "were"))
	writeSkipped(w, s.Skipped)
	for i := range s.Pairs {
		p := &s.Pairs[i]
		p.writeText(w)
		if len(p.Motives) > 0 {
			fmt.Fprintf(w, "  motive: %s\n", joinedMotives(p.Motives))
		}
	}
	writeTables(w, s.Tables)
}

// writeSkipped says how many lines of logs of proxies count for nothing.
func writeSkipped(w io.Writer, n int) {
	if n > 0 {
		fmt.Fprintf(w, "%s no page view\n", count.Of(n, "request in the log was", "requests in the logs were"))
	}
}

func joinedMotives(motives []hosts.Motive) string {
	var out []string
	for _, m := range motives {
		out = append(out, string(m))
	}
	return strings.Join(out, ", ")
}

// writeTables writes tables 2 and 3 and figure 1 of Bharat and Broder.
func writeTables(w io.Writer, t hosts.StudyTables) {
	if len(t.Levels) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%-16s %6s %6s\n", "level", "pairs", "share")
	for _, l := range t.Levels {
		fmt.Fprintf(w, "%-16s %6d %5.1f%%\n", l.Level, l.Pairs, 100*l.Share)
	}
	if len(t.Domains) > 0 {
		fmt.Fprintf(w, "\n%-16s %6s %6s\n", "mirrors in", "pairs", "share")
	}
	for _, d := range t.Domains {
		fmt.Fprintf(w, "%-16s %6d %5.1f%%\n", d.Domain1+" "+d.Domain2, d.Pairs, 100*d.Share)
	}
	fmt.Fprintf(w, "\n%-16s %6s %6s %9s\n", "rank", "known", "mirrors", "precision")
	for _, r := range t.Ranks {
		fmt.Fprintf(w, "%-16s %6d %7d %8.1f%%\n", fmt.Sprint("1 to ", r.Rank), r.Known, r.Mirrors, 100*r.Precision)
	}
}
