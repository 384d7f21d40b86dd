// SPDX-License-Identifier: Apache-2.0

package processtest

import (
	"context"
	"errors"
	"io"

	"mirrord/fetch"
	"mirrord/mirror/source"
	"mirrord/site"
)

// OtherSources are the sources of a run, of which all but the origin are fakes: each gives one answer to any
// URL. It is a process.AnswerSources, for one caller at a time.
type OtherSources struct {
	Given map[source.Provider]OtherReply // by source; one that is missing offers nothing
	Asked []source.Provider              // in their order, with the origin
	Taken int                            // answers that became an outcome
	Well  bool                           // some replica is

	origin *source.Chain
	bodies *source.BodyOptions
}

// OtherReply is the answer of a fake source.
type OtherReply struct {
	Nothing bool   // it has none for the URL
	Same    bool   // the mirror holds its body
	Body    string // a text/html, when it is not the same
	To      string // a redirect, of replicas
	Status  int
	Told    string // the other mirror of the space
}

// Offers is that of process.AnswerSources.
func (s *OtherSources) Offers(of source.Provider, _ site.URL) bool {
	_, ok := s.Given[of]
	return ok
}

// IsWell is that of process.AnswerSources.
func (s *OtherSources) IsWell() bool { return s.Well }

// Took is that of process.AnswerSources.
func (s *OtherSources) Took(*source.Answer) { s.Taken++ }

// Get is that of process.AnswerSources.
func (s *OtherSources) Get(ctx context.Context, ask *source.Ask) (source.Answer, error) {
	s.Asked = append(s.Asked, ask.Of)
	if ask.Of == source.FromOrigin {
		return s.origin.Get(ctx, ask)
	}
	r, u := s.Given[ask.Of], ask.Record.URL
	a := source.Answer{
		From:    ask.Of,
		Told:    r.Told,
		Same:    r.Same,
		Status:  max(r.Status, 200),
		Reason:  "of another source",
		Checked: 1,
	}
	head := fetch.Head{Status: a.Status, MIME: "text/html", Length: -1}
	switch {
	case r.Nothing:
		return source.Answer{Notes: []string{"a source has nothing"}}, nil
	case r.To != "":
		a.Result = &fetch.Result{Head: head}
		a.Result.Location, a.Result.Fragment, a.Result.LocationErr = u.ResolveLocation(r.To)
		a.To = a.Result.Location
	case ask.Of == source.FromUpstream && (r.Same || a.Status != 200):
		a.Result = &fetch.Result{Head: head, NotModified: r.Same}
	case !r.Same:
		body := s.bodies.New(u)
		w, err := body.Begin(&head)
		if err == nil {
			_, err = io.WriteString(w, r.Body)
		}
		if err != nil {
			return a, errors.Join(err, body.Err())
		}
		a.Content = &source.Received{Body: body, MIME: head.MIME}
		a.Result = &fetch.Result{Head: head, Kept: true, Body: int64(len(r.Body))}
	}
	return a, nil
}
