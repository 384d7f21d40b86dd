// SPDX-License-Identifier: Apache-2.0

package process

import (
	"sync"

	"mirrord/mirror/parse"
	"mirrord/mirror/render"
	"mirrord/relocate"
	"mirrord/store/bodies"
	"mirrord/store/record"
)

// encodings knows in which encodings documents are, for the style sheets and scripts that they lead to. Safe
// for concurrent use.
type encodings struct {
	Options

	mu sync.Mutex
	// of the documents that were read last, more than a commit takes: the store has those before
	last [1 << 12]struct {
		doc  uint32 // its number plus one
		name string
	}
}

// note remembers the encoding of a document that was read. A style sheet that names none passes on that of
// the document that links to it.
func (e *encodings) note(id uint32, x *parse.Extract) {
	if x.Doc == nil {
		return
	}
	name := x.Doc.Charset
	if (x.Doc.CharsetFrom == relocate.FromDefault) && x.Around != "" {
		name = x.Around
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	last := &e.last[id%uint32(len(e.last))]
	last.doc, last.name = id+1, name
}

// noted returns the encoding of a document that was read not long ago.
func (e *encodings) noted(id uint32) (name string, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	last := &e.last[id%uint32(len(e.last))]
	return last.name, last.doc == id+1
}

// mostAround is how many redirects and style sheets lead to one at most.
const mostAround = 8

// around returns the encoding of the document that first linked to a style sheet or script; "" when it is not
// known.
func (e *encodings) around(rec *record.Resource) string {
	next := rec.Referrer
	for hops := 0; (next > 0) && hops < mostAround; hops++ {
		id := next - 1
		if name, ok := e.noted(id); ok {
			return name
		}
		if name, final := e.stored(id); final {
			return name
		}
		next = e.Table.State(id).Referrer()
	}
	return ""
}

// stored returns the encoding of a stored document. final is false for a redirect, and for a style sheet that
// may have that of the document that links to it.
func (e *encodings) stored(id uint32) (name string, final bool) {
	rec, ok, err := e.Records.Get(e.Table.URL(id))
	if err != nil || !ok || rec.Body != record.PackBody {
		return "", false
	}
	var links render.StoredLinks
	fr, err := e.Frames.ReadFrame(bodies.NewFrameReader(), rec.At)
	if (err != nil) || links.Decode(fr.Links) != nil {
		return "", false
	}
	return links.Charset, rec.Format != uint8(relocate.CSS) || links.Charset != "utf-8"
}
