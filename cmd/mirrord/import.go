package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"time"

	"github.com/spf13/cobra"

	"mirrord/job"
	"mirrord/phm"
	"mirrord/store"
)

func (a *app) importCommand() *cobra.Command {
	var as string
	cmd := &cobra.Command{
		Use:   "import FILE --as JOB",
		Short: "Make a mirror out of a PHM archive or directory",
		Long: `Make a PHM archive or directory the first version of a job's mirror. The archive may come from anybody: names, sizes and digests are checked
before and while it is unpacked, and nothing is left of it when something is wrong. The next run of the job brings the mirror up to date.`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if as == "" {
				return usagef("import: --as JOB is missing")
			}
			if !job.ValidName(as) {
				return usagef("%q cannot name a job", as)
			}
			return a.importFile(args[0], as)
		},
	}
	cmd.Flags().StringVar(&as, "as", "", "`JOB` that the mirror is for")
	return cmd
}

func (a *app) importFile(name, as string) error {
	if _, err := os.Stat(name); err != nil {
		return err
	}
	st, err := a.makeState()
	if err != nil {
		return err
	}
	defer st.Close()
	switch s, err := st.ReadSite(as); {
	case errors.Is(err, store.ErrNoSite):
	case err != nil:
		return err
	default:
		return errors.Join(fmt.Errorf("import: there is a mirror of %s already; choose another name with --as", as), s.Close())
	}
	s, err := st.OpenSite(as)
	if err != nil {
		return err
	}
	m, err := importInto(s, name)
	if err = errors.Join(err, s.Close()); err != nil {
		return errors.Join(fmt.Errorf("import %s: %w", name, err), st.RemoveSite(as))
	}
	if a.json {
		return a.printJSON(m)
	}
	a.printf("%s: version %d is %s: %d files, %s\n", as, importedVersion(m), name, m.Files, bytesText(m.Bytes))
	return nil
}

// importedVersion is the version that an imported mirror goes on from: the archive's own.
func importedVersion(m *phm.Meta) int { return max(m.Version, 1) }

// maxVersion leaves more room for later versions than a mirror will ever need.
const maxVersion = 1<<31 - 1

// importInto unpacks a PHM as the first version that is known of a site.
func importInto(s *store.Site, name string) (*phm.Meta, error) {
	tree, err := s.BuildTree()
	if err != nil {
		return nil, err
	}
	defer tree.Close()
	m, err := unpack(name, treeSink{tree.Root})
	if err != nil {
		return nil, err
	}
	if m.Version > maxVersion {
		return nil, fmt.Errorf("%s: version %d is no number of a version; at most %d", phm.MetaName, m.Version, maxVersion)
	}
	when := m.Retrieved
	if when.IsZero() {
		when = time.Now()
	}
	meta, err := tree.Root.ReadFile(phm.MetaName)
	if err != nil {
		return nil, err
	}
	v := store.Version{Number: importedVersion(m), Time: when, Files: m.Files, Bytes: m.Bytes, Added: m.Files, Meta: meta}
	return m, tree.Publish(v, nil)
}

// unpack copies a PHM, directory or archive, to a sink.
func unpack(name string, sink phm.Sink) (*phm.Meta, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !fi.IsDir() {
		return phm.Unpack(f, fi.Size(), sink, phm.Limits{})
	}
	root, err := os.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return phm.Copy(root.FS(), sink)
}

// treeSink writes the files of a PHM below a root.
type treeSink struct{ root *os.Root }

func (t treeSink) Create(name string, modified time.Time) (io.WriteCloser, error) {
	if d := path.Dir(name); d != "." {
		if err := t.root.MkdirAll(d, 0o755); err != nil {
			return nil, err
		}
	}
	f, err := t.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, err
	}
	return &timedFile{f, t.root, name, modified}, nil
}

// timedFile gets its modification time when it is closed.
type timedFile struct {
	*os.File
	root     *os.Root
	name     string
	modified time.Time
}

func (f *timedFile) Close() error {
	err := f.File.Close()
	if err == nil && !f.modified.IsZero() {
		err = f.root.Chtimes(f.name, f.modified, f.modified)
	}
	return err
}
