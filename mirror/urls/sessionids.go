// SPDX-License-Identifier: Apache-2.0

package urls

import (
	"slices"
	"strings"

	"mirrord/site"
)

// SessionsFact is where a site keeps the session ids that were learned: SessionID by the Kind of
// site.RandomPart.
const SessionsFact = "sessions"

// SessionID is a kind of session id, or a part of URLs that does not matter, with what proved it.
type SessionID struct {
	Alike   bool     `json:"alike,omitempty"`   // a part, by its place (IdlePart.Places)
	Pair    []string `json:"pair,omitempty"`    // two URLs that say the same
	Differs string   `json:"differs,omitempty"` // one that later said something else: the part matters
	// sums of what the URL without the part says beyond others; older versions had one, Frame
	Frames []uint64 `json:"frames,omitempty"`
	Frame  uint64   `json:"frame,omitempty"`

	Tokens int    `json:"tokens"` // that were seen, each new in the answer that had it
	Pairs  int    `json:"pairs"`  // pages that said the same under two of them
	Twice  string `json:"twice"`  // URL of the document that was requested twice; what forms or redirects share
	Bare   bool   `json:"bare"`   // URLs without the parameter say the same: they stand for the others
	Run    int    `json:"run"`
}

// IsFrame reports whether sum is what a URL without the part says beyond one with a value of it.
func (l *SessionID) IsFrame(sum uint64) bool { return sum == l.Frame || slices.Contains(l.Frames, sum) }

// WithoutToken returns a URL without the parameter that a kind of tokens is the value of; the zero URL when
// the kind is no parameter.
func WithoutToken(u site.URL, kind string) site.URL {
	i := strings.LastIndexAny(kind, "?;")
	if !strings.HasSuffix(kind, "=") || (i < 0) {
		return site.URL{}
	}
	bare, _ := site.StripParams(u, []string{kind[i+1 : len(kind)-1]})
	return bare
}
