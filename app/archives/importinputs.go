// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mirrord/app/env"
	"mirrord/app/files"
	"mirrord/archive"
	"mirrord/archive/crawls"
	"mirrord/archive/projects"
	"mirrord/archive/warc"
	"mirrord/internal/lines"
	"mirrord/internal/regular"
	"mirrord/job"
	"mirrord/phm"
	"mirrord/site"
	"mirrord/store"
	"mirrord/store/disk"
	"mirrord/store/home"
)

// ImportRequest asks for a mirror of an archive.
type ImportRequest struct {
	Files   []string // one archive; several files of records are read as one
	As      string   // the job that the mirror is for
	Lenient bool     // leave out damaged captures
	Job     bool     // write a job file
	URL     string   // the entry point of a job that is made; "" is what the archive begins with

	known   bool              // there is a job file
	imports bool              // it is an import, and not another look at the files
	said    func(line string) // receives progress; may be nil
	Indexed bool              // see crawls.Options
}

// Imported is what was imported.
type Imported struct {
	Meta *phm.Meta `json:"-"` // of a PHM; all else is empty then

	Job      string          `json:"job"`
	URL      string          `json:"url"` // entry point
	Versions []ImportedCrawl `json:"versions"`
	Counted  crawls.Counted  `json:"records"`
	Unused   int             `json:"unused,omitempty"`  // URLs of the archive that are no part of the mirror
	Missing  int64           `json:"missing,omitempty"` // URLs of the site that the archive lacks
	Lost     int             `json:"lost,omitempty"`    // answers whose bodies the folder lacks
	Changed  int             `json:"changed,omitempty"` // pages of the folder whose links may have been changed
	File     string          `json:"job_file,omitempty"`

	Forbidden int `json:"forbidden,omitempty"` // URLs that robots.txt in the archive forbids

	NoJob bool   `json:"-"` // there is no job file
	Scope string `json:"-"` // scope.kind of the job of the import
}

// ImportedCrawl is a version that came of a crawl.
type ImportedCrawl struct {
	Version int       `json:"version"`
	Time    time.Time `json:"time"`
	Files   int       `json:"files"`
	Bytes   int64     `json:"bytes"`
}

// ImportAny makes a mirror of an archive in any form. Nothing is left when something is wrong with it.
func ImportAny(ctx context.Context, a *env.App, r ImportRequest) (*Imported, error) {
	if !job.ValidName(r.As) {
		return nil, env.NotAName(r.As)
	}
	r.imports, r.said = true, a.Progress
	in, err := r.OpenInputs(ctx)
	if err != nil {
		return nil, err
	}
	defer in.CloseAll()
	if err := roomToImport(a, r.Files); err != nil {
		return nil, fmt.Errorf("import: %w", err)
	}
	if len(in.Files) > 0 {
		return importCrawls(ctx, a, r, in)
	}
	switch {
	case len(r.Files) > 1:
		return nil, env.Usagef("import: %s is imported by itself: only files of records (WARC, WACZ) go together",
			r.Files[0])
	case isBareFolder(r.Files[0]):
		return nil, env.Usagef("import: %s has neither phm.json nor web archives: for a folder that wget filled, "+
			"name the URL that was fetched, too", r.Files[0])
	case r.Job, r.Lenient, r.URL != "":
		return nil, env.Usagef(
			"import: %s holds no records of crawls: it is imported whole, and mirrord init writes a "+
				"job file for it", r.Files[0])
	}
	m, err := Import(ctx, a, r.Files[0], r.As)
	if err != nil {
		return nil, err
	}
	i := &Imported{Meta: m, Job: r.As}
	if len(m.Origins) > 0 {
		i.URL = m.Origins[0]
	}
	_, err = os.Lstat(a.JobFile(r.As))
	i.NoJob = errors.Is(err, fs.ErrNotExist)
	return i, nil
}

// importShrinks is to what share of their size files are stored at the least.
const importShrinks = 4

// roomToImport returns an error when what files hold cannot fit into the state directory.
func roomToImport(a *env.App, names []string) error {
	size := int64(0)
	for _, name := range names {
		if fi, err := os.Stat(name); err == nil && fi.Mode().IsRegular() {
			size += fi.Size()
		}
	}
	dir, err := a.State()
	if err != nil {
		return err
	}
	return roomFor(filepath.Join(dir, "sites"), size/importShrinks)
}

// isBareFolder reports whether a name is that of a folder that is no mirror.
func isBareFolder(name string) bool {
	fi, err := os.Stat(name)
	if err != nil || !fi.IsDir() {
		return false
	}
	_, err = os.Stat(filepath.Join(name, phm.MetaName))
	return errors.Is(err, fs.ErrNotExist)
}

// importInputs are the files of records of an import.
type importInputs struct {
	Files []crawls.RecordFile
	Size  int64
	open  []*os.File
	spill *files.FileSpill

	Lost, guessed  int  // see projects.Taken
	uncached       bool // likewise
	other, damaged int  // likewise

	wrong []error // why something was left out
}

// OpenInputs opens the files if all of them hold records of crawls; else there are none.
func (r *ImportRequest) OpenInputs(ctx context.Context) (in *importInputs, err error) {
	names := r.Files
	in = &importInputs{spill: &files.FileSpill{}}
	if in.spill.Root, err = openTemporary(); err != nil {
		return in, err
	}
	defer func() {
		if err != nil {
			in.CloseAll()
		}
	}()
	for _, name := range names {
		files, err := recordFiles(name)
		if err != nil {
			return in, err
		}
		if taken, err := in.project(ctx, name, files, r); err != nil {
			return in, fmt.Errorf("import %s: %w", name, err)
		} else if taken {
			continue
		}
		if files == nil {
			if taken, err := in.history(ctx, name, r.imports); err != nil {
				return in, fmt.Errorf("import %s: %w", name, err)
			} else if taken {
				continue
			}
			if len(in.Files) > 0 {
				return in, env.Usagef("import: %s holds no records of a crawl, and is imported by itself", name)
			}
			return in, nil
		}
		for _, file := range files {
			if err := in.add(ctx, file, r); err != nil {
				return in, err
			}
		}
	}
	return in, nil
}

// project reads a folder of HTTrack, or one of files that were fetched from below a URL, into a file of
// records; taken is false for anything else.
func (in *importInputs) project(
	ctx context.Context, name string, records []string, r *ImportRequest,
) (taken bool, err error) {
	fi, err := os.Stat(name)
	if err != nil || !fi.IsDir() || len(records) > 0 {
		return false, err
	}
	root, err := regular.OpenRoot(name)
	if err != nil {
		return false, err
	}
	defer root.Close()
	_, perr := root.Lstat(phm.MetaName)
	dir := regular.Until(ctx, anyNames{root})
	isHTTrack := projects.IsHTTrack(dir)
	if !isHTTrack && (perr == nil || r.URL == "") {
		return false, nil
	}
	if isHTTrack {
		return true, in.written(name, func(w *warc.Writer) (projects.Taken,
			error) {
			return projects.HTTrack(dir, w)
		})
	}
	base, _, err := site.Parse(r.URL)
	if err != nil {
		return false, env.Fieldf(env.FieldURL, "url: %w", err)
	}
	return true, in.written(name, func(w *warc.Writer) (projects.Taken, error) {
		t, err := projects.Wget(dir, base, w)
		if err == nil && len(t.Looked) > 0 && r.imports {
			err = fmt.Errorf("it has no page of %s: there is no file %s", r.URL, strings.Join(t.Looked, ", nor "))
		}
		return t, err
	})
}

// written adds a file of the records that write makes of what has a name.
func (in *importInputs) written(name string, write func(*warc.Writer) (projects.Taken, error)) error {
	to, err := in.scratch()
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(to, 1<<20)
	t, err := write(warc.NewWriter(w))
	if err = errors.Join(err, w.Flush()); err != nil {
		return err
	}
	in.uncached = in.uncached || t.Uncached
	in.Lost += t.Lost
	in.guessed += t.Guessed
	in.other += t.Other
	in.damaged += t.Damaged
	for _, err := range t.Wrong {
		in.wrong = append(in.wrong, &crawls.FileError{Name: name, Err: err})
	}
	if t.Cut {
		name += ", as records"
	}
	size, err := in.open[len(in.open)-1].Seek(0, io.SeekCurrent)
	in.Files = append(in.Files, crawls.RecordFile{Name: name, R: to, Size: size})
	in.Size += size
	return err
}

// anyNames is the files of a folder under any names. Names of an old site often are not UTF-8,
// which [os.Root.FS] refuses.
type anyNames struct{ root regular.Root }

func (f anyNames) Open(name string) (fs.File, error) {
	file, err := f.root.Open(name)
	if err != nil {
		return nil, err
	}
	return file, nil
}

func (f anyNames) Stat(name string) (fs.FileInfo, error) { return f.root.Stat(name) }

// recordFiles lists the files of records that a name stands for; nil when it is of another form.
func recordFiles(name string) ([]string, error) {
	fi, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !fi.IsDir() {
		f, err := regular.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		form, err := archive.FormOf(f, fi.Size())
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if form.Captures == nil && form.Convert == nil {
			return nil, nil
		}
		return []string{name}, nil
	}
	entries, err := os.ReadDir(name)
	if err != nil {
		return nil, err
	}
	endings := []string{".warc", ".warc.gz", ".warc.zst", ".wacz", ".arc", ".arc.gz"}
	var files []string
	for _, e := range entries {
		known := slices.ContainsFunc(endings, func(end string) bool {
			return strings.HasSuffix(e.Name(), end)
		})
		if known && e.Type().IsRegular() {
			files = append(files, filepath.Join(name, e.Name()))
		}
	}
	return files, nil
}

func (in *importInputs) add(ctx context.Context, name string, r *ImportRequest) error {
	f, fi, err := regular.OpenInfo(name)
	if err != nil {
		return err
	}
	in.open = append(in.open, f)
	form, err := archive.FormOf(f, fi.Size())
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if form.Convert != nil {
		return in.written(name, func(w *warc.Writer) (projects.Taken, error) {
			shown := ShownAt(regular.UntilAt(ctx, f), fi.Size(), r.said)
			text := io.NewSectionReader(shown, 0, fi.Size())
			t, err := form.Convert(text, archive.Converting{Lenient: r.Lenient, Modified: fi.ModTime(), To: w})
			if err != nil && ctx.Err() == nil && !r.Lenient {
				err = damagedArchive(&crawls.FileError{Name: name, Err: err})
			}
			return t, err
		})
	}
	in.Files = append(in.Files, crawls.RecordFile{
		Name:     name,
		R:        f,
		Size:     fi.Size(),
		Modified: fi.ModTime(),
	})
	in.Size += fi.Size()
	return nil
}

// scratch makes a file without a name.
func (in *importInputs) scratch() (lines.Scratch, error) {
	f, err := in.spill.Create()
	if err != nil {
		return nil, err
	}
	file, ok := f.(*os.File)
	if !ok {
		return nil, errors.New("a temporary file is no input")
	}
	in.open = append(in.open, file)
	return file, nil
}

// Close is close, for those who want an error: the files were only read.
func (in *importInputs) Close() error {
	in.CloseAll()
	return nil
}

func (in *importInputs) CloseAll() {
	for _, f := range in.open {
		f.Close() // they were only read
	}
	if in.spill.Root != nil {
		in.spill.Root.Close()
	}
}

// freeName returns an error unless a mirror of that name can be made. What a killed import of a PHM has left
// under it goes.
func freeName(st *store.State, as string) error {
	switch s, err := st.ViewSite(as); {
	case errors.Is(err, home.ErrNoSite):
		return nil
	case err != nil:
		return err
	case s.DB.Busy:
		return errors.Join(fmt.Errorf("import as %s: %w", as, disk.ErrLocked), s.Close())
	case abandoned(s):
		return errors.Join(s.Close(), st.RemoveSite(as))
	default:
		taken := &env.Error{Field: env.FieldImported,
			Err: fmt.Errorf("import: there is a mirror of %s already", as)}
		return errors.Join(taken, s.Close())
	}
}
