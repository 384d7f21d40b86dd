// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"mirrord/app/env"
	"mirrord/app/files"
	"mirrord/internal/regular"
	"mirrord/mirror/report"
	"mirrord/phm"
	"mirrord/scheduler/notify"
)

// withField is the member of phm.json that names the programs that have changed the set, in their order.
const withField = "mirrord.with"

// Folders of the one in which a mirror is copied: the copy, and temporary files of programs.
const (
	copyFolder = "tree"
	tempFolder = "tmp"
)

// programs splits what With has: a program, with an absolute path, and its arguments.
func (o *ExportRequest) programs() (all [][]string, err error) {
	for _, line := range o.With {
		args := strings.Fields(line)
		if len(args) == 0 {
			return nil, env.Usagef("with: no program is named")
		}
		at, err := exec.LookPath(args[0])
		if err == nil {
			at, err = filepath.Abs(at)
		}
		if err != nil {
			return nil, env.Usagef("with: %w", err)
		}
		all = append(all, append([]string{at}, args[1:]...))
	}
	return all, nil
}

// change lets the programs of the user change a copy of a mirror, which is in a folder of a folder. Each must
// leave a whole mirror.
func (o *ExportRequest) change(ctx context.Context, dir string, root regular.Root) error {
	programs, err := o.programs()
	if err != nil || len(programs) == 0 {
		return err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	if err := os.Mkdir(filepath.Join(dir, tempFolder), 0o700); err != nil {
		return err
	}
	for _, args := range programs {
		name := filepath.Base(args[0])
		err := o.changeBy(ctx, dir, root, args)
		if err == nil {
			var found *phm.Report
			if found, err = report.VerifyTree(ctx, root.FS()); err == nil && found.Err() != nil {
				// not as an error of damage: that would be one of the mirror
				err = fmt.Errorf("it left no whole mirror: %v", found.Err())
			}
		}
		if err != nil {
			return fmt.Errorf("with %s: %w", name, errors.Join(err, ctx.Err()))
		}
	}
	return nil
}

// changeBy runs one program, and writes the table of what it left.
func (o *ExportRequest) changeBy(ctx context.Context, dir string, root regular.Root, args []string) error {
	fsys := root.FS()
	m, err := phm.OpenMeta(fsys)
	if err != nil {
		return err
	}
	var list [2][]byte // phm.files and phm.json, which are only read
	lists := [...]string{phm.FilesName, phm.MetaName}
	for i, name := range lists {
		var err error
		if list[i], err = root.ReadFile(name, 1<<40); err != nil {
			return err
		}
	}
	child := notify.Child{
		Args:      args,
		Dir:       filepath.Join(dir, copyFolder),
		Env:       []string{"TMPDIR=" + filepath.Join(dir, tempFolder)},
		LookupEnv: os.LookupEnv,
	}
	output, ended := "", error(nil)
	if err := env.Confined(dir, func() { output, ended = child.Run(ctx) }); err != nil {
		return err
	}
	if ended != nil {
		return fmt.Errorf("%w: %s", ended, output)
	}
	for i, name := range lists {
		if now, err := root.ReadFile(name, 1<<40); err != nil || !bytes.Equal(now, list[i]) {
			return errors.Join(fmt.Errorf("it changed %s, which is only read", name), err)
		}
		if err := root.Remove(name); err != nil {
			return err
		}
	}
	name := filepath.Base(args[0])
	if err := addProgram(m, name); err != nil {
		return err
	}
	sink := files.TreeSink{Root: root.Root}
	return phm.Reseal(fsys, bytes.NewReader(list[0]), *m, sink, "with:"+name)
}

// addProgram names a program in phm.json.
func addProgram(m *phm.Meta, name string) error {
	var before []string
	if raw := m.Extra[withField]; raw != nil {
		if err := json.Unmarshal(raw, &before); err != nil {
			return fmt.Errorf("%s: %s: %w", phm.MetaName, withField, err)
		}
	}
	raw, err := json.Marshal(append(before, name))
	if m.Extra == nil {
		m.Extra = map[string]json.RawMessage{}
	}
	m.Extra[withField] = raw
	return err
}
