// SPDX-License-Identifier: Apache-2.0

package report

import (
	"errors"
	"fmt"
	"iter"
	"net/url"
	"strings"
	"time"

	"mirrord/evolution"
	"mirrord/job"
	"mirrord/mirror/revisit"
	"mirrord/near"
)

// Evolution is how the directories of a site changed, as far as its runs observed it. Directories are those
// of URLs: "/" is the root of the entry point's origin, "/@host/…" lies on another one. One that holds only
// its index counts as a page of the one above it.
type Evolution struct {
	Job        string         `json:"job"`
	Runs       int            `json:"runs"`           // from one to the next: one less than were observed
	First      time.Time      `json:"first,omitzero"` // the run from which they are counted
	Last       time.Time      `json:"last,omitzero"`
	MinDoC     float64        `json:"min_doc"`              // from this degree on a change counts for FoC
	Structural bool           `json:"structural,omitempty"` // files with other contents are no change
	Dirs       []DirEvolution `json:"dirs"`                 // in the order in which they came up
}

// DirEvolution is how one directory changed, with all that lies below it.
type DirEvolution struct {
	Path       string `json:"path"`
	Files      int    `json:"files"`
	Unobserved int    `json:"unobserved"` // of Files, in the last run
	Changed    int    `json:"changed"`    // runs in which it changed by MinDoC or more
	Known      int    `json:"known"`      // runs of which that is known at their end
	// Runs of which it is known by now whether it changed: what later ones found to be as it was had not changed
	// before either.
	Seen int `json:"seen"`
	// Share of the runs in which it changed, as estimated; the truth lies between FoCLow and FoCHigh with a
	// chance of 90 %. Where no estimate is made it is Changed of Known, and they are null.
	FoC        float64   `json:"foc"`
	FoCLow     *float64  `json:"foc_low"`
	FoCHigh    *float64  `json:"foc_high"`
	MeanDoC    float64   `json:"mean_doc"` // over the runs in which it changed
	MaxDoC     float64   `json:"max_doc"`
	Edits      int       `json:"edits"` // files and directories that came, went or changed
	LastChange time.Time `json:"last_change,omitzero"`
}

// Evolution reads the history of the site's directories. A change counts from minDoC on; structural says
// that files with other contents are no change. The site must have been retrieved.
func (v *View) Evolution(minDoC float64, structural bool) (*Evolution, error) {
	h, err := v.shownHistory()
	if err != nil {
		return nil, err
	}
	e := &Evolution{
		Job:        v.Site.Name,
		Runs:       h.Len(),
		MinDoC:     minDoC,
		Structural: structural,
		Dirs:       []DirEvolution{},
	}
	estimates, err := v.estimates(h, minDoC, structural)
	if err != nil {
		return nil, err
	}
	dirs, err := h.Report(evolution.DeltaOptions{Alpha: minDoC, Structural: structural})
	if err != nil {
		return nil, err
	}
	if len(h.Runs) > 0 {
		e.First, e.Last = time.Unix(h.Time(0), 0).UTC(), time.Unix(h.Time(h.Len()), 0).UTC()
	}
	for _, d := range dirs {
		x := DirEvolution{
			Path:       "/" + h.Dirs().Path(d.Dir),
			Files:      d.Files,
			Unobserved: d.Unobserved,
			Changed:    d.FoC.K,
			Known:      d.FoC.N,
			Seen:       d.FoC.N,
			FoC:        d.FoC.Value(),
			MeanDoC:    d.Mean,
			MaxDoC:     d.Max,
			Edits:      d.Edits,
		}
		if d.Last > 0 {
			x.LastChange = time.Unix(d.Last, 0).UTC()
		}
		if estimates != nil {
			by := estimates.Of(d.Dir)
			x.Seen, x.FoC, x.FoCLow, x.FoCHigh = by.Seen, by.FoC, &by.Low, &by.High
		}
		e.Dirs = append(e.Dirs, x)
	}
	return e, nil
}

// SiteRules are the negative evolution association rules of a site: which directories rarely change when
// those above them do.
type SiteRules struct {
	Job       string     `json:"job"`
	Runs      int        `json:"runs"` // that they were mined from
	Truncated bool       `json:"truncated,omitempty"`
	Rules     []SiteRule `json:"rules"` // the best one of each directory that has any
}

// SiteRule is one rule.
type SiteRule struct {
	Directory   string   `json:"directory"` // that rarely changes
	Above       []string `json:"above"`     // when these do
	Skipped     bool     `json:"skipped"`   // by this rule; else by one of a directory above
	Support     float64  `json:"support"`   // in what share of the runs those above changed
	Joint       float64  `json:"joint"`     // and it with them
	Confidence  float64  `json:"confidence"`
	Correlation *float64 `json:"correlation"` // null where it is not defined
	Why         string   `json:"why"`

	Estimate *RuleEstimate `json:"estimate"` // null where none is made
}

// RuleEstimate is the estimate for the figures of a rule when unobserved changes are taken into
// account. Each truth lies between its low and its high with a chance of 90 %.
type RuleEstimate struct {
	Seen            int      `json:"seen"` // runs of which it is known whether each directory changed
	Support         float64  `json:"support"`
	SupportLow      float64  `json:"support_low"`
	SupportHigh     float64  `json:"support_high"`
	Joint           float64  `json:"joint"`
	Correlation     *float64 `json:"correlation"` // null where it is not defined
	CorrelationLow  *float64 `json:"correlation_low"`
	CorrelationHigh *float64 `json:"correlation_high"`
}

func newRuleEstimate(p evolution.PairEstimate) *RuleEstimate {
	e := &RuleEstimate{
		Seen:        p.Seen,
		Support:     p.FoC,
		SupportLow:  p.Low,
		SupportHigh: p.High,
		Joint:       p.Joint,
	}
	if p.Defined {
		e.Correlation, e.CorrelationLow, e.CorrelationHigh = &p.CoC, &p.CoCLow, &p.CoCHigh
	}
	return e
}

// SupportText writes the support, and between which values it lies.
func (e *RuleEstimate) SupportText() string {
	return withInterval(e.Support, e.SupportLow, e.SupportHigh)
}

// CorrelationText writes the correlation in the same way.
func (e *RuleEstimate) CorrelationText() string {
	if e.Correlation == nil {
		return "none"
	}
	return withInterval(*e.Correlation, *e.CorrelationLow, *e.CorrelationHigh)
}

func withInterval(v, low, high float64) string {
	if high-low < 0.005 {
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.2f (%.2f to %.2f)", v, low, high)
}

// Associations are which directories of a site change with which.
type Associations struct {
	Job   string        `json:"job"`
	Runs  int           `json:"runs"` // from one to the next, that they were found in
	Rules []Association `json:"together"`
}

// Association is a directory that changes when another one does.
type Association struct {
	Directory  string        `json:"directory"`
	With       string        `json:"with"`       // when this one does
	Both       int           `json:"both"`       // runs in which both changed, more likely than not
	Confidence float64       `json:"confidence"` // of the runs in which With changed
	Estimate   *RuleEstimate `json:"estimate"`   // its support is how often With changed
}

// shownHistory is the history of the directories as they are shown.
func (v *View) shownHistory() (*revisit.DirHistory, error) {
	k := v.knownSite()
	return k.History(k.ShownDirs(nil))
}

// LookGap is the least number of seconds between two runs of a job that are two looks at the site.
func LookGap(j *job.Job, times []int64) int64 { return revisit.LookGap(j.UsualInterval(), times) }

// ErrTooLarge says that a site has too many directories, or runs, for an estimate.
var ErrTooLarge = errors.New("too many directories and runs for an estimate")

// Together finds which directories change with which, by the thresholds of the job. The site must have been
// retrieved.
func (v *View) Together() (*Associations, error) {
	h, err := v.shownHistory()
	if err != nil {
		return nil, err
	}
	e, err := v.estimates(h, float64(v.Job.Near.MinDoC), false)
	if err != nil {
		return nil, err
	}
	if e == nil {
		return nil, fmt.Errorf("%s: %w", v.Site.Name, ErrTooLarge)
	}
	out := &Associations{Job: v.Site.Name, Runs: h.Len(), Rules: []Association{}}
	for _, x := range e.Together(evolution.TogetherOptions{
		MinFoC:        float64(v.Job.Near.MinFoC),
		MinCoC:        float64(v.Job.Near.MinCoC),
		MinConfidence: float64(v.Job.Near.MinConfidence),
	}) {
		out.Rules = append(out.Rules, Association{
			Directory:  "/" + h.Dirs().Path(x.Also),
			With:       "/" + h.Dirs().Path(x.When),
			Both:       x.Counts.XY,
			Confidence: x.Confidence(),
			Estimate:   newRuleEstimate(e.Pair([]evolution.Dir{x.When}, x.Also)),
		})
	}
	return out, nil
}

// estimates are those of the history; nil where it is too large.
func (v *View) estimates(
	h *revisit.DirHistory, minDoC float64, structural bool,
) (*evolution.Estimates, error) {
	looks, err := v.knownSite().Looks(h)
	if err != nil || looks == nil {
		return nil, err
	}
	return looks.Estimate(h.Dirs(), minDoC, structural), nil
}

// minedRules are the rules that the policy of the job follows or, when it follows none, those that all looks
// of its runs make likely.
func (v *View) minedRules() (*revisit.MinedRules, error) {
	p, _ := v.Policies.Find(v.Job.Policy)
	return v.knownSite().Rules(revisit.NewDirTable(v.primary), v.Job.Near, !p.Rules)
}

// Rules mines the rules of the site with the thresholds of its job. estimate says whether their figures are
// estimated too. The site must have been retrieved.
func (v *View) Rules(estimate bool) (*SiteRules, error) {
	m, err := v.minedRules()
	if err != nil {
		return nil, err
	}
	estimates := m.Estimates
	if estimate && estimates == nil {
		if estimates, err = v.estimates(m.History, float64(v.Job.Near.MinDoC), false); err != nil {
			return nil, err
		}
	}
	dirs := m.History.Dirs()
	skips := m.Rules.Skips()
	out := &SiteRules{
		Job:       v.Site.Name,
		Runs:      m.History.Len(),
		Truncated: m.Rules.Truncated,
		Rules:     []SiteRule{},
	}
	for rule := range m.Rules.All() {
		x := SiteRule{
			Directory:  "/" + dirs.Path(rule.Consequent),
			Support:    rule.Support(),
			Joint:      rule.Joint(),
			Confidence: rule.Confidence(),
			Why:        rule.Why(dirs),
		}
		for _, d := range rule.Antecedent {
			x.Above = append(x.Above, "/"+dirs.Path(d))
		}
		if phi, ok := rule.Correlation(); ok {
			x.Correlation = &phi
		}
		if estimates != nil {
			x.Estimate = newRuleEstimate(estimates.Pair(rule.Antecedent, rule.Consequent))
		}
		top, _ := skips.Dir(rule.Consequent)
		x.Skipped = top == rule.Consequent
		out.Rules = append(out.Rules, x)
	}
	return out, nil
}

// Exclude yields the lines of a list with which another program leaves the skipped directories of the entry
// point's origin out, or an error for one that cannot stand in such a list.
func (s *SiteRules) Exclude(f near.SkipFormat) iter.Seq2[string, error] {
	return near.Exclude(f, func(yield func(string) bool) {
		for _, x := range s.Rules {
			path := strings.TrimPrefix(x.Directory, "/")
			if !x.Skipped || strings.HasPrefix(path, "@") {
				continue
			}
			if plain, err := url.PathUnescape(path); err == nil {
				path = plain
			}
			if !yield(path) {
				return
			}
		}
	})
}
