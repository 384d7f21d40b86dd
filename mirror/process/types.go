// SPDX-License-Identifier: Apache-2.0

package process

import (
	"slices"

	"mirrord/mirror/parse"
	"mirrord/mirror/source"
	"mirrord/mirror/urls"
	"mirrord/relocate"
	"mirrord/site"
	"mirrord/store/record"
)

// leftOut says why the body of a URL does not belong to the mirror, by the job's rule about types; "" when it
// does. Entry points, where they lead, and sitemaps always do.
func (r *reading) leftOut(rec *record.Resource, mime string) string {
	if r.Rules.Types == nil || slices.Contains(r.Rules.Seeds, rec.URL) {
		return ""
	}
	why, refused := r.Rules.Types.Refuses(mime, rec.URL, r.needed(rec))
	if !refused || r.Traits.Is(rec.ID, urls.IsLead) || r.Traits.Is(rec.ID, urls.NamedSitemap) {
		return ""
	}
	return why
}

// needed reports whether a document needs a URL to be shown, as far as that is known.
func (r *reading) needed(rec *record.Resource) bool {
	return rec.Requis || r.Table.State(rec.ID).Requisite()
}

// refuse returns what says of the type in the head of an answer why its body is not read; nil when all are
// read. Without a type the body decides.
func (r *reading) refuse(rec *record.Resource) func(mime string) string {
	if r.Rules.Types == nil {
		return nil
	}
	return func(mime string) string {
		if parse.IsUnknownType(mime) {
			return ""
		}
		return r.leftOut(rec, mime)
	}
}

// leftOutBody says why a body that came does not belong to the mirror, like leftOut, and what its type is:
// that of its answer or, where that says nothing, text/html for what browsers take for a page. A copy shows a
// page only under a name that says so.
func (r *reading) leftOutBody(rec *record.Resource, c *source.Received) (mime, why string) {
	if mime = c.MIME; parse.IsUnknownType(mime) {
		head := c.Body.Bytes()
		if f := c.Body.File(); f != nil {
			head = f.Head(1024)
		}
		mime = parse.TypeOf(mime, relocate.Detect(mime, rec.URL, head))
	}
	return mime, r.leftOut(rec, mime)
}

// outOfScope makes the outcome of a URL whose type does not belong to the mirror. The record keeps the type.
func (r *reading) outOfScope(
	rec *record.Resource, mime, why string, as urls.Account,
) *urls.Finding {
	rec.MIME = mime
	as.Notes = append(as.Notes, "files whose types scope.types or scope.not_types leaves out")
	return LeftOut(rec, why, r.Version, as)
}

// LeftOut makes the outcome of a URL that does not belong to the mirror.
func LeftOut(rec *record.Resource, why string, version int, as urls.Account) *urls.Finding {
	rec.Outcome, rec.Reason, rec.Failures, rec.Gone = site.OutOfScope, why, 0, 0
	as.Room = as.Room.Add(urls.Leave(rec, version))
	rec.Body = record.NoBody
	return urls.WithoutLinks(rec, as)
}
