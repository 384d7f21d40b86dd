// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"context"
	"crypto"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"mirrord/app/env"
	"mirrord/app/files"
	"mirrord/archive"
	"mirrord/archive/wacz"
	"mirrord/archive/warc"
	"mirrord/internal/regular"
	"mirrord/mirror/render"
	"mirrord/store"
	"mirrord/store/bodies"
	"mirrord/store/record"
)

// captureExport is an export in a form of captures: the site's responses, not the published files.
type captureExport struct {
	exporting
	about archive.About
	plan  *capturePlan

	versions []record.Version
	counts   captureCounts
}

// captures writes an archive of captures.
func (e exporting) captures(ctx context.Context) (_ *Exported, err error) {
	if e.changes() {
		return nil, badFormat(e.Format,
			"a web archive holds what the site sent: it is not flattened, masked or changed")
	}
	if e.Out == "" {
		e.Out = e.name + "-since-" + e.Since + "." + e.form.Name
	}
	if e.Out != "-" {
		if err := files.Replaceable(e.Out, e.form); err != nil {
			return nil, err
		}
	}
	spill, err := spillBeside(e.Out)
	if err != nil {
		return nil, err
	}
	defer env.Close(&err, spill.Root)
	x := &captureExport{exporting: e}
	key, err := x.key()
	if err != nil {
		return nil, err
	}
	src, err := x.prepare(ctx, spill)
	if err != nil {
		return nil, err
	}
	src.texts, x.about.Sign = x.form.Lists, key
	defer func() { err = errors.Join(err, src.close(), x.plan.close()) }()
	x.about.Scratch = spill.Scratch
	if x.Out == "-" {
		return nil, x.write(ctx, src, x.Stream)
	}
	size, err := files.WriteOutput(ctx, x.Out, x.form, func(to *files.Output) error {
		err := x.write(ctx, src, to)
		x.app.Progress("reading it back")
		return err
	})
	if err != nil {
		return nil, err
	}
	last := x.versions[len(x.versions)-1]
	return &Exported{
		Job:      x.name,
		Version:  last.Number,
		Format:   x.Format,
		Path:     x.Out,
		Files:    x.counts.Captures,
		Bytes:    x.counts.Bytes,
		Versions: len(x.versions),
		Revisits: x.counts.Revisits,
		Made:     x.counts.Made,
		Packed:   size,
	}, nil
}

// key reads the key that signs the file; nil for none.
func (o *exporting) key() (crypto.Signer, error) {
	switch {
	case o.Sign == "":
		return nil, nil
	case !o.form.Lists:
		return nil, badFormat(o.Format, "only WACZ files are signed")
	}
	text, err := regular.ReadSmall(o.Sign)
	if err != nil {
		return nil, err
	}
	key, err := wacz.ParseKey(text)
	if err != nil {
		return nil, env.Usagef("sign: %s: %w", o.Sign, err)
	}
	return key, nil
}

// badFormat says what a form cannot do.
func badFormat(format, why string) error {
	return env.Fieldf(env.FieldFormat, "format %s: %s", format, why)
}

// spillBeside makes a temporary file for the data that an export collects: beside its output, or in the
// directory for temporary files.
func spillBeside(out string) (*files.FileSpill, error) {
	if out == "-" {
		root, err := openTemporary()
		return &files.FileSpill{Root: root}, err
	}
	root, err := regular.OpenRoot(filepath.Dir(out))
	if err != nil {
		return nil, err
	}
	return &files.FileSpill{Root: root.Root}, nil
}

// openTemporary opens the directory for temporary files.
func openTemporary() (*os.Root, error) {
	root, err := regular.OpenRoot(os.TempDir())
	if err != nil {
		return nil, fmt.Errorf("temporary files: %w; set TMPDIR to a directory that exists", err)
	}
	return root.Root, nil
}

// prepare plans the export from one view of the site.
func (x *captureExport) prepare(ctx context.Context, spill *files.FileSpill) (
	src *captureSource, err error) {
	err = env.View(x.st, x.name, func(s *store.Site) error {
		before := []record.Version(nil)
		if before, x.versions, err = pickVersions(s, &x.ExportRequest); err != nil {
			return err
		}
		x.plan = newCapturePlan(spill.Scratch)
		newest := x.versions[len(x.versions)-1]
		p := &capturePlanner{
			site:     s,
			material: render.MaterialOf(x.st, s),
			cookies:  x.Cookies,
			emit:     x.plan.add,
		}
		x.about, p.seeds = aboutVersion(s, newest)
		if n := len(before); n > 0 {
			x.about.Fields = append(x.about.Fields, versionField(warc.FieldSince, &before[n-1]))
		}
		for i := range x.versions {
			x.about.Fields = append(x.about.Fields, versionField(warc.FieldVersion, &x.versions[i]))
		}
		var docs *bodies.Packs
		err := p.plan(ctx, before, x.versions)
		if x.counts = p.counts; err == nil && x.counts.Captures == 0 && len(before) == 0 {
			err = errNoOriginals(x.name, newest)
		}
		if err == nil {
			docs, err = x.st.Documents(x.name)
		}
		if err != nil {
			return errors.Join(err, x.plan.close())
		}
		src = &captureSource{
			st:     x.st,
			name:   x.name,
			bodies: x.st.Bodies,
			docs:   docs,
		}
		return nil
	})
	return src, err
}

// versionField names a version in the record that says what the file is.
func versionField(name string, v *record.Version) warc.HeaderField {
	date := time.Unix(versionDate(v), 0).UTC().Format(time.RFC3339)
	return warc.HeaderField{Name: name, Value: fmt.Sprintf("%d %s", v.Number, date)}
}

// write writes the archive.
func (x *captureExport) write(ctx context.Context, src *captureSource, to io.Writer) error {
	w, err := x.form.Captures(to, x.about)
	if err != nil {
		return err
	}
	shown := shownBytes{what: x.name, total: x.counts.Bytes, say: x.app.Note}
	err = src.packAll(ctx, x.plan, func(c *planned, packed *archive.PackedCapture) error {
		if err := w.Add(packed); err != nil {
			return err
		}
		shown.add(c.Size)
		return nil
	})
	if err != nil {
		_ = w.Abort() // err says why
		return err
	}
	return w.Close()
}
