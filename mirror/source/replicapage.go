// SPDX-License-Identifier: Apache-2.0

package source

import (
	"strings"
	"sync"

	"mirrord/fetch"
	"mirrord/mirror/urls"
	"mirrord/relocate"
	"mirrord/replica/hosts"
	"mirrord/store/record"
)

// A replica that was tested is one as a whole; a page of it may be another one all the same. Before its bytes
// take the place of a page that the mirror holds, the two are compared without what the pages around it say
// as well: the template. Of other files only the type can be compared.

const (
	pageShingle    = 4   // words
	pageHigh       = 0.7 // least resemblance of what the two say themselves
	pageNeighbours = 8   // pages around it that tell the template
)

// neighbours are some pages of the mirror by directory: those that lie in it, and those below it. It is safe
// for concurrent use.
type neighbours struct {
	once      sync.Once
	in, below map[string][]uint32
}

// of returns the numbers of pages around one, nearest first. base is the directory of the site.
func (n *neighbours) of(rec *record.Resource, t *urls.Table, base string) (out []uint32) {
	n.once.Do(func() { n.list(t, base) })
	had := map[uint32]bool{rec.ID: true}
	eachDir(rec.URL.String(), base, func(dir string) bool {
		for _, ids := range [2][]uint32{n.in[dir], n.below[dir]} {
			for _, id := range ids {
				if !had[id] && len(out) < pageNeighbours {
					had[id] = true
					out = append(out, id)
				}
			}
		}
		return len(out) < pageNeighbours
	})
	return out
}

// list reads the table while other workers continue.
func (n *neighbours) list(t *urls.Table, base string) {
	n.in, n.below = map[string][]uint32{}, map[string][]uint32{}
	for id := range t.Len() {
		u, s := t.Get(id)
		if !s.Given() || !s.InSet() || !strings.HasPrefix(t.MIME(id), "text/") {
			continue
		}
		of := n.in // the nearest directory is that of the page
		eachDir(u.String(), base, func(dir string) bool {
			if len(of[dir]) <= pageNeighbours { // one more: a page is not its own neighbour
				of[dir] = append(of[dir], id)
			}
			of = n.below
			return true
		})
	}
}

// eachDir calls f for the directories above a URL, nearest first, up to base.
func eachDir(dir, base string, f func(string) bool) {
	for {
		i := strings.LastIndexByte(strings.TrimSuffix(dir, "/"), '/')
		if dir = dir[:i+1]; !strings.HasPrefix(dir, base) || !f(dir) {
			return
		}
	}
}

// likeness is what a body that a replica sent for a resource is to the one that the mirror holds.
type likeness uint8

const (
	otherPage   likeness = iota // another page, a part of what the page says itself, or unknown
	notCompared                 // of the same type, which is no text
	lacksPart                   // the page without a part of its frame, or with nothing but less
	thatPage                    // the page, or another edition of it
)

// compare compares what a replica sent for a resource with what the mirror holds of it.
func (x *ReplicaSource) compare(rec *record.Resource, res *fetch.Result, sink *BodySink) likeness {
	body := sink.Bytes()
	mime := res.MIME
	if saysNoType(mime) {
		mime = rec.MIME // the replica does not know
	}
	if f := sink.File(); f != nil {
		if f.Size() > hosts.MaxCompared {
			return otherPage
		}
		data, free, err := f.Load()
		if err != nil {
			return otherPage
		}
		defer free()
		body = data
	}
	held, err := x.Body(rec)
	if err != nil {
		return otherPage // verify reports it
	}
	is, was := pageOf(rec, mime, body), pageOf(rec, rec.MIME, held)
	if !is.IsText() && !was.IsText() {
		if mime != rec.MIME {
			return otherPage
		}
		return notCompared
	}
	switch kin := was.Kin(is, hosts.Template(x.around(rec, pageOf)), pageHigh); {
	case kin != hosts.Alike && kin != hosts.Grown:
		return otherPage
	case was.LacksPart(is):
		return lacksPart
	}
	return thatPage
}

// prepared makes a body of a resource ready for a comparison.
type prepared func(rec *record.Resource, mime string, body []byte) hosts.PageBody

// around returns the bodies of pages around one.
func (x *ReplicaSource) around(rec *record.Resource, prepare prepared) (others []hosts.PageBody) {
	for _, id := range x.neighbours.of(rec, x.Table, x.base) {
		o, ok, err := x.Record(x.Table.URL(id))
		if err != nil || !ok || !o.InSet || o.Body == record.NoBody || o.Size > hosts.MaxCompared {
			continue
		}
		if b, err := x.Body(&o); err == nil {
			others = append(others, prepare(&o, o.MIME, b))
		}
	}
	return others
}

// pageOf prepares a body to be compared word for word, as far as that can be told.
func pageOf(rec *record.Resource, mime string, body []byte) hosts.PageBody {
	html := relocate.Detect(mime, rec.URL, body[:min(len(body), 1024)]) == relocate.HTML
	return hosts.NewBody(body, html || strings.HasPrefix(mime, "text/"), html, pageShingle)
}

// answerOf prepares a body to be compared with answers to tests.
func answerOf(rec *record.Resource, mime string, body []byte) hosts.PageBody {
	return hosts.AnswerBody(mime, rec.URL, body)
}
