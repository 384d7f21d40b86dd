// SPDX-License-Identifier: Apache-2.0

package report

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"mirrord/fetch"
	"mirrord/fetch/heads"
	"mirrord/fetch/robots"
	"mirrord/internal/count"
	"mirrord/mirror/render"
	"mirrord/mirror/scope"
	"mirrord/mirror/urls"
	"mirrord/site"
	"mirrord/store/record"
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
	Like     string   `json:"like,omitempty"`      // a page that said the same or nearly when the body came
	SameText bool     `json:"same_text,omitempty"` // it said the same, to the word
	Space    string   `json:"space,omitempty"`     // where links to it lead in the job's space, and why

	Head     *heads.Head `json:"head,omitempty"`      // of the answer with the body, see Heads
	LastHead *heads.Head `json:"last_head,omitempty"` // of the last answer if a redirect or an error
	NoHead   string      `json:"no_head,omitempty"`   // why there is no head

	rec *record.Resource // nil: there is no record
}

// explainer makes an explanation.
type explainer struct {
	*View
	x       *Explanation
	u       site.URL
	refused string // by the first rule that does
}

// say adds what a rule says.
func (e *explainer) say(format string, args ...any) {
	e.x.Rules = append(e.x.Rules, fmt.Sprintf(format, args...))
}

// refuse notes that a rule keeps the URL from the mirror.
func (e *explainer) refuse(reason string) {
	if e.refused == "" {
		e.refused = reason
	}
}

// Explain answers why a URL is or is not in the mirror, from the job's rules and the records. rb may be
// nil: then only what was recorded is said of robots.txt. An error is of the URL, of the state, or that
// ctx ended.
func (v *View) Explain(ctx context.Context, rb fetch.RobotsStore, raw string) (*Explanation, error) {
	u, frag, err := site.Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("explain: %w", err)
	}
	e := &explainer{View: v, x: &Explanation{URL: u.String()}, u: u}
	if frag != "" {
		e.say("the fragment #%s belongs to the link, not to the URL", frag)
	}
	if stripped, ok := v.rules.StripSession(u); ok {
		e.say("session id: asked as %s", stripped)
		e.u = stripped
	}
	if f, ok := v.rules.Fold(e.u); ok {
		e.say("profile: it has parameters that do not matter; asked as %s", f)
		e.u = f
	}
	if err := e.session(); err != nil {
		return nil, err
	}
	if main := v.rules.Main(e.u); main != e.u {
		e.say("alias: %s is another name of %s; %s stands for it", e.u.Host(), main.Host(), main)
		e.u = main
	}
	if err := e.spelling(); err != nil {
		return nil, err
	}
	e.rules()
	e.robots(rb)
	e.reuse()
	if err := e.repair(); err != nil {
		return nil, err
	}
	rec, known, err := v.record(e.u)
	if err != nil {
		return nil, err
	}
	if err := e.alternates(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if why := v.rules.Leaves(e.u, scope.Page); (why != "") && !rec.InSet {
		e.refuse(why)
		e.say("%s; a job with profile = \"none\", or scope.include, takes it in", why)
	}
	if !known {
		e.x.Answer = "not mirrored: no document of the mirror links to it, or it was never retrieved"
		if e.refused != "" {
			e.x.Answer = "not mirrored: " + e.refused
		} else {
			e.say("without a link: what the list url of the job names is mirrored all the same")
		}
		return e.x, e.cuts(&rec, false)
	}
	if err := e.types(&rec); err != nil {
		return nil, err
	}
	if err := e.cuts(&rec, true); err != nil {
		return nil, err
	}
	e.history(&rec)
	if err := e.plan(&rec); err != nil {
		return nil, err
	}
	e.x.rec = &rec
	if err := e.record(&rec); err != nil {
		return nil, err
	}
	return e.x, nil
}

// rules says what the job's rules about URLs say.
func (e *explainer) rules() {
	rules := e.View.rules
	if d := e.down.Of(e.u); d != nil {
		e.refuse(d.Sentence())
		e.say("%s; it is not requested; mirrord forget %s lists what was forgotten", d.Sentence(), e.Job.Name)
	}
	if is, reason := rules.Programs.Is(e.u); is {
		e.refuse(reason)
		e.say("program: %s; it is linked absolutely, never asked", reason)
	}
	inScope, reason := rules.Scope.Admits(e.u)
	e.say("scope: %s", reason)
	switch {
	case inScope:
	case rules.IsListBeside(e.u):
		e.say("profile: it is a list of changes of the program, beside the scope")
	default:
		if rules.AllowRequisite(e.u) {
			e.say("requisites = %q: it would be fetched as an image, style sheet, script or font "+
				"of a page in scope", e.Job.Requisites)
		}
		e.refuse(reason)
	}
	switch every := rules.First.Of(e.u); {
	case every == 1:
		e.say("priority: it comes first, and each run looks at it")
	case every > 1:
		e.say("priority: it comes first, and one of %d runs looks at it at least", every)
	}
	if reason, trapped := rules.Traps.Check(e.u); trapped {
		e.say("trap: %s", reason)
		e.refuse(reason)
	}
}

// types says what the job's rule about types says of what the URL was when it was last requested.
func (e *explainer) types(rec *record.Resource) error {
	if e.View.rules.Types == nil || rec.MIME == "" {
		return nil
	}
	if kept, err := e.isKept(rec); err != nil || kept {
		return err
	}
	why, refused := e.View.rules.Types.Refuses(rec.MIME, rec.URL, rec.Requis)
	if !refused {
		e.say("type: %s belongs to the mirror", rec.MIME)
		return nil
	}
	next := e.run.Number
	for rec.Outcome == site.OutOfScope && e.View.rules.Types.Rests(rec.ID, next) {
		next++
	}
	e.say("type: %s; links to it lead to the origin; run %d requests it again", why, next)
	return nil
}

// robots says what the stored robots.txt of the URL's origin says.
func (e *explainer) robots(rb fetch.RobotsStore) {
	if !e.Job.ObeyRobots {
		e.say("robots.txt: ignored, obey_robots is false")
		return
	}
	if rb == nil {
		return
	}
	rec, ok, err := rb.LoadHost(e.u.Origin())
	switch {
	case err != nil:
		e.say("robots.txt: %v", err)
		return
	case !ok:
		e.say("robots.txt: not known yet")
		return
	}
	agent := robots.FromStatus(rec.Status, rec.Body).Agent(e.View.rules.Product)
	allowed, rule := agent.Allowed(e.u.RequestURI())
	verdict := "allows it"
	if !allowed {
		verdict = "forbids it: " + rule.String()
	}
	e.say("robots.txt of %s, status %d, %s", rec.Fetched.UTC().Format(time.RFC3339), rec.Status, verdict)
}

// reuse says whether the URL may come from the mirror of another job.
func (e *explainer) reuse() {
	e.foundReuse()
	name, from, at := e.reused()
	rest, below := strings.CutPrefix(e.u.String(), at)
	if from == "" || !below {
		return
	}
	e.say("reuse: it is taken from the mirror of job %s when that has %s%s, "+
		"and a sample of the files was found to be the same", name, from, rest)
}

// foundReuse says whether another job mirrors the URL too, as far as that was found after a run.
func (e *explainer) foundReuse() {
	if e.Site == nil || e.Job.Reuse.Job != "" {
		return
	}
	found, err := urls.LastFoundReuse(e.Site.Notes)
	if rest, below := strings.CutPrefix(e.u.String(), found.At); err == nil && found.Job != "" && below {
		e.say("reuse: job %s mirrors it as %s%s: %s", found.Job, found.From, rest, found.Says(false))
	}
}

// repair says where links of the mirror to a URL of another site lead, when they are repaired.
func (e *explainer) repair() error {
	inScope, _ := e.View.rules.Scope.Admits(e.u)
	if e.Site == nil || !e.Job.Repair || inScope {
		return nil
	}
	published, err := render.PublishedRepairs(e.Site.Trees)
	if err != nil {
		return err
	}
	pages, example := 0, render.RepairedLink{}
	for _, path := range slices.Sorted(maps.Keys(published)) {
		is := func(l render.RepairedLink) bool { return l.Was == e.u.String() }
		if i := slices.IndexFunc(published[path], is); i >= 0 {
			pages, example = pages+1, published[path][i]
		}
	}
	if pages > 0 {
		e.say("repair: links to it on %s lead to %s, because it is broken: %s",
			count.Of(pages, "page"), example.To, example.Why)
	}
	return nil
}

// alternates says which replicas may be requested instead.
func (e *explainer) alternates() error {
	bases := e.Job.AlternateURLs()
	if len(bases) == 0 {
		return nil
	}
	of, err := e.base()
	rest, ok := strings.CutPrefix(e.u.String(), of)
	if err != nil || !ok {
		return err
	}
	what := "and the mirror lacks it"
	if e.Job.AlternatesReplace {
		what = "and the mirror lacks it or has an older page"
	}
	for _, base := range bases {
		e.say("alternates: when the origin does not give it %s, %s%s is used "+
			"if that replica was found to hold the same", what, base, rest)
	}
	return nil
}
