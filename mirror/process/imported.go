// SPDX-License-Identifier: Apache-2.0

package process

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"

	"mirrord/mirror/render"
	"mirrord/mirror/result"
	"mirrord/mirror/urls"
	"mirrord/phm"
	"mirrord/site"
	"mirrord/store/disk"
	"mirrord/store/record"
)

// keptImported is a kind of note.
const keptImported = "not given by the site, and kept as they were imported"

// KeepImported makes a failure, or a first 404, of a URL that no run had yet one of what was imported.
func KeepImported(x *Processor, f Found) (Found, error) {
	if (f.Finding == nil) || x.Chain.Imported.Files == nil {
		return f, nil
	}
	d := f.Finding
	isGone := d.Outcome == site.Gone
	if (!isGone && d.Outcome != site.Failed) || (isGone && x.Traits.Spent(d.ID, urls.AfterGone)) {
		return f, nil
	}
	line := x.Chain.Imported.Files.Find(d.URL)
	if line == nil {
		return f, nil
	}
	if isGone && x.Confirm < 0 {
		return Found{Turn: urls.Turn{Why: urls.AfterGone}}, nil
	}
	kept, err := adopt(x, &d.Resource, line, d.As)
	if kept == nil || err != nil {
		return f, err
	}
	if (line.URL == d.URL.String()) && len(line.Also()) == 0 {
		kept.Path = line.Path
	}
	kept.As.Tally = d.As.Tally
	kept.As.Notes = append(kept.As.Notes, keptImported)
	if f.Finding = kept; !isGone {
		return f, nil
	}
	kept.As.Tally &^= urls.AsGone
	first, err := x.firstGone(&kept.Resource, kept.As)
	if first.Finding != nil { // it has no links
		first.Finding.Targets, first.Finding.Linked = kept.Targets, kept.Linked
	}
	return first, err
}

// adopt makes a URL one of the mirror, with the imported file as its body, and follows its links. rec says
// what became of its request. The body is of no answer of the site: Fetched is 0, there are no validators,
// and any answer replaces it. nil when the file is damaged.
func adopt(
	x *Processor, rec *record.Resource, file *phm.File, as urls.Account,
) (*urls.Finding, error) {
	files, r := x.Chain.Imported.Files, x.read
	f := urls.FindingOf(rec, urls.Account{})
	now := &f.Resource
	now.InSet, now.MIME, now.Size = true, file.Type, file.Size
	if !file.Modified.IsZero() {
		now.Modified = file.Modified.Unix()
	}
	now.Name = file.Name()
	if v, ok := file.Extra[phm.SourceField]; ok && json.Unmarshal(v, &now.Source) != nil {
		now.Source = file.URL
	}
	as.Tally = urls.AsRefused // nothing came
	if !files.IsDocument(file) || (file.Size > int64(r.Job.Limits.MaxDocument)) {
		if files.IsDocument(file) {
			now.Cut = uint16(result.CutDocument)
		}
		return adoptBlob(x, f, rec, file, as)
	}
	body, err := files.Document(file)
	if err != nil {
		return nil, nil
	}
	p := <-r.procs
	defer p.giveTo(r.procs)
	now.Size, now.Digest = int64(len(body)), sha256.Sum256(body)
	b := r.toRead(p, now, body)
	b.Sitemap = false
	return r.document(f, rec, b, p, as)
}

// adoptBlob is adopt for a file without links to others.
func adoptBlob(
	x *Processor, f *urls.Finding, rec *record.Resource, file *phm.File, as urls.Account,
) (*urls.Finding, error) {
	now := &f.Resource
	src, err := x.Chain.Imported.Files.Open(file)
	if err != nil {
		return nil, nil
	}
	defer src.Close()
	w, err := x.Chain.Imported.Blobs.Create()
	if err != nil {
		return nil, err
	}
	_, err = io.Copy(w, src)
	now.Body, now.Digest = record.BlobBody, w.Digest()
	if (err != nil) || hex.EncodeToString(now.Digest[:]) != file.SHA256 {
		w.Abort()
		if _, full := errors.AsType[*disk.DiskError](err); full {
			return nil, err
		}
		return nil, nil
	}
	if _, _, err := w.Commit(render.ModTime(now)); err != nil {
		return nil, err
	}
	if full := x.read.reserve(now, rec, &as); full != nil {
		return full, nil
	}
	return x.read.keep(f, rec, nil, as)
}
