// SPDX-License-Identifier: Apache-2.0

package report

import (
	"strings"

	"mirrord/mirror/urls"
	"mirrord/site"
	"mirrord/store/record"
)

// session says which learned session id a URL has, and continues with its representative URL.
func (e *explainer) session() error {
	if (e.Site == nil) || !e.Job.Scope.LearnSessions {
		return nil
	}
	learned, _, err := urls.ReadFact[map[string]*urls.SessionID](e.Site.Notes, urls.SessionsFact)
	if err != nil {
		return err
	}
	e.alike(learned)
	pairs, _, err := urls.ReadFact[urls.Pairs](e.Site.Notes, urls.PairsFact)
	if err != nil {
		return err
	}
	switch p := pairs[e.u.String()]; {
	case p.Holds():
		e.say("same page: in each run that compared them it said what %s says, which is requested for both "+
			"(scope.learn_sessions)", p.Main)
	case (p != nil) && p.Differs:
		e.say("same page: no longer: it said something else than %s", p.Main)
	}
	for _, t := range site.Tokens(e.u) {
		l := learned[t.Kind]
		if l == nil {
			continue
		}
		const why = "session id: %s has another value in each answer: %d were seen, %d pages said the same under " +
			"two of them, and %s, requested twice, had two; learned by run %d (scope.learn_sessions)"
		e.say(why, t.Kind, l.Tokens, l.Pairs, l.Twice, l.Run)
		main := urls.WithoutToken(e.u, t.Kind)
		if !l.Bare {
			if main, err = e.sameForm(t); err != nil {
				return err
			}
		}
		if main != e.u {
			e.say("%s stands for it", main)
			e.u = main
		}
		return nil
	}
	return nil
}

// alike says which parts of the URL were learned not to matter, or to matter after all.
func (e *explainer) alike(learned map[string]*urls.SessionID) {
	for _, p := range urls.PartsOf(e.u) {
		for _, place := range p.Places {
			switch l := learned[place]; {
			case (l == nil) || !l.Alike:
			case l.Differs != "":
				e.say("same page: %s matters: %s said something else", place, l.Differs)
			default:
				e.say("same page: %s does not matter: %d pairs of pages said the same, as %s; learned by run %d "+
					"(scope.learn_sessions)", place, l.Pairs, strings.Join(l.Pair, " and "), l.Run)
			}
		}
	}
}

// spelling continues with an equivalent URL that the mirror knows, when it does not know this one. It reads
// all records then.
func (e *explainer) spelling() error {
	_, known, err := e.View.record(e.u)
	if (err != nil) || known || (e.Site == nil) || !strings.ContainsAny(e.u.RequestURI(), "%~") {
		return err
	}
	asked := e.u
	err = e.Site.Records.Resources(func(rec *record.Resource) error {
		if asked.Same(rec.URL) {
			e.u = rec.URL
		}
		return nil
	})
	if e.u != asked {
		e.say("spelling: %s is the same (RFC 3986)", e.u)
	}
	return err
}

// sameForm returns the URL of the mirror that differs from the explained one only in a token; that one when
// no other exists. It reads all records.
func (e *explainer) sameForm(t site.RandomPart) (main site.URL, err error) {
	main = e.u
	err = e.Site.Records.Resources(func(rec *record.Resource) error {
		if !rec.InSet {
			return nil
		}
		for _, other := range site.Tokens(rec.URL) {
			if (other.Kind == t.Kind) && (other.Form == t.Form) {
				main = rec.URL
			}
		}
		return nil
	})
	return main, err
}
