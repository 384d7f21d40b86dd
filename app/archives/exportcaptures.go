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
	"mirrord/store/record"
)

// captureExport is an export in a form of captures: the site's responses, not the published files.
type captureExport struct {
	name  string
	o     ExportRequest
	form  archive.Form
	about archive.About
	plan  *capturePlan

	versions []record.Version
	counts   captureCounts
}

// exportCaptures writes an archive of captures.
func exportCaptures(
	ctx context.Context, a *env.App, st *store.State, name string, o ExportRequest, form archive.Form,
) (_ *Exported, err error) {
	if o.changes() {
		return nil, badFormat(o.Format,
			"a web archive holds what the site sent: it is not flattened, masked or changed")
	}
	if o.Out == "" {
		o.Out = name + "-since-" + o.Since + "." + form.Name
	}
	if o.Out != "-" {
		if err := files.Replaceable(o.Out, form); err != nil {
			return nil, err
		}
	}
	spill, err := spillBeside(o.Out)
	if err != nil {
		return nil, err
	}
	defer env.Close(&err, spill.Root)
	x := &captureExport{name: name, o: o, form: form}
	key, err := o.key(form)
	if err != nil {
		return nil, err
	}
	src, err := x.prepare(ctx, st, spill)
	if err != nil {
		return nil, err
	}
	src.texts, x.about.Sign = form.Lists, key
	defer func() { err = errors.Join(err, src.close(), x.plan.close()) }()
	x.about.Scratch = spill.Scratch
	if o.Out == "-" {
		return nil, x.write(ctx, a, src, o.Stream)
	}
	size, err := files.WriteOutput(ctx, o.Out, form, func(to *files.Output) error {
		err := x.write(ctx, a, src, to)
		a.Progress("reading it back")
		return err
	})
	if err != nil {
		return nil, err
	}
	last := x.versions[len(x.versions)-1]
	return &Exported{
		Job:      name,
		Version:  last.Number,
		Format:   o.Format,
		Path:     o.Out,
		Files:    x.counts.Captures,
		Bytes:    x.counts.Bytes,
		Versions: len(x.versions),
		Revisits: x.counts.Revisits,
		Made:     x.counts.Made,
		Packed:   size,
	}, nil
}

// key reads the key that signs the file; nil for none.
func (o *ExportRequest) key(form archive.Form) (crypto.Signer, error) {
	switch {
	case o.Sign == "":
		return nil, nil
	case !form.Lists:
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
	return &env.Error{Kind: env.Usage, Field: env.FieldFormat, Err: fmt.Errorf("format %s: %s", format, why)}
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
func (x *captureExport) prepare(ctx context.Context, st *store.State, spill *files.FileSpill) (
	src *captureSource, err error) {
	err = env.View(st, x.name, func(s *store.Site) error {
		before := []record.Version(nil)
		if before, x.versions, err = pickVersions(s, &x.o); err != nil {
			return err
		}
		x.plan = newCapturePlan(spill.Scratch)
		newest := x.versions[len(x.versions)-1]
		p := &capturePlanner{
			site:     s,
			material: render.MaterialOf(st, s),
			cookies:  x.o.Cookies,
			emit:     x.plan.add,
		}
		x.about, p.seeds = aboutVersion(s, newest)
		if n := len(before); n > 0 {
			x.about.Fields = append(x.about.Fields, versionField(warc.FieldSince, &before[n-1]))
		}
		for i := range x.versions {
			x.about.Fields = append(x.about.Fields, versionField(warc.FieldVersion, &x.versions[i]))
		}
		if err := p.plan(ctx, before, x.versions); err != nil {
			return errors.Join(err, x.plan.close())
		}
		if x.counts = p.counts; x.counts.Captures == 0 && len(before) == 0 {
			return errors.Join(errNoOriginals(x.name, newest), x.plan.close())
		}
		docs, err := st.Documents(x.name)
		if err != nil {
			return errors.Join(err, x.plan.close())
		}
		src = &captureSource{
			st:     st,
			name:   x.name,
			bodies: st.Bodies,
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
func (x *captureExport) write(ctx context.Context, a *env.App, src *captureSource, to io.Writer) error {
	w, err := x.form.Captures(to, x.about)
	if err != nil {
		return err
	}
	shown := shownBytes{what: x.name, total: x.counts.Bytes, say: a.Note}
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
