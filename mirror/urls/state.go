// SPDX-License-Identifier: Apache-2.0

package urls

import "mirrord/site"

// State is a snapshot of what the table has about a number. The zero value is that of a number whose URL is
// not known yet.
type State struct{ entry }

// Given reports whether the number has a URL: a number that was reserved, and of which nothing was read yet,
// has none.
func (s State) Given() bool { return s.url > 0 }

// Outcome is what became of the URL when it was last asked or decided upon.
func (s State) Outcome() site.Outcome { return s.outcome }

// InSet reports whether its body is part of the mirror.
func (s State) InSet() bool { return s.flags&fInSet != 0 }

// Queued reports whether it entered the frontier in this run, or was decided upon without.
func (s State) Queued() bool { return s.flags&fQueued != 0 }

// Answered reports whether it has an outcome of this run.
func (s State) Answered() bool { return s.flags&fAnswered != 0 }

// Requisite reports whether it was first seen as a page requisite.
func (s State) Requisite() bool { return s.flags&fRequis != 0 }

// Dirty reports whether its body, type or path differs from the published version.
func (s State) Dirty() bool { return s.flags&fDirty != 0 }

// Moved reports whether it entered, left or moved since the published version: pages that link to it are
// spliced again.
func (s State) Moved() bool { return s.flags&fMoved != 0 }

// Known reports whether a record of an earlier run exists.
func (s State) Known() bool { return s.flags&fKnown != 0 }

// HasPath reports whether it has a mirror path.
func (s State) HasPath() bool { return s.more&mPath != 0 || s.flags&fIdentity != 0 }

// Depth is how many links it is from an entry point.
func (s State) Depth() int { return int(s.depth) }

// Referrer is the number, plus one, of the document that first named it; 0 when none did.
func (s State) Referrer() uint32 { return s.ref }

// Target is the number, plus one, of what it redirects to; 0 when it does not. Of a resource that shares the
// file of another one it is, once names are assigned, that one's.
func (s State) Target() uint32 { return s.target() }

// Type is the number of its MIME type in MIMEs.
func (s State) Type() int { return int(s.mime) }

// Rate is how often it changes, see RateOf.
func (s State) Rate() uint8 { return s.rate }

// Seen is what this run has found out about it.
func (s State) Seen() Seen { return s.seen }

// Governed reports whether a policy decides when it is asked again: it is in the mirror, or redirects, and is
// a page of its own.
func (s State) Governed() bool { return (s.flags&fInSet != 0 || s.target() > 0) && !s.Joined() }

// Joined reports whether it is one page with another URL, which is requested for both.
func (s State) Joined() bool { return s.seen&Joined != 0 }

// Guessed reports whether nothing but strings in scripts is known to name it in this run.
func (s State) Guessed() bool { return s.seen&(Guess|Named) == Guess && s.flags&fInSet == 0 }

// WasAsked reports whether it was asked in this run, by this process or an earlier one.
func (s State) WasAsked() bool {
	failed := s.outcome == site.Failed && s.flags&fAnswered != 0
	return s.seen&Asked != 0 || failed
}

// Shares reports whether a resource of the mirror has no file of its own. It is known once names are
// assigned.
func (s State) Shares() bool { return s.flags&fInSet != 0 && s.target() != 0 }
