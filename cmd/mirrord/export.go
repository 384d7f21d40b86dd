package main

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"mirrord/phm"
	"mirrord/store"
)

func (a *app) exportCommand() *cobra.Command {
	var out, format string
	var number int
	cmd := &cobra.Command{
		Use:   "export JOB",
		Short: "Write the mirror of a job, as it is or as it was, to a file or directory",
		Long: `Write the published mirror of a job, or an older version of it, to one portable archive (phm, a ZIP), a directory (dir) or a compressed tar (tar.zst). Every file is checked
against its digest on the way, and the result appears whole or not at all. A directory that already holds a mirror is brought up to date: only
files that differ are written.`,
		Example: `  mirrord export samba
  mirrord export samba --version 12 -o samba-12.phm
  mirrord export samba -o /media/usb/samba --format dir
  mirrord export samba -o - --format tar.zst | ssh backup 'cat > samba.tar.zst'`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeJob,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("version") && number < 1 {
				return usagef("--version %d: versions are numbered from 1; mirrord versions lists them", number)
			}
			return a.export(args[0], out, format, number)
		},
	}
	cmd.Flags().StringVarP(&out, "output", "o", "", "`FILE` or directory to write; - is standard output (default JOB.phm, JOB or JOB.tar.zst)")
	cmd.Flags().IntVar(&number, "version", 0, "number `N` of the version (default: the current one)")
	cmd.Flags().StringVar(&format, "format", "", "phm, dir or tar.zst (default: by the name of FILE, else phm)")
	return cmd
}

func (a *app) export(name, out, format string, number int) error {
	name = strings.TrimSuffix(name, jobSuffix)
	switch {
	case format == "" && (out == "" || out == "-"):
		format = formatPHM
	case format == "":
		format = formatOf(out)
	case format != formatPHM && format != formatDir && format != formatTar:
		return usagef("--format %s: known are phm, dir and tar.zst", format)
	}
	if out == "-" && format == formatDir {
		return usagef("a directory cannot be written to standard output")
	}
	if out == "" {
		if out = name; format != formatDir {
			out += "." + format
		}
	}
	st, err := a.mustState()
	if err != nil {
		return err
	}
	defer st.Close()
	tree, err := openVersion(st, name, number)
	if err != nil {
		return err
	}
	defer tree.Close()
	if out == "-" {
		return pack(a.stdout, tree, format, name)
	}
	if err := exportTree(tree, out, format); err != nil {
		return err
	}
	return a.exported(tree, name, out, format)
}

// versionTree is the tree of a version.
type versionTree interface {
	fs.FS
	io.Closer
}

// published is the published tree.
type published struct {
	fs.FS
	root *os.Root
}

func (p published) Close() error { return p.root.Close() }

// openVersion opens a version; 0 is the published one, which can be had also while a run writes the site.
func openVersion(st *store.State, name string, number int) (versionTree, error) {
	if number != 0 {
		return openPast(st, name, number)
	}
	root, err := openTree(st, name)
	if err != nil {
		return nil, err
	}
	return published{root.FS(), root}, nil
}

// exported says what was written.
func (a *app) exported(tree fs.FS, name, out, format string) error {
	m, err := phm.OpenMeta(tree)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(struct {
			Job     string `json:"job"`
			Version int    `json:"version"`
			Format  string `json:"format"`
			Path    string `json:"path"`
			Files   int    `json:"files"`
			Bytes   int64  `json:"bytes"`
		}{name, m.Version, format, out, m.Files, m.Bytes})
	}
	size := ""
	if fi, err := os.Stat(out); err == nil && !fi.IsDir() {
		size = fmt.Sprintf(", %s packed", bytesText(fi.Size()))
	}
	a.printf("%s: version %d written to %s: %d files, %s%s\n", name, m.Version, out, m.Files, bytesText(m.Bytes), size)
	return nil
}
