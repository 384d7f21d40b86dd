// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"fmt"
	"io"
	"text/tabwriter"

	"mirrord/evolution/policy"
	"mirrord/internal/count"
	"mirrord/near"
)

// PolicyReport is what a policy came to on sites.
type PolicyReport struct {
	Policy   policy.Name    `json:"policy"`
	Settings PolicySettings `json:"settings"`
	Sites    []*Result      `json:"sites"`
	Mean     Total          `json:"mean"` // over the sites, each counted the same
}

// PolicySettings are those that the policy goes by; the others are left out.
type PolicySettings struct {
	Train   int        `json:"train"`
	Price   *float64   `json:"price,omitempty"`
	PriceMB float64    `json:"price_mb,omitempty"`
	Late    float64    `json:"late_hours,omitempty"`
	Budget  float64    `json:"budget,omitempty"`
	MaxSkip int        `json:"max_skip,omitempty"`
	Alpha   *float64   `json:"alpha,omitempty"`
	Beta    *float64   `json:"beta,omitempty"`
	Gamma   *float64   `json:"gamma,omitempty"`
	MinConf *float64   `json:"min_conf,omitempty"`
	Zero    *near.Zero `json:"zero,omitempty"`
	Expire  int        `json:"expire,omitempty"`

	Structural bool `json:"structural,omitempty"`
}

// TakeRules takes in the thresholds of a policy that follows rules.
func (s *PolicySettings) TakeRules(o *near.Options) {
	s.Alpha, s.Beta, s.Gamma, s.MinConf, s.Zero = &o.MinDoC, &o.MinFoC, &o.MinCoC, &o.MinConfidence, &o.Zero
}

// WriteText writes the report for people, with a table of the steps of each site when it is wanted.
func (r *PolicyReport) WriteText(to io.Writer, steps bool) error {
	w := tabwriter.NewWriter(to, 0, 8, 2, ' ', tabwriter.AlignRight)
	if steps {
		for _, site := range r.Sites {
			if err := site.writeSteps(w); err != nil {
				return err
			}
			fmt.Fprintln(to)
		}
	}
	fmt.Fprintln(w, "SITE\tSTEPS\tASKED\tOF FULL\tBYTES\tQUIET\tBR\tOP\tOR\tCHANGES\tFOUND\tCR\tPOOLED\tSTALE\t")
	row := func(name, steps string, t *Total) {
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%d\t%d\t%s\t%s\t%s\t\n", name, steps, t.Requests,
			PercentText(&t.Req), PercentText(&t.Moved), PercentText(t.Quiet),
			ShareText(&t.BR), ShareText(t.OP), ShareText(t.OR), t.Changes, t.Found, ShareText(t.CR),
			ShareText(t.CRMicro), PercentText(&t.Stale))
	}
	for _, site := range r.Sites {
		row(site.Site, fmt.Sprint(len(site.Steps)), &site.Total)
	}
	if len(r.Sites) > 1 {
		row("mean", "", &r.Mean)
	}
	return w.Flush()
}

// writeSteps writes a table of all steps.
func (r *Result) writeSteps(w *tabwriter.Writer) error {
	fmt.Fprintf(w, "%s: %s after %s\n", r.Site, r.Policy, count.Of(r.Train, "full sync"))
	fmt.Fprintln(w, "VERSION\tDATE\tFILES\tASKED\tOF FULL\tBR\tOP\tOR\tCHANGES\tFOUND\tCR\tSTALE\t")
	for _, s := range r.Steps {
		ofFull := float64(s.Requests) / float64(max(1, s.Full))
		fmt.Fprintf(w, "%d\t%s\t%d\t%d\t%s\t%s\t%s\t%s\t%d\t%d\t%s\t%s\t\n", s.Version,
			s.Time.Format("2006-01-02"), s.Files, s.Requests, PercentText(&ofFull), ShareText(&s.BR), ShareText(s.OP),
			ShareText(s.OR), s.Changes, s.Found, ShareText(s.CR), PercentText(&s.Stale))
	}
	return w.Flush()
}

// ShareText writes a share to three places, - when it is undefined.
func ShareText(v *float64) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf("%.3f", *v)
}

// PercentText writes a share as a percentage, - when it is undefined.
func PercentText(v *float64) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf("%.2f%%", 100**v)
}
