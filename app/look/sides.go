// SPDX-License-Identifier: Apache-2.0

package look

import (
	"context"
	"slices"
	"strings"
	"time"

	"mirrord/app/env"
	"mirrord/mirror/render"
	"mirrord/phm"
	"mirrord/phm/diff"
	"mirrord/replica/text"
	"mirrord/store"
)

// SideShown is one of two versions of a file, as a browser shows it beside the other one.
type SideShown struct {
	Type string
	Body []byte
	// of a page, whose words that the other version has not are marked: how many those are in the older and
	// in the newer version; nil for a picture
	Words *[2]int
}

// SideRequest names two versions of a file, and which of them is wanted.
type SideRequest struct {
	Job   string
	Pair  [2]int // versions, the older one first
	Newer bool
	Path  string
	Head  string // what a page gets at the start of its head
}

// SideOf returns a version of a page, with the words that differ marked, or of a picture. It is nil for other
// files, and for those that one of the versions does not have.
func SideOf(a *env.App, r SideRequest) (out *SideShown, err error) {
	st, err := a.MustState()
	if err != nil {
		return nil, err
	}
	defer env.Close(&err, st)
	var bodies [2]diff.Body
	for i, number := range r.Pair {
		p, err := OpenPast(st, r.Job, number)
		if err != nil {
			return nil, err
		}
		defer p.Close()
		_, _, f := locate(r.Path, p, p)
		if f == nil {
			return nil, nil
		}
		var large bool
		if bodies[i], large, err = bodyOf(p, f); err != nil || large {
			return nil, err
		}
	}
	i := 0
	if r.Newer {
		i = 1
	}
	if isPicture(bodies[0].Type) && isPicture(bodies[1].Type) {
		return &SideShown{Type: bodies[i].Type, Body: bodies[i].Data}, nil
	}
	m, ok := diff.Mark(bodies[0], bodies[1], r.Head, diff.Options{})
	if !ok || !isHTML(bodies[0].Type) || !isHTML(bodies[1].Type) {
		return nil, nil
	}
	return &SideShown{Type: "text/html; charset=utf-8", Body: m.Pages[i], Words: &m.Words}, nil
}

// isPicture reports whether browsers show files of a type as pictures.
func isPicture(mime string) bool {
	kind, is := strings.CutPrefix(mime, "image/")
	return is && strings.Contains(" png jpeg gif webp avif svg+xml bmp x-icon vnd.microsoft.icon ", " "+kind+" ")
}

// Wording is since when a page says something.
type Wording struct {
	Job  string `json:"job"`
	Path string `json:"path"`
	URL  string `json:"url,omitempty"`
	Text string `json:"text"`
	As   int    `json:"as"` // the version that was asked about
	// Since is the first of the kept versions that say so without a break until As; 0: As does not say so
	Since  int       `json:"since"`
	Time   time.Time `json:"time,omitzero"`    // of Since
	Before int       `json:"before,omitempty"` // version of the state before Since; 0: no older one is kept
	Until  int       `json:"until,omitempty"`  // when Since is 0: the last version that said so; 0: none did
	Gone   int       `json:"gone,omitempty"`   // version of the state after Until
}

// SinceWhen finds the version of a page from which on it says something. Case and white space do not count.
func SinceWhen(ctx context.Context, a *env.App, r KeptPageRequest, words string) (*Wording, error) {
	want := plainText(words)
	if want == "" {
		return nil, env.Usagef("since when: say what the page says: a word, or a passage of it")
	}
	k, err := PageOf(ctx, a, r)
	if err != nil {
		return nil, err
	}
	s := &Wording{
		Job:  r.Job,
		Path: k.Path,
		Text: strings.TrimSpace(words),
		As:   k.Version().Number,
	}
	if k.File == nil {
		return nil, env.Usagef("version %d of %s does not have %s", s.As, r.Job, k.Path)
	}
	s.URL = k.File.URL
	st, err := a.MustState()
	if err != nil {
		return nil, err
	}
	defer env.Close(&err, st)
	if err := s.find(ctx, st, k, want); err != nil {
		return nil, err
	}
	if i := render.VersionAt(k.Versions, s.Since); i >= 0 {
		s.Time = k.Versions[i].Time
	}
	return s, nil
}

// find reads the states of a page, the newest first, until the answer is there.
func (s *Wording) find(ctx context.Context, st *store.State, k *KeptPage, want string) error {
	states := k.States
	if len(states) == 0 { // of another program
		states = []int{s.As}
	}
	after := 0 // the state that was read before this one
	for _, number := range slices.Backward(states) {
		if number > s.As {
			continue
		}
		says, err := saysSo(st, k.Job, number, k.File, want)
		switch {
		case err != nil:
			return err
		case says && s.Since == after:
			s.Since = number
		case says:
			s.Until, s.Gone = number, after
			return nil
		case s.Since != 0:
			s.Before = number
			return nil
		}
		after = number
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// saysSo reports whether a version of a page has a text.
func saysSo(st *store.State, name string, number int, of *phm.File, want string) (bool, error) {
	p, err := OpenPast(st, name, number)
	if err != nil {
		return false, err
	}
	defer p.Close()
	_, _, f := locate(of.URL, p, p)
	if f == nil {
		_, _, f = locate(of.Path, p, p)
	}
	body, large, err := bodyOf(p, f)
	if err != nil || large {
		return false, err
	}
	return strings.Contains(plainText(text.ExtractAs(body.Data, isHTML(body.Type))), want), nil
}

// plainText is a text without what does not count.
func plainText(s string) string { return strings.ToLower(strings.Join(strings.Fields(s), " ")) }
