// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"

	"mirrord/fetch"
	"mirrord/heads"
	"mirrord/job"
	"mirrord/mirror/render"
	"mirrord/robots"
	"mirrord/site"
	"mirrord/store"
)

// Explanation says why a URL is or is not in the mirror.
type Explanation struct {
	URL      string   `json:"url"`
	Mirrored bool     `json:"mirrored"`
	Path     string   `json:"path,omitempty"` // in the mirror
	Answer   string   `json:"answer"`         // one line
	Rules    []string `json:"rules"`          // what each rule of the job says
	Last     string   `json:"last,omitempty"` // what became of it when it was last asked
	Checked  string   `json:"checked,omitempty"`
	Found    []string `json:"found,omitempty"` // how it was found: the chain of documents from an entry point
	Redirect string   `json:"redirect,omitempty"`
	Source   string   `json:"source,omitempty"`    // the URL on a replica that the body came from
	Like     string   `json:"like,omitempty"`      // a page of the site that said the same, or nearly, when the body came
	SameText bool     `json:"same_text,omitempty"` // it said the same, to the word

	Head     *heads.Head `json:"head,omitempty"`      // of the answer that brought the body, see Heads
	LastHead *heads.Head `json:"last_head,omitempty"` // of the last answer when that was a redirect or an error
	NoHead   string      `json:"no_head,omitempty"`   // why there is no head

	rec *store.Resource // nil: nothing is known of it
}

// Explain answers why a URL is or is not in a job's mirror: from the job's rules and what is stored. It makes no request; robots
// may be nil, then only what was recorded is said of robots.txt. s may be nil for a site that was never retrieved.
func Explain(ctx context.Context, j *job.Job, s *store.Site, rb fetch.RobotsStore, raw string) (*Explanation, error) {
	u, frag, err := site.Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("explain: %w", err)
	}
	r, err := newRun(Options{Job: j, Site: orNoSite(s, j.Name), Hosts: new(fetch.Hosts)})
	if err != nil {
		return nil, err
	}
	x := &Explanation{URL: u.String()}
	say := func(format string, args ...any) { x.Rules = append(x.Rules, fmt.Sprintf(format, args...)) }
	if frag != "" {
		say("the fragment #%s belongs to the link, not to the URL", frag)
	}
	if v, ok := site.StripSession(u); ok {
		say("session id: asked as %s", v)
		u = v
	}
	refused := ""
	if is, reason := r.rules.Programs.Is(u); is {
		refused = reason
		say("program: %s; it is linked absolutely, never asked", reason)
	}
	inScope, reason := r.rules.Scope.Admits(u)
	say("scope: %s", reason)
	if !inScope {
		if r.rules.AllowRequisite(u) {
			say("requisites = %q: it would be fetched as an image, style sheet, script or font of a page in scope", j.Requisites)
		}
		if refused == "" {
			refused = reason
		}
	}
	if reason, trapped := r.rules.Traps.Check(u); trapped {
		say("trap: %s", reason)
		if refused == "" {
			refused = reason
		}
	}
	if why := r.explainRobots(u, rb); why != "" {
		say("%s", why)
	}
	if rest, ok := strings.CutPrefix(u.String(), r.provenance.At); ok && r.provenance.Job != "" {
		say("reuse: it is taken from the mirror of job %s when that has %s%s, and a sample of the files was found to be the same", r.provenance.Job, r.provenance.From, rest)
	}
	var rec store.Resource
	known := false
	if s != nil && j.Repair && !inScope {
		if err := explainRepair(s, u.String(), say); err != nil {
			return nil, err
		}
	}
	if s != nil {
		if err := r.nextRun(); err != nil {
			return nil, err
		}
		if err := r.load(); err != nil {
			return nil, err
		}
		if rec, known, err = s.Records.Get(u); err != nil {
			return nil, err
		}
		if _, ok := r.table.Find([]byte(u.String())); ok && !known {
			known = true
			rec.Outcome = site.Pending
		}
	}
	r.settleBase()
	for _, at := range r.chain.Replicas.Of(u) {
		say("alternates: when the origin does not give it, %s is asked, if that replica was found to hold the same", at)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if !known {
		x.Answer = "not mirrored: no document of the mirror links to it, or it was never retrieved"
		if refused != "" {
			x.Answer = "not mirrored: " + refused
		}
		return x, nil
	}
	r.explainHistory(x, &rec)
	if err := r.explainPlan(x, &rec); err != nil {
		return nil, err
	}
	x.rec = &rec
	r.explainRecord(x, &rec, refused)
	return x, nil
}

func orNoSite(s *store.Site, name string) *store.Site {
	if s == nil {
		return &store.Site{Name: name, Frames: new(store.Frames)}
	}
	return s
}

// explainRobots says what the stored robots.txt of the URL's origin says.
func (r *run) explainRobots(u site.URL, rb fetch.RobotsStore) string {
	if !r.job.ObeyRobots {
		return "robots.txt: not asked, obey_robots is false"
	}
	if rb == nil {
		return ""
	}
	rec, ok, err := rb.LoadRobots(u.Origin())
	switch {
	case err != nil:
		return fmt.Sprintf("robots.txt: %v", err)
	case !ok:
		return "robots.txt: not known yet"
	}
	allowed, rule := robots.FromStatus(rec.Status, rec.Body).Agent(r.rules.Product).Allowed(u.RequestURI())
	text := fmt.Sprintf("robots.txt of %s, status %d, ", rec.Fetched.UTC().Format(time.RFC3339), rec.Status)
	if allowed {
		return text + "allows it"
	}
	return text + "forbids it: " + rule.String()
}

// explainRecord says what is recorded.
func (r *run) explainRecord(x *Explanation, rec *store.Resource, refused string) {
	t := r.table.Settled()
	x.Last = rec.Outcome.String()
	if rec.Status > 0 {
		x.Last += fmt.Sprintf(", status %d", rec.Status)
	}
	if rec.Reason != "" && rec.Reason != fmt.Sprintf("status %d", rec.Status) {
		x.Last += ": " + rec.Reason
	}
	if rec.Checked > 0 {
		x.Checked = time.Unix(rec.Checked, 0).UTC().Format(time.RFC3339)
	}
	x.Mirrored, x.Path, x.Source = rec.InSet, rec.Path, ""
	if rec.InSet {
		x.Source = rec.Source
	}
	if rec.InSet && rec.Like > 0 && rec.Like <= t.Len() {
		x.Like, x.SameText = t.URL(rec.Like-1).String(), rec.SameText
	}
	switch {
	case r.provenance.Reused(rec):
		x.Answer = "mirrored, taken from the mirror of job " + r.provenance.Job
	case rec.InSet && rec.Source != "":
		x.Answer = "mirrored, from a replica"
	case rec.InSet && rec.Outcome == site.Failed:
		x.Answer = "mirrored, from an earlier run: the last request failed"
	case rec.InSet && rec.Path == "":
		x.Answer = "mirrored"
		if owner, ok := render.TwinOf(t, rec.ID); ok && t.Path(owner) != "" {
			x.Answer = "mirrored: it has the same bytes as " + t.URL(owner).String() + " and shares its file"
			x.Path = t.Path(owner)
		}
	case rec.InSet:
		x.Answer = "mirrored"
	case rec.Outcome == site.Redirected && rec.Target > 0:
		if f, in := t.Final(rec.Target - 1); in {
			x.Answer = "links to it lead to where it redirects"
			x.Redirect, x.Path = t.URL(f).String(), t.Path(f)
		} else {
			x.Answer = "not mirrored: it redirects to " + t.URL(f).String() + ", which is not mirrored"
		}
	case rec.Outcome == site.Pending:
		x.Answer = "not yet: it waits to be asked"
	case refused != "":
		x.Answer = "not mirrored: " + refused
	default:
		x.Answer = "not mirrored: " + x.Last
	}
	ref := rec.Referrer
	for n := 0; ref > 0 && ref <= t.Len() && n < 50; n++ {
		x.Found = append(x.Found, t.URL(ref-1).String())
		ref = t.State(ref - 1).Referrer()
	}
}

// Heads adds the heads of the answers that are stored. A head that is damaged is said to be so.
func (x *Explanation) Heads(s *store.Site) {
	if s == nil || x.rec == nil {
		x.NoHead = "no answer is stored"
		return
	}
	read := func(at store.HeadPlace) *heads.Head {
		if at.IsZero() {
			return nil
		}
		h, err := s.Records.ReadHead(x.rec.URL, at)
		if err != nil {
			x.NoHead = err.Error()
		}
		return h
	}
	if x.rec.InSet {
		x.Head = read(x.rec.Head)
	}
	x.LastHead = read(x.rec.LastHead)
	switch {
	case (x.Head != nil) || x.LastHead != nil || x.NoHead != "":
	case !x.rec.InSet:
		x.NoHead = "no answer is stored"
	default:
		x.NoHead = "none is stored: the body came before heads were kept, or from elsewhere; the next run that fetches it keeps its head"
	}
}

// visible replaces what a terminal would obey: the reason phrase of an answer may hold any bytes.
func visible(r rune) rune {
	if unicode.IsControl(r) && r != '\t' {
		return unicode.ReplacementChar
	}
	return r
}

// writeHead writes a head line by line.
func writeHead(line func(what, text string), what string, h *heads.Head) {
	if h == nil {
		return
	}
	for text := range strings.Lines(h.String()) {
		line(what, strings.Map(visible, strings.TrimSuffix(text, "\n")))
		what = ""
	}
	if h.Normalised {
		line("", "(normalised: order and spelling of the fields are not those of the server)")
	}
}

// WriteText writes the explanation for a person.
func (x *Explanation) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n  %s\n", x.URL, x.Answer)
	line := func(what, text string) {
		if text != "" {
			fmt.Fprintf(&b, "  %-9s %s\n", what, text)
		}
	}
	line("path", x.Path)
	line("redirect", x.Redirect)
	line("source", x.Source)
	switch {
	case x.SameText:
		line("text", "the same as "+x.Like)
	case x.Like != "":
		line("text", "nearly the same as "+x.Like)
	}
	for _, r := range x.Rules {
		line("rule", r)
	}
	line("last", x.Last)
	line("asked", x.Checked)
	for i, f := range x.Found {
		if i == 0 {
			line("found in", f)
		} else {
			line("  from", f)
		}
	}
	writeHead(line, "head", x.Head)
	writeHead(line, "last head", x.LastHead)
	line("head", x.NoHead)
	_, err := io.WriteString(w, b.String())
	return err
}
