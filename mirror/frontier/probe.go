// SPDX-License-Identifier: Apache-2.0

package frontier

// probe is the one request that finds out whether an origin that is written off answers again.
type probe struct {
	begun, ended bool
	id           uint32   // of the URL that is requested
	held         []uint32 // those that wait for its outcome
}

// isOpen reports whether the request has begun and nothing came of it yet.
func (p *probe) isOpen() bool { return p.begun && !p.ended }

// end ends the wait and returns the URLs that waited.
func (p *probe) end() (held []uint32) {
	held, p.held = p.held, nil
	p.ended = p.ended || p.begun
	return held
}
