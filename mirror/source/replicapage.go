// SPDX-License-Identifier: Apache-2.0

package source

import (
	"strings"

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
	for _, o := range urls.Around(x.Records, rec.URL, x.base, pageNeighbours) {
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
