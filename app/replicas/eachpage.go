// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"context"
	"errors"
	"io/fs"

	"mirrord/app/env"
	"mirrord/replica/collections"
)

// ReadPage is a page that EachPage read.
type ReadPage struct {
	At   collections.Address
	FS   fs.FS  // of its directory
	Name string // of the file
	URL  string // as the file table has it; "" without one
	HTML bool
	Body []byte
}

// EachPage calls take with each page of directories; without directories of all mirrors of the state. It
// returns how many files are no pages, and how many could not be read.
func EachPage(
	ctx context.Context, a *env.App, dirs []string, take func(*ReadPage) error,
) (skipped, bad int, err error) {
	r := &replicaPages{note: a.Progress, warn: a.Warning}
	defer func() { err = errors.Join(err, r.close()) }()
	if _, err := openReplicaTrees(a, r, dirs); err != nil {
		return 0, 0, err
	}
	r.take = func(at collections.Address, file replicaFile) error {
		body, err := file.read()
		switch {
		case err != nil:
			r.bad++
			a.Warning(err.Error())
			return nil
		case !file.isPage(body):
			r.skipped++
			return nil
		}
		return take(&ReadPage{
			At:   at,
			FS:   file.fsys,
			Name: file.name,
			URL:  file.url,
			HTML: file.html,
			Body: body,
		})
	}
	err = r.read(ctx)
	return r.skipped, r.bad, err
}
