// SPDX-License-Identifier: Apache-2.0

package report

import (
	"iter"
	"net/url"
	"strings"
	"time"

	"mirrord/evolution"
	"mirrord/mirror/spare"
	"mirrord/near"
)

// Evolution is how the directories of a site changed, as far as its runs observed it. Directories are those
// of URLs: "/" is the root of the entry point's origin, "/@host/…" lies on another one.
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
	Path       string    `json:"path"`
	Files      int       `json:"files"`
	Unobserved int       `json:"unobserved"` // of Files, in the last run
	Changed    int       `json:"changed"`    // runs in which it changed by MinDoC or more
	Known      int       `json:"known"`      // runs of which that is known
	FoC        float64   `json:"foc"`        // Changed of Known
	MeanDoC    float64   `json:"mean_doc"`   // over the runs in which it changed
	MaxDoC     float64   `json:"max_doc"`
	Edits      int       `json:"edits"` // files and directories that came, went or changed
	LastChange time.Time `json:"last_change,omitzero"`
}

// Evolution reads the history of the site's directories. A change counts from minDoC on; structural says
// that files with other contents are no change. The site must have been retrieved.
func (v *View) Evolution(minDoC float64, structural bool) (*Evolution, error) {
	h, err := v.knownSite().History(spare.NewDirTable(v.primary))
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
			FoC:        d.FoC.Value(),
			MeanDoC:    d.Mean,
			MaxDoC:     d.Max,
			Edits:      d.Edits,
		}
		if d.Last > 0 {
			x.LastChange = time.Unix(d.Last, 0).UTC()
		}
		e.Dirs = append(e.Dirs, x)
	}
	return e, nil
}

// SiteRules are the negative evolution association rules of a site: which directories seldom change when
// those above them do.
type SiteRules struct {
	Job       string     `json:"job"`
	Runs      int        `json:"runs"` // that they were mined from
	Truncated bool       `json:"truncated,omitempty"`
	Rules     []SiteRule `json:"rules"` // the best one of each directory that has any
}

// SiteRule is one rule.
type SiteRule struct {
	Directory   string   `json:"directory"` // that seldom changes
	Above       []string `json:"above"`     // when these do
	Skipped     bool     `json:"skipped"`   // by this rule; else by one of a directory above
	Support     float64  `json:"support"`   // in what share of the runs those above changed
	Joint       float64  `json:"joint"`     // and it with them
	Confidence  float64  `json:"confidence"`
	Correlation *float64 `json:"correlation"` // null where it is not defined
	Why         string   `json:"why"`
}

// Rules mines the rules of the site with the thresholds of its job. The site must have been retrieved.
func (v *View) Rules() (*SiteRules, error) {
	m, err := v.knownSite().Rules(spare.NewDirTable(v.primary), v.Job.Near)
	if err != nil {
		return nil, err
	}
	dirs := m.History.Dirs()
	skips := m.Rules.Skips(nil)
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
		top, _ := skips.Dir(rule.Consequent)
		x.Skipped = top == rule.Consequent
		out.Rules = append(out.Rules, x)
	}
	return out, nil
}

// Exclude yields the lines of a list with which another program leaves the skipped directories of the entry
// point's origin out, or an error for one that cannot stand in such a list.
func (s *SiteRules) Exclude(f near.Format) iter.Seq2[string, error] {
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
