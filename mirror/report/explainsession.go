// SPDX-License-Identifier: Apache-2.0

package report

import (
	"strings"

	"mirrord/mirror/urls"
	"mirrord/site"
	"mirrord/store/record"
)

// session says which learned session id a URL has, and which of its parts were learned not to matter, or to
// matter after all. It continues with the representative URL of a session id.
func (e *explainer) session() error {
	if (e.Site == nil) || !e.Job.Scope.LearnSessions {
		return nil
	}
	learned, _, err := urls.ReadFact[map[string]*urls.SessionID](e.Site.Notes, urls.SessionsFact)
	if err != nil {
		return err
	}
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
	if err := e.states(); err != nil {
		return err
	}
	main := e.u
	for _, p := range urls.PartsOf(e.u) {
		for _, place := range p.Places() {
			switch l := learned[place]; {
			case l == nil:
			case l.Differs != "":
				e.say("same page: %s matters: %s said something else", place, l.Differs)
			case l.Alike:
				e.say("same page: %s does not matter: %d pairs of pages said the same, as %s; learned by run %d "+
					"(scope.learn_sessions)", place, l.Pairs, strings.Join(l.Pair, " and "), l.Run)
			default:
				const why = "session id: %s has another value in each answer: %d were seen, %d pages said the same " +
					"under two of them, and %s, requested twice, had two; learned by run %d (scope.learn_sessions)"
				e.say(why, place, l.Tokens, l.Pairs, l.Twice, l.Run)
				if main = urls.WithoutToken(e.u, place); !l.Bare {
					if main, err = e.sameForm(p); err != nil {
						return err
					}
				}
			}
		}
	}
	if main != e.u {
		e.say("%s stands for it", main)
		e.u = main
	}
	return nil
}

// states says whether other URLs in whose place the explained one is mostly repeat what the mirror has.
func (e *explainer) states() error {
	x := urls.StatedOf(e.u)
	learned, _, err := urls.ReadFact[map[string]*urls.RepeatPlace](e.Site.Notes, urls.RepeatsFact)
	if (err != nil) || len(x.States) == 0 {
		return err
	}
	for _, of := range [...]string{"", urls.FirstOfView, urls.OfCurrent} {
		if l := learned[x.Place+of]; l != nil {
			why := "states: of %d pages like %s%s, %d said only what other views or states say, as %s; " +
				"others are left to the origin since run %d (scope.learn_sessions)"
			if x.Orders {
				why = "orders: of %d pages like %s%s, %d said only what their lists say, as %s; " +
					"the list, or the origin, stands for others since run %d (scope.learn_sessions)"
			}
			e.say(why, l.Pages, x.Place, of, l.Repeat, l.Last, l.Run)
		}
	}
	return nil
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
func (e *explainer) sameForm(p urls.IdlePart) (main site.URL, err error) {
	main = e.u
	err = e.Site.Records.Resources(func(rec *record.Resource) error {
		if !rec.InSet {
			return nil
		}
		for _, other := range site.Tokens(rec.URL) {
			if (other.Kind == p.Kind) && (other.Form == p.Form) {
				main = rec.URL
			}
		}
		return nil
	})
	return main, err
}
