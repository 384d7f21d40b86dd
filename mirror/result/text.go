// SPDX-License-Identifier: Apache-2.0

package result

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"mirrord/evolution/policy"
	"mirrord/internal/count"
)

// shownFailures is how many failures the text of a summary names.
const shownFailures = 5

// shownGaps is how many gaps the text of a summary names.
const shownGaps = 10

// WriteText writes the summary for a person.
func (s *Summary) WriteText(w io.Writer) error { return s.WriteTextFor(w, "") }

// WriteTextFor is WriteText; full is the command that makes a run which requests everything, "" for none.
func (s *Summary) WriteTextFor(w io.Writer, full string) error {
	t := text{s: s, full: full}
	t.head()
	t.requests()
	t.skipped()
	t.sources()
	t.notRequested()
	t.tree()
	t.gaps()
	t.notes()
	_, err := io.WriteString(w, t.b.String())
	return err
}

// text is a summary in the making.
type text struct {
	s    *Summary
	full string // command
	b    strings.Builder
}

func (t *text) p(format string, args ...any) { fmt.Fprintf(&t.b, format, args...) }

// part is a count with its words; a part without a count is left out.
type part struct {
	n      int64
	format string
}

// join writes the parts that count something with commas between them, and reports whether there were any.
func (t *text) join(parts ...part) bool {
	sep := ""
	for _, x := range parts {
		if x.n > 0 {
			t.p(sep+x.format, x.n)
			sep = ", "
		}
	}
	return sep != ""
}

// head says how the run ended, and why.
func (t *text) head() {
	s := t.s
	verdict, found := s.Verdict.Words(), "no change found"
	if but := s.Gaps.KnownText(); (but != "") && (s.Verdict == Complete) {
		verdict, found = verdict+" "+but, found+" "+but
	}
	switch {
	case s.RolledBackTo > 0:
		t.p("%s: rolled back to %d, version %d published", s.Job, s.RolledBackTo, s.Version)
	case s.Held != nil:
		t.p("%s: %s, version %d stays published", s.Job, verdict, s.Version)
	case s.Published:
		t.p("%s: %s, version %d published", s.Job, verdict, s.Version)
	case s.Sparing() && (s.Version > 0):
		t.p("%s: %s; %d of %d requested", s.Job, found, s.Asked, s.Known)
	case s.Verdict.Finished() && (s.Version > 0):
		t.p("%s: %s, nothing changed since version %d", s.Job, verdict, s.Version)
	case s.Version > 0:
		t.p("%s: %s, version %d stays published", s.Job, verdict, s.Version)
	default:
		t.p("%s: %s, nothing published yet", s.Job, verdict)
	}
	if first := count.FirstGone(s.FirstGone); first != "" {
		t.p("; %s", first)
	}
	t.p(" (%s)\n", count.Span(s.Ended.Sub(s.Started)))
	if s.Closed {
		t.p("  the run was too old to continue and was closed; the next one starts over\n")
	}
	if s.RolledBackTo > 0 {
		t.p("  runs publish nothing as long as the site stays as it was in the version before\n")
	}
	if s.Held != nil {
		t.p("  %s\n", s.Held.Text())
	}
	t.others()
	for _, r := range s.Reasons {
		t.p("  why: %s\n", r)
	}
}

// others says of what a run did not look at when that was last looked at, and how to have it requested. What
// other places gave in place of the site is said by sources.
func (t *text) others() {
	s := t.s
	if !s.Sparing() || s.Version == 0 {
		return
	}
	remedy := "\n"
	if t.full != "" {
		remedy = "; " + t.full + " requests all\n"
	}
	if s.Skipped == 0 || s.OldestLook.IsZero() {
		if n := s.ByEvidence(); n > 0 {
			t.p("  listings, sitemaps, lifetimes or lists of changes show the other %d as before%s", n, remedy)
		}
		return
	}
	latest, oldest := ago(s.Started.Sub(s.LatestLook)), ago(s.Started.Sub(s.OldestLook))
	when := oldest + " ago"
	if latest != oldest {
		when = "between " + latest + " and " + oldest + " ago"
	}
	who := "the other"
	if s.Skipped < s.Known-s.Asked {
		who = "of the others,"
	}
	t.p("  %s %d were last checked %s (policy %s)%s", who, s.Skipped, when, s.Policy, remedy)
}

// ago writes a time that has passed, in its largest unit. The least is a second.
func ago(d time.Duration) string {
	const day = 24 * time.Hour
	switch d = max(d, time.Second); {
	case d < time.Minute:
		return fmt.Sprintf("%d s", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%d min", d/time.Minute)
	case d < 2*day:
		return fmt.Sprintf("%d h", d/time.Hour)
	}
	return fmt.Sprintf("%d days", d/day)
}

// requests says what the site answered.
func (t *text) requests() {
	s := t.s
	t.p("  requested %d: %d fetched, %d unchanged, %d redirected, %d gone",
		s.Requests, s.Fetched, s.Unchanged, s.Redirected, s.Gone)
	for _, x := range []part{
		{s.FirstGone, ", %d gone at first sight"},
		{s.Failed, ", %d failed"},
		{s.Refused, ", %d refused"},
		{s.Other, ", %d retries, checks or answers not kept"},
	} {
		if x.n > 0 {
			t.p(x.format, x.n)
		}
	}
	t.p("; %s received\n", Bytes(s.Wire))
	if s.Published && s.Sparing() {
		t.p("  %d of %d known URLs were requested\n", s.Asked, s.Known)
	}
}

// skipped says which requests were not made because of evidence or the plan.
func (t *text) skipped() {
	s := t.s
	if all := s.ByEvidence(); all > 0 {
		t.p("  skipped %s: ", count.Of(all, "request"))
		t.join(
			part{s.Spared["listing"], "%d by directory listings"},
			part{s.Spared["sitemap"], "%d by sitemaps"},
			part{s.Spared["expiry"], "%d by their lifetimes"},
			part{s.Spared["edits"], "%d by lists of changes"},
		)
		t.p("\n")
	}
	if s.Skipped > 0 {
		t.p("  skipped %d by policy %s: ", s.Skipped, s.Policy)
		t.join(
			part{s.Spared[policy.Cheap.String()], "%d unlikely to have changed"},
			part{s.Spared[policy.Rule.String()], "%d in directories that rules skip"},
			part{s.Spared[policy.Budget.String()], "%d beyond limits.max_requests"},
			part{s.Spared[policy.Unnamed.String()], "%d because the run was for other URLs"},
		)
		t.p("\n")
	}
}

// sources reports pages that are alike, and resources from elsewhere.
func (t *text) sources() {
	s := t.s
	if s.SameText+s.NearText > 0 {
		t.p("  of the fetched pages %s what another page says, and %d nearly\n",
			count.Of(s.SameText, "says", "say"), s.NearText)
	}
	for _, base := range slices.Sorted(maps.Keys(s.Alternates)) {
		t.p("  %s of %s, because the origin gave none\n",
			count.Of(s.Alternates[base], "answer is", "answers are"), base)
	}
	for _, base := range slices.Sorted(maps.Keys(s.Spread)) {
		t.p("  %s of %s, which spreads the load\n", count.Of(s.Spread[base], "answer is", "answers are"), base)
	}
	if s.ReuseFound != "" {
		t.p("  reuse: %s\n", s.ReuseFound)
	}
	if s.Reused > 0 {
		t.p("  %s taken from the mirror of %s, without a request\n",
			count.Of(s.Reused, "of the files was", "of the files were"), s.ReusedOf)
	}
	for _, name := range slices.Sorted(maps.Keys(s.FromSpace)) {
		t.p("  %s taken from the mirror of %s in the same space, without a request\n",
			count.Of(s.FromSpace[name], "of the files was", "of the files were"), name)
	}
	if f := s.Followed; f != nil && f.Since == f.Version {
		t.p("  %s is a mirror, and has version %d as before\n", f.At, f.Version)
	} else if f != nil {
		t.p("  %s is a mirror: %s of its version %d came in one answer\n", f.At,
			count.Of(f.Files, "file"), f.Version)
	}
	if n := s.RepairedLinks; n > 0 {
		t.p("  %s to equivalent copies\n", count.Of(n, "link to broken pages of other sites leads",
			"links to broken pages of other sites lead"))
	}
	if n := s.Foreign; n > 0 {
		t.p("  %s of the mirror came from replicas and will be requested from the origin\n", count.Of(n, "file"))
	}
}

func (t *text) notRequested() {
	if t.s.Disallowed+t.s.Left > 0 {
		t.p("  not requested: ")
		t.join(
			part{t.s.Disallowed, "%d disallowed by robots rules"},
			part{t.s.Left, "%d left for the next run"},
		)
		t.p("\n")
	}
}

// tree reports the published tree.
func (t *text) tree() {
	s := t.s
	if s.Version == 0 {
		return
	}
	t.p("  mirror: %s, %s", count.Of(s.Files, "file"), Bytes(s.Size))
	if s.Published {
		t.p("; %d added, %d changed, %d removed", s.Added, s.Changed, s.Removed)
	} else if !s.VersionTime.IsZero() {
		t.p("; last changed %s ago (%s)", ago(s.Ended.Sub(s.VersionTime)),
			s.VersionTime.UTC().Format("2006-01-02 15:04 MST"))
	}
	t.p("\n")
}

// gaps lists missing resources, since when and why.
func (t *text) gaps() {
	r := &t.s.Gaps
	for i := range r.List {
		if i == shownGaps {
			t.p("  … and %s\n", count.Of(r.Count-i, "more missing resource"))
			break
		}
		g := &r.List[i]
		t.p("  ")
		if g.Known != "" {
			t.p("accepted as ")
		}
		t.p("missing: %s", g.Name())
		if g.URL == "" {
			t.p(" (%s, such as %s)", count.Of(g.URLs, "URL"), g.Example)
		}
		t.p(", since %s, %s", g.Since.Format(time.DateOnly), count.Of(g.Runs, "run"))
		if g.Known != "" {
			t.p(", %s", g.Known)
		}
		if g.Why != "" {
			t.p(": %s", g.Why)
		}
		t.p("\n")
	}
}

// isGap reports whether a URL is named as a gap, or belongs to one that is.
func (t *text) isGap(url string) bool {
	return slices.ContainsFunc(t.s.Gaps.List[:min(len(t.s.Gaps.List), shownGaps)], func(g Gap) bool {
		return (g.URL == url) || ((g.Origin != "") && strings.HasPrefix(url, g.Origin+"/"))
	})
}

func (t *text) notes() {
	for _, n := range t.s.Notes {
		t.p("  note: %s", n.What)
		if len(n.Examples) > 0 {
			t.p(" (%d, such as %s)", n.Count, n.Examples[0])
		}
		t.p("\n")
	}
	failures := slices.DeleteFunc(slices.Clone(t.s.Failures), func(f FailedURL) bool { return t.isGap(f.URL) })
	for i, f := range failures {
		if i == shownFailures {
			t.p("  … and %d more\n", len(failures)-i)
			break
		}
		t.p("  failed: %s: %s\n", f.URL, f.Reason)
	}
}

// Bytes writes a number of bytes for a person, in powers of 1000.
func Bytes(n int64) string {
	const units = "kMGTPE"
	if n < 1000 {
		return fmt.Sprintf("%d B", n)
	}
	v, i := float64(n)/1000, 0
	for (v >= 999.95) && (i < len(units)-1) {
		v, i = v/1000, i+1
	}
	return fmt.Sprintf("%.1f %cB", v, units[i])
}
