// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"mirrord/policy"
)

// Verdict is how a run ended.
type Verdict uint8

// The verdicts.
const (
	Complete   Verdict = iota // everything in scope was asked; the mirror is as the site is
	Partial                   // something is left to ask; run again to go on
	Suspicious                // the site looks wrong; waits for accept
)

func (v Verdict) String() string { return [...]string{"complete", "partial", "suspicious"}[v] }

// MarshalText makes a Verdict a word in JSON.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads the word.
func (v *Verdict) UnmarshalText(b []byte) error {
	for i := Complete; i <= Suspicious; i++ {
		if i.String() == string(b) {
			*v = i
			return nil
		}
	}
	return fmt.Errorf("verdict %q: none of complete, partial, suspicious", b)
}

// Summary is the report of one run.
type Summary struct {
	Job       string    `json:"job"`
	Run       int       `json:"run"`
	Started   time.Time `json:"started"`
	Ended     time.Time `json:"ended"`
	Resumed   bool      `json:"resumed,omitempty"`
	Verdict   Verdict   `json:"verdict"`
	Reasons   []string  `json:"reasons,omitempty"`
	Published bool      `json:"published"` // a new version
	Version   int       `json:"version"`   // the published one, 0 when there is none
	Path      string    `json:"path,omitempty"`
	Entry     string    `json:"entry,omitempty"` // mirror path of the entry point

	// Of the URLs that the run knew, Asked is how many the site answered, or should have; the others were spared, by evidence or policy. A guess that
	// led nowhere, such as an icon that no page names, is in neither. Both are 0 of a run that asks for nothing.
	Asked int64 `json:"asked"`
	Known int64 `json:"known"`

	Requests  int64 `json:"requests"`
	Fetched   int64 `json:"fetched"`
	Unchanged int64 `json:"unchanged"`
	// Spared are requests that were not made, by what spared them. What a listing, a sitemap or expiry spared is unchanged and counted there; what price,
	// rule or budget spared is Skipped.
	Spared     map[string]int64 `json:"spared,omitempty"`
	Policy     string           `json:"policy,omitempty"`  // by which the run was planned; empty for one that asked for everything
	Planned    map[string]int64 `json:"planned,omitempty"` // requests of the plan, by reason
	Skipped    int64            `json:"skipped,omitempty"` // not observed in this run, because the plan spared it
	Redirected int64            `json:"redirected"`
	Gone       int64            `json:"gone"`
	Disallowed int64            `json:"disallowed"`
	Trapped    int64            `json:"trapped"`
	Failed     int64            `json:"failed"`  // could not be had, and may be had another time
	Refused    int64            `json:"refused"` // 401, 403 and the like, never part of the mirror
	Left       int64            `json:"left"`    // still to be asked
	Bytes      int64            `json:"bytes"`   // of bodies, decoded
	Wire       int64            `json:"wire"`    // of bodies, as they came

	Down []string `json:"down,omitempty"` // hosts of entry points that failed until they were left for the next run

	// Alternates counts the answers that replicas gave in the origin's place, by their base URLs; AlternatesSame those of them that were what the mirror
	// held. Foreign is how many bodies of the mirror a replica sent, in this run or before.
	Alternates     map[string]int64 `json:"alternates,omitempty"`
	AlternatesSame int64            `json:"alternatesUnchanged,omitempty"`
	Foreign        int              `json:"foreign,omitempty"`
	Reused         int64            `json:"reused,omitempty"` // taken from the mirror of job ReusedOf without a request
	ReusedOf       string           `json:"reusedOf,omitempty"`
	RepairedLinks  int              `json:"repairedLinks,omitempty"` // of the version that was published: lead to equivalent copies of broken pages of other sites

	// Of the pages that were fetched: how many have the words of another page of the site, to the word or nearly (see Explanation.Like).
	SameText int64 `json:"sameText,omitempty"`
	NearText int64 `json:"nearText,omitempty"`

	Files     int   `json:"files"` // of the published version
	Size      int64 `json:"size"`
	Added     int   `json:"added"`
	Changed   int   `json:"changed"`
	Removed   int   `json:"removed"`
	Relocated int64 `json:"relocated"` // documents spliced

	Notes    []Note    `json:"notes,omitempty"`
	Failures []Failure `json:"failures,omitempty"`
}

// Sparing reports whether a run that ended well did not look at all that it knew.
func (s *Summary) Sparing() bool { return s.Verdict == Complete && s.Asked < s.Known }

// WriteJSON writes the summary as one JSON object.
func (s *Summary) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(s)
}

// WriteText writes the summary for a person.
func (s *Summary) WriteText(w io.Writer) error {
	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format, args...) }
	switch {
	case s.Published:
		p("%s: %s, version %d published", s.Job, s.Verdict, s.Version)
	case s.Sparing() && s.Version > 0:
		p("%s: no change found; %d of %d asked", s.Job, s.Asked, s.Known)
	case s.Verdict == Complete && s.Version > 0:
		p("%s: %s, nothing changed since version %d", s.Job, s.Verdict, s.Version)
	case s.Version > 0:
		p("%s: %s, version %d stays published", s.Job, s.Verdict, s.Version)
	default:
		p("%s: %s, nothing published yet", s.Job, s.Verdict)
	}
	p(" (%s)\n", s.Ended.Sub(s.Started).Round(10*time.Millisecond))
	for _, r := range s.Reasons {
		p("  why: %s\n", r)
	}
	p("  asked %d: %d fetched, %d unchanged, %d redirected, %d gone", s.Requests, s.Fetched, s.Unchanged, s.Redirected, s.Gone)
	for _, x := range []struct {
		n    int64
		what string
	}{{s.Failed, "failed"}, {s.Refused, "refused"}} {
		if x.n > 0 {
			p(", %d %s", x.n, x.what)
		}
	}
	p("; %s received\n", Bytes(s.Wire))
	if s.Published && s.Sparing() {
		p("  %d of %d known URLs were asked\n", s.Asked, s.Known)
	}
	if n := s.Spared["listing"] + s.Spared["sitemap"] + s.Spared["expiry"]; n > 0 {
		p("  spared %d requests: %d by directory listings, %d by sitemaps", n, s.Spared["listing"], s.Spared["sitemap"])
		if n := s.Spared["expiry"]; n > 0 {
			p(", %d by their lifetimes", n)
		}
		p("\n")
	}
	if s.Skipped > 0 {
		p("  skipped %d by policy %s: ", s.Skipped, s.Policy)
		sep := ""
		for _, x := range []struct {
			why  policy.Why
			text string
		}{{policy.Cheap, "%d not worth a request"}, {policy.Rule, "%d in directories that rules skip"}, {policy.Budget, "%d beyond limits.max_requests"}} {
			if n := s.Spared[x.why.String()]; n > 0 {
				p(sep+x.text, n)
				sep = ", "
			}
		}
		p("\n")
	}
	if s.SameText+s.NearText > 0 {
		p("  of the fetched pages %d say what another page says, and %d nearly\n", s.SameText, s.NearText)
	}
	for _, base := range slices.Sorted(maps.Keys(s.Alternates)) {
		p("  %d answers are of %s, because the origin gave none\n", s.Alternates[base], base)
	}
	if s.Reused > 0 {
		p("  %d of the files were taken from the mirror of %s, without a request\n", s.Reused, s.ReusedOf)
	}
	if s.RepairedLinks > 0 {
		p("  %s to broken pages of other sites %s to equivalent copies\n", plural(s.RepairedLinks, "link", "links"), pick(s.RepairedLinks, "leads", "lead"))
	}
	if s.Foreign > 0 {
		p("  %s of the mirror came from replicas and %s asked of the origin again\n", plural(s.Foreign, "file", "files"), pick(s.Foreign, "is", "are"))
	}
	if s.Disallowed > 0 || s.Left > 0 {
		p("  not asked:")
		sep := " "
		if s.Disallowed > 0 {
			p("%s%d disallowed by robots rules", sep, s.Disallowed)
			sep = ", "
		}
		if s.Left > 0 {
			p("%s%d left for the next run", sep, s.Left)
		}
		p("\n")
	}
	if s.Version > 0 {
		p("  mirror: %d files, %s", s.Files, Bytes(s.Size))
		if s.Published {
			p("; %d added, %d changed, %d removed", s.Added, s.Changed, s.Removed)
		}
		p("\n")
	}
	for _, n := range s.Notes {
		p("  note: %s", n.What)
		if len(n.Examples) > 0 {
			p(" (%d, such as %s)", n.Count, n.Examples[0])
		}
		p("\n")
	}
	for i, f := range s.Failures {
		if i == 5 {
			p("  … and %d more\n", len(s.Failures)-i)
			break
		}
		p("  failed: %s: %s\n", f.URL, f.Reason)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Bytes writes a number of bytes for a person, in powers of 1000.
func Bytes(n int64) string {
	const units = "kMGTPE"
	if n < 1000 {
		return fmt.Sprintf("%d B", n)
	}
	v, i := float64(n)/1000, 0
	for v >= 999.95 && i < len(units)-1 {
		v, i = v/1000, i+1
	}
	return fmt.Sprintf("%.1f %cB", v, units[i])
}
