// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"mirrord/evolution/policy"
	"mirrord/internal/count"
	"mirrord/job"
)

// WriteText writes the plan for a person. Directories below one of which nothing is asked, or all, are
// counted with it unless all is set.
func (p *PlanReport) WriteText(w io.Writer, all bool) error {
	has := fmt.Sprintf("%d of the %d URLs that the mirror has, and skip %d", p.Asked, p.Known, p.Spared)
	if p.Known == 1 && p.Asked == 1 {
		has = "the one URL that the mirror has"
	} else if p.Known == 1 {
		has = "nothing: it would skip the one URL that the mirror has"
	}
	if _, err := fmt.Fprintf(w, "%s: run %d would request %s\n", p.Job, p.Run, has); err != nil {
		return err
	}
	if p.Unfinished {
		fmt.Fprintf(w, "  run %d has begun: it is under way, or continues from where it stopped\n", p.Run)
	}
	if len(p.Without) > 0 {
		fmt.Fprintf(w, "  not in this plan: %s\n", strings.Join(p.Without, "; "))
	}
	switch {
	case p.Full != "" && p.Reasons[policy.Observed.String()] > 0:
		_, err := fmt.Fprintf(w,
			"  everything is requested: %s; listings, sitemaps and lifetimes save %s\n", p.Full,
			count.Of(p.Reasons[policy.Observed.String()], "request"))
		return err
	case p.Full != "":
		_, err := fmt.Fprintf(w, "  everything is requested: %s\n", p.Full)
		return err
	}
	fmt.Fprintf(w, "  policy %s, from what %s observed; more is requested when changes are found\n",
		p.Policy, count.Of(p.Runs, "run"))
	if p.When != "" {
		fmt.Fprintf(w, "  for a run at %s: %s\n", p.At.Local().Format("2006-01-02 15:04 MST"), p.When)
	}
	if p.Expected > 0 || p.Missed > 0 {
		fmt.Fprintf(w, "  expected changes: %.3g in requested URLs, %.3g in skipped ones\n",
			p.Expected, p.Missed)
	}
	var parts []string
	for _, why := range slices.Sorted(maps.Keys(p.Reasons)) {
		parts = append(parts, fmt.Sprintf("%d %s", p.Reasons[why], why))
	}
	fmt.Fprintf(w, "  why: %s\n", strings.Join(parts, ", "))
	tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(tw, "DIRECTORY\tKNOWN\tASKED\tSPARED\tEXPECTED\tWHY")
	for i := 0; i < len(p.Dirs); {
		d, n := p.Dirs[i], 1
		for !all && i+n < len(p.Dirs) && alikeBelow(&p.Dirs[i], &p.Dirs[i+n]) {
			x := &p.Dirs[i+n]
			d.Known, d.Asked, d.Spared, d.Expected = d.Known+x.Known, d.Asked+x.Asked, d.Spared+x.Spared,
				d.Expected+x.Expected
			d.Audited += x.Audited
			n++
		}
		path := strings.TrimSuffix(d.Path, "/") + "/"
		if n > 1 {
			path += fmt.Sprintf(" and %d below", n-1)
		}
		expected := ""
		if d.Expected > 0 {
			expected = fmt.Sprintf("%.2g", d.Expected)
		}
		why := d.Why
		if d.Audited > 0 {
			why += fmt.Sprintf(", %d audited", d.Audited)
		}
		if d.Rule != "" {
			why += ": " + d.Rule
		}
		fmt.Fprintf(tw, "%s\t%d\t%d\t%d\t%s\t%s\n", path, d.Known, d.Asked, d.Spared, expected, why)
		i += n
	}
	return tw.Flush()
}

// notPlanned says what plans leave out that runs of a job do. guesses says that its scripts name addresses.
func notPlanned(j *job.Job, guesses bool) (out []string) {
	if len(j.Alternates) > 0 && j.AlternatesUse == job.AlternatesSpread {
		out = append(out, "which of them alternates answer (alternates_use), and their verification")
	} else if len(j.Alternates) > 0 {
		out = append(out, "requests of replicas (alternates)")
	}
	switch {
	case j.FindsReuse():
		out = append(out, "requests that another mirror saves (reuse)")
	case j.Reuse.Job != "":
		out = append(out, "requests that the mirror of "+j.Reuse.Job+" saves (reuse.job)")
	}
	if j.Space != "" && j.FetchOnce > 0 {
		out = append(out, "requests that other mirrors of the space save (fetch_once)")
	}
	if guesses && j.Scripts {
		out = append(out, "addresses that are guessed from scripts (scripts)")
	}
	return out
}

// alikeBelow reports whether b lies below a and the same is said of both.
func alikeBelow(a, b *PlanDir) bool {
	below := a.Path == "/" || strings.HasPrefix(b.Path, a.Path+"/")
	return below && a.Why == b.Why && a.Rule == b.Rule &&
		((a.Asked == 0 && b.Asked == 0) || (a.Spared == 0 && b.Spared == 0))
}
