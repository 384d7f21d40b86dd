// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"mirrord/app/env"
	"mirrord/app/files"
	"mirrord/app/jobs"
	"mirrord/app/spaces"
	"mirrord/internal/regular"
	"mirrord/phm"
	"mirrord/phm/space"
)

// ExportSpace writes a space into a new folder out; "" is its name.
func ExportSpace(ctx context.Context, a *env.App, name, out string) (_ *ExportedSpace, err error) {
	st, err := a.MustState()
	if err != nil {
		return nil, err
	}
	defer st.Close()
	if err := spaces.KnownSpace(st, name); err != nil {
		return nil, err
	}
	if out == "" {
		out = name
	}
	if env.Exists(out) {
		return nil, env.Usagef("export: %s exists; name another folder, or remove it", out)
	}
	aside, done, err := files.AsideDir(filepath.Dir(out))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, done()) }() // nothing is there once it has its name
	root, err := regular.OpenRoot(aside)
	if err != nil {
		return nil, err
	}
	defer root.Close() // whole files were written and closed
	is, err := space.Export(ctx, st.Dir, name, root.Root, func(mirror string) (*space.Source, error) {
		return spaces.SpaceSource(st, mirror)
	})
	if err == nil {
		err = errors.Join(os.Chmod(aside, 0o755), os.Rename(aside, out))
	}
	if err != nil {
		return nil, fmt.Errorf("export to %s: %w", out, err)
	}
	return &ExportedSpace{Archived: *is, Path: out}, nil
}

// ExportedSpace is a space that was exported, or imported.
type ExportedSpace struct {
	space.Archived
	Path string `json:"path"` // of the folder
}

// ImportSpace makes mirrors, and a job file for each, of an exported space; as names the space, "" is its own
// name. Nothing is left when something is wrong with it.
func ImportSpace(ctx context.Context, a *env.App, dir, as string) (_ *ExportedSpace, err error) {
	in, err := space.OpenArchive(dir)
	if err != nil {
		return nil, fmt.Errorf("import %s: %w", dir, err)
	}
	defer in.Close() // read only: nothing can be lost
	if as != "" {
		in.Name = as
	}
	st, err := a.MakeState()
	if err != nil {
		return nil, err
	}
	defer st.Close()
	texts := map[string][]byte{}
	for _, m := range in.Mirrors { // before the work rather than after it
		text, err := archivedJob(in, m)
		if err != nil {
			return nil, fmt.Errorf("import %s: mirror %s: %w", dir, m.Name, err)
		}
		texts[m.Name] = text
		at, err := jobs.JobFileFor(a, jobs.InitRequest{Job: m.Name})
		if err == nil {
			err = jobs.MayWriteJob(a, at, text)
		}
		if err == nil {
			err = freeName(st, m.Name)
		}
		if env.FieldOf(err) == env.FieldImported { // the names of the mirrors are not asked for
			err = fmt.Errorf("import %s: %v", dir, err)
		}
		if err != nil {
			return nil, err
		}
	}
	var made []string // the last thing to do for each of them
	defer func() {
		if err == nil {
			return
		}
		for _, undo := range made {
			err = errors.Join(err, os.RemoveAll(a.JobFile(undo)), st.RemoveSite(undo))
		}
	}()
	for _, m := range in.Mirrors {
		_, err := importAs(st, dir, m.Name, func(sink phm.Sink) (*phm.Meta, error) {
			return phm.Copy(regular.Until(ctx, in.PHM(m.Name)), sink)
		})
		if err != nil {
			return nil, err
		}
		made = append(made, m.Name)
		if _, err := jobs.NewJob(a, m.Name, texts[m.Name]); err != nil {
			return nil, err
		}
	}
	return &ExportedSpace{Archived: in.Archived, Path: dir}, spaces.UpdateSpaces(ctx, a, st, nil)
}

// archivedJob is a job file for a mirror of an exported space: its entry point, and what its scope surrounds.
func archivedJob(in *space.ExportedFolder, m space.ArchivedMirror) ([]byte, error) {
	meta, err := phm.OpenMeta(in.PHM(m.Name))
	if err != nil {
		return nil, err
	}
	f, err := phm.OpenRegular(in.PHM(m.Name), phm.FilesName)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entry := ""
	for file, err := range phm.Files(f) {
		if err != nil {
			return nil, err
		}
		if file.Path == meta.Entry {
			entry = file.URL
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# Imported with the space %s.\nurl = %q\nspace = %q\n", in.Name, entry, in.Name)
	var prefixes []string
	for _, p := range m.Places {
		if strings.HasPrefix(p, "*.") {
			fmt.Fprintln(&b, `scope = "domain"`)
			return []byte(b.String()), nil
		}
		prefixes = append(prefixes, fmt.Sprintf("%q", "http://"+p))
	}
	if len(prefixes) > 0 {
		fmt.Fprintf(&b, "scope = [%s]\n", strings.Join(prefixes, ", "))
	}
	return []byte(b.String()), nil
}

// VerifySpace checks the folder of an exported space: each mirror as the PHM that it is, and the links from
// one to another.
func VerifySpace(ctx context.Context, dir string, links bool) (*phm.Report, error) {
	in, err := space.OpenArchive(dir)
	if err != nil {
		return nil, err
	}
	defer in.Close() // read only: nothing can be lost
	out := new(phm.Report)
	for _, m := range in.Mirrors {
		r, err := VerifyTree(ctx, regular.Until(ctx, in.PHM(m.Name)), links)
		if err != nil {
			return nil, fmt.Errorf("mirror %s: %w", m.Name, err)
		}
		out.Files, out.Bytes = out.Files+r.Files, out.Bytes+r.Bytes
		out.Linked, out.More = out.Linked+r.Linked, out.More+r.More
		for _, p := range r.Problems {
			p.Path = strings.TrimSuffix(space.MirrorFolder(m.Name)+"/"+p.Path, "/")
			out.Problems = append(out.Problems, p)
		}
	}
	found, err := in.Verify(ctx)
	for _, f := range found {
		out.Problems = append(out.Problems, phm.Problem{
			Kind:   phm.BrokenLink,
			Path:   space.MirrorFolder(f.Mirror) + "/" + f.Path,
			Detail: f.What,
		})
	}
	return out, err
}
