// SPDX-License-Identifier: Apache-2.0

package spaces

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mirrord/app/env"
	"mirrord/phm"
	"mirrord/phm/space"
	"mirrord/relocate"
	"mirrord/site"
	"mirrord/store"
	"mirrord/store/bodies"
	"mirrord/store/disk"
	"mirrord/store/record"
)

// mostGone bounds the URLs of one mirror whose last copies are looked for.
const mostGone = 100_000

// goneOf lists the URLs that a mirror had and its site no longer has.
func goneOf(st *store.State, mirror string) (urls []string, err error) {
	err = env.View(st, mirror, func(s *store.Site) error {
		urls = nil
		return s.Records.Resources(func(r *record.Resource) error {
			if r.Outcome == site.Gone && !r.InSet && r.Moved > 0 && len(urls) < mostGone {
				urls = append(urls, strings.Clone(r.URL.String()))
			}
			return nil
		})
	})
	return urls, err
}

// lastFolder is where last copies lie on their way into a space.
func lastFolder(st *store.State, name string) string {
	return filepath.Join(st.Dir, space.Folder, name, "last")
}

// lastOf writes the newest copies that the kept versions of a mirror have of URLs into a folder of its space.
// What cannot be read is left out.
func lastOf(st *store.State, name, mirror string, urls []string) (all space.Lasts, err error) {
	type last struct {
		file phm.File
		of   space.LastCopy
	}
	var found []last
	dir := lastFolder(st, name)
	all.Folder = path.Join(space.Folder, name, filepath.Base(dir))
	err = env.View(st, mirror, func(s *store.Site) error {
		found = nil
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
		for _, raw := range urls {
			u, _, err := site.Parse(raw)
			if err != nil {
				continue
			}
			rec, version, err := lastRecord(s, u)
			if err != nil {
				return err
			}
			if version == 0 {
				continue
			}
			data, err := storedBody(st, s, &rec)
			if err != nil {
				continue // verify reports it
			}
			f, err := writeLast(dir, &rec, data)
			if err != nil {
				return err
			}
			found = append(found, last{f, space.LastCopy{Version: version, Seen: rec.Checked}})
		}
		return nil
	})
	slices.SortFunc(found, func(a, b last) int { return cmp.Compare(a.file.Path, b.file.Path) })
	for i := range found {
		all.Files, all.Of = append(all.Files, found[i].file), append(all.Of, found[i].of)
	}
	return all, err
}

// lastRecord finds the newest version of a mirror that has a URL, and the record then. 0 if no version has
// it, or the published one does, as while a rollback holds.
func lastRecord(s *store.Site, u site.URL) (rec record.Resource, version int, err error) {
	history, err := s.Versions.History(u)
	for i, v := range slices.Backward(history) {
		if v.Known && v.Record.InSet && v.Record.Body != record.NoBody {
			if i == len(history)-1 {
				break
			}
			return v.Record, v.Version.Number, err
		}
	}
	return rec, 0, err
}

// storedBody reads a stored body, and checks it.
func storedBody(st *store.State, s *store.Site, rec *record.Resource) (data []byte, err error) {
	if rec.Body == record.PackBody {
		frame, err := s.Frames.ReadFrame(bodies.NewFrameReader(), rec.At)
		if err != nil {
			return nil, err
		}
		data = frame.Body
	} else {
		in, err := st.Bodies.Open(rec.Digest, -1)
		if err != nil {
			return nil, err
		}
		data, err = io.ReadAll(in)
		if err = errors.Join(err, in.Close()); err != nil {
			return nil, err
		}
	}
	if sha256.Sum256(data) != rec.Digest {
		return nil, disk.ErrDamaged
	}
	return data, nil
}

// writeLast writes a last copy, with absolute links, and returns its line.
func writeLast(dir string, rec *record.Resource, data []byte) (phm.File, error) {
	data = absoluteLinks(rec, data)
	sum := sha256.Sum256(data)
	f := phm.File{
		Path:   path.Join(space.LastFolder, phm.Layout{}.Qualified(rec.URL, rec.MIME)),
		URL:    rec.URL.String(),
		Type:   rec.MIME,
		Size:   int64(len(data)),
		SHA256: hex.EncodeToString(sum[:]),
	}
	if rec.Modified > 0 {
		f.Modified = time.Unix(rec.Modified, 0).UTC()
	}
	name := filepath.Join(dir, filepath.FromSlash(f.Path))
	err := os.MkdirAll(filepath.Dir(name), 0o755)
	if err == nil {
		err = os.WriteFile(name, data, 0o644)
	}
	return f, err
}

// absoluteLinks makes the links of a document absolute, so that it works wherever it lies.
func absoluteLinks(rec *record.Resource, raw []byte) []byte {
	format := relocate.Detect(rec.MIME, rec.URL, raw[:min(len(raw), 1024)])
	var d relocate.Doc
	in := relocate.Input{URL: rec.URL, HeaderCharset: rec.Charset, Format: format}
	if !format.Spliced() || d.Scan(raw, in) != nil {
		return raw
	}
	return d.Splice(nil, raw, func(i int) (ref []byte, inside, replace bool) {
		l := &d.Links[i]
		return l.URL, false, l.URL != nil && !l.Absolute && l.Kind != relocate.InScript
	})
}
