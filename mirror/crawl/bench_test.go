// SPDX-License-Identifier: Apache-2.0

package crawl

import (
	"errors"
	"slices"
	"strings"

	"mirrord/mirror/run"
	"mirrord/store/facts"
	"mirrord/store/record"
	"mirrord/testing/processtest"
)

const home = processtest.Home

// bench is a job's site, which a table answers, and its stores.
type bench struct{ *processtest.RunBench }

// begin is the retrieval of the next run, before anything is requested.
func (b bench) begin() *Retrieval {
	b.T.Helper()
	r, err := New(b.Session(nil))
	if err != nil {
		b.T.Fatal(err)
	}
	return r
}

// loaded is the retrieval of the next run with what the site has stored.
func (b bench) loaded() *loaded {
	b.T.Helper()
	l, err := b.begin().load()
	if err != nil {
		b.T.Fatal(err)
	}
	return l
}

// run retrieves the site and makes what was found the records. It returns the retrieval and the paths that
// were requested, in order of their names.
func (b bench) run() (*Retrieval, run.Retrieved, string) {
	b.T.Helper()
	r := b.begin()
	f := r.Retrieve(b.T.Context())
	if err := errors.Join(f.Ended, f.Lost); err != nil {
		b.T.Fatal(err)
	}
	var paths []string
	for _, u := range b.Requests() {
		paths = append(paths, strings.TrimPrefix(u, home))
	}
	slices.Sort(paths)
	err := b.Store.Records.Fold(facts.Folding{
		Version: r.Version,
		Pending: func(uint32) bool { return false },
		Path:    func(rec *record.Resource) string { return rec.Path },
	})
	if err = errors.Join(err, b.Store.Notes.SetRun(nil)); err != nil {
		b.T.Fatal(err)
	}
	return r, f, strings.Join(paths, " ")
}
