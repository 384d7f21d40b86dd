// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"strings"

	"mirrord/fetch"
	"mirrord/mirror/source"
	"mirrord/relocate"
	"mirrord/replica/hosts"
	"mirrord/store"
)

// A replica that was tested is one as a whole; a page of it may be another one all the same. Before its bytes take the place of a page that the
// mirror holds, the two are compared without what the pages around it say as well: the template. Of what is no text only the type can be compared.

const (
	pageShingle  = 4   // words
	pageHigh     = 0.4 // least resemblance of what the two say themselves
	pageSiblings = 8   // pages around it that tell the template
	templateFew  = 3   // with fewer of them each one's text is template, else what two of them say
)

// siblings are some pages of the mirror by directory, those of the directories below included.
type siblings map[string][]uint32

// siblingsOf returns the numbers of pages around one, nearest first.
func (r *run) siblingsOf(rec *store.Resource) (out []uint32) {
	a := &r.alt
	a.siblingsOnce.Do(func() {
		a.siblings = siblings{}
		for id := range r.table.Len() { // other workers go on meanwhile
			u, s := r.table.Get(id)
			if !s.Given() || !s.InSet() || !strings.HasPrefix(r.table.MIME(id), "text/") {
				continue
			}
			for dir := u.String(); ; {
				i := strings.LastIndexByte(strings.TrimSuffix(dir, "/"), '/')
				if dir = dir[:i+1]; !strings.HasPrefix(dir, a.base) {
					break
				}
				if len(a.siblings[dir]) <= pageSiblings { // one more: a page is not its own sibling
					a.siblings[dir] = append(a.siblings[dir], id)
				}
			}
		}
	})
	had := map[uint32]bool{rec.ID: true}
	for dir := rec.URL.String(); len(out) < pageSiblings; {
		i := strings.LastIndexByte(strings.TrimSuffix(dir, "/"), '/')
		if dir = dir[:i+1]; !strings.HasPrefix(dir, a.base) {
			break
		}
		for _, id := range a.siblings[dir] {
			if !had[id] && len(out) < pageSiblings {
				had[id] = true
				out = append(out, id)
			}
		}
	}
	return out
}

// isThatPage reports whether what a replica sent for a resource is what the mirror holds of it, or another edition of it.
func (r *run) isThatPage(rec *store.Resource, res *fetch.Result, sink *source.Body) bool {
	body := sink.Bytes()
	if sink.File() != nil {
		if sink.File().Size() > hosts.MaxCompared {
			return false
		}
		data, free, err := sink.File().Load()
		if err != nil {
			return false
		}
		defer free()
		body = data
	}
	held, err := r.heldBody(rec)
	if err != nil {
		return false // verify reports it
	}
	mime := res.MIME
	if mime == "" || mime == "text/plain" || mime == "application/octet-stream" {
		mime = rec.MIME // the replica does not know
	}
	is, was := pageOf(rec, mime, body), pageOf(rec, rec.MIME, held)
	if !is.IsText() && !was.IsText() {
		return mime == rec.MIME
	}
	var others []hosts.PageBody
	for _, id := range r.siblingsOf(rec) {
		o, ok, err := r.site.Records.Get(r.table.URL(id))
		if err != nil || !ok || !o.InSet || o.Body == store.NoBody || o.Size > hosts.MaxCompared {
			continue
		}
		if b, err := r.heldBody(&o); err == nil {
			others = append(others, pageOf(&o, o.MIME, b))
		}
	}
	least := 2
	if len(others) < templateFew {
		least = 1
	}
	return was.Agrees(is, hosts.Shared(others, least), pageHigh)
}

// pageOf prepares a body for the comparison.
func pageOf(rec *store.Resource, mime string, body []byte) hosts.PageBody {
	html := relocate.Detect(mime, rec.URL, body[:min(len(body), 1024)]) == relocate.HTML
	return hosts.NewBody(body, html || strings.HasPrefix(mime, "text/"), html, pageShingle)
}
