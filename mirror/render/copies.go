// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"io"
	"iter"
	"slices"

	"mirrord/relocate"
	"mirrord/site"
	"mirrord/store"
	"mirrord/store/record"
	"mirrord/store/upkeep"
)

// Copies finds good copies of stored documents whose bodies are damaged: files of the published tree in which
// nothing was changed, because each link is right where the copy lies, but for a charset that was added, and
// what More has. The links that are stored beside a body are found again.
type Copies struct {
	site *store.Site
	// More returns the body of a record that no published file is, nil for none; nil when there are no more
	More func(r *record.Resource) []byte
}

// CopiesOf returns the copies that an open site has.
func CopiesOf(s *store.Site) *Copies { return &Copies{site: s} }

// Of returns the copies of the body of a record. It is an upkeep.BodyCopies.
func (c *Copies) Of(r *record.Resource) iter.Seq[upkeep.BodyCopy] {
	return func(yield func(upkeep.BodyCopy) bool) {
		var body []byte
		if r.Body == record.PackBody {
			body = c.published(r)
		}
		if (body == nil) && (c.More != nil) {
			body = c.More(r)
		}
		if body == nil {
			return
		}
		if r.Body != record.PackBody {
			yield(upkeep.BodyCopy{Body: body})
			return
		}
		for found := range c.scanned(r, body) {
			if !yield(found) {
				return
			}
		}
	}
}

// published returns the file of the published tree at the path of a record when it is the record's body.
func (c *Copies) published(r *record.Resource) []byte {
	tree, err := c.site.Trees.Current()
	if (err != nil) || (r.Path == "") {
		return nil
	}
	defer tree.Close()
	f, err := tree.Open(r.Path)
	if err != nil {
		return nil
	}
	defer f.Close()
	fi, err := f.Stat()
	if (err != nil) || !fi.Mode().IsRegular() || fi.Size() < r.Size || fi.Size() > r.Size+mostAdded {
		return nil
	}
	body, err := io.ReadAll(f)
	if err != nil {
		return nil
	}
	if !record.IsDigestOf(r.Digest, body) {
		body = withoutCharset(body)
	}
	if !record.IsDigestOf(r.Digest, body) {
		return nil
	}
	return body
}

// mostAdded is more than relocation adds to a page to declare its charset, in bytes.
const mostAdded = 100

// withoutCharset takes the declaration away that relocation adds to a page whose charset only the header
// named.
func withoutCharset(body []byte) []byte {
	before, rest, ok := bytes.Cut(body, []byte(`<meta charset="`))
	if !ok {
		return nil
	}
	_, after, _ := bytes.Cut(rest, []byte(`">`))
	return append(slices.Clip(before), after...)
}

// scanned returns a body with its links, once for each way in which a job may have had them stored.
func (c *Copies) scanned(r *record.Resource, body []byte) iter.Seq[upkeep.BodyCopy] {
	return func(yield func(upkeep.BodyCopy) bool) {
		var doc relocate.Doc
		for _, noScripts := range []bool{false, true} {
			err := doc.Scan(body, relocate.Input{
				URL:           r.URL,
				HeaderCharset: r.Charset,
				Format:        relocate.Format(r.Format),
				NoScripts:     noScripts,
			})
			if err != nil {
				return
			}
			if !yield(upkeep.BodyCopy{Body: body, Links: AppendLinks(nil, &doc, c.numbers(&doc))}) {
				return
			}
		}
	}
}

// numbers returns the numbers of the URLs of a document's links, as AppendLinks wants them.
func (c *Copies) numbers(doc *relocate.Doc) func(i int) (uint32, bool) {
	return func(i int) (uint32, bool) {
		l := &doc.Links[i]
		if l.Kind == relocate.Action {
			return 0, false
		}
		u := site.Canonical(string(l.URL))
		rec, ok, err := c.site.Records.Get(u)
		if !ok && (err == nil) {
			rec, ok, err = c.site.Records.Get(u.Normal())
		}
		return rec.ID, ok && (err == nil)
	}
}
