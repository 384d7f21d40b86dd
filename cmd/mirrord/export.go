package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"mirrord/phm"
)

func (a *app) exportCommand() *cobra.Command {
	var out, format string
	cmd := &cobra.Command{
		Use:   "export JOB",
		Short: "Write the published mirror of a job to a file or directory",
		Long: `Write the published mirror of a job to one portable archive (phm, a ZIP), a directory (dir) or a compressed tar (tar.zst). Every file is checked
against its digest on the way, and the result appears whole or not at all. A directory that already holds a mirror is brought up to date: only
files that differ are written.`,
		Example: `  mirrord export samba
  mirrord export samba -o /media/usb/samba --format dir
  mirrord export samba -o - --format tar.zst | ssh backup 'cat > samba.tar.zst'`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeJob,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.export(args[0], out, format)
		},
	}
	cmd.Flags().StringVarP(&out, "output", "o", "", "`FILE` or directory to write; - is standard output (default JOB.phm, JOB or JOB.tar.zst)")
	cmd.Flags().StringVar(&format, "format", "", "phm, dir or tar.zst (default: by the name of FILE, else phm)")
	return cmd
}

func (a *app) export(name, out, format string) error {
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
	root, err := openTree(st, name)
	if err != nil {
		return err
	}
	defer root.Close()
	if out == "-" {
		return pack(a.stdout, root.FS(), format, name)
	}
	if err := exportTree(root, out, format); err != nil {
		return err
	}
	return a.exported(root, name, out, format)
}

// exported says what was written.
func (a *app) exported(root *os.Root, name, out, format string) error {
	m, err := phm.OpenMeta(root.FS())
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
