// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"text/template"

	"mirrord/evolution/policy"
	"mirrord/internal/count"
	"mirrord/internal/wording"
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

//go:embed report.txt
var texts embed.FS

// WriteText writes the report for people, with a table of the steps of each site when it is wanted.
func (r *PolicyReport) WriteText(to io.Writer, steps bool) error {
	text, err := wording.Templates{Files: texts, Glob: "report.txt", Words: template.FuncMap{
		"n":       count.OfAny,
		"percent": PercentText,
		"share":   ShareText,
	}}.Text("report", struct {
		*PolicyReport
		Detailed bool
	}{r, steps})
	w := tabwriter.NewWriter(to, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, text)
	return errors.Join(err, w.Flush())
}

// OfFull is the share of what a full sync would have requested.
func (s *VersionStep) OfFull() *float64 {
	share := float64(s.Requests) / float64(max(1, s.Full))
	return &share
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
