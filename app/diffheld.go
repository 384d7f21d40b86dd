// SPDX-License-Identifier: Apache-2.0

package app

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"mirrord/internal/diff"
	"mirrord/mirror"
	"mirrord/phm"
	"mirrord/store"
)

// ErrNoneHeld says that Held was set and nothing waits to be accepted.
var ErrNoneHeld = errors.New("nothing waits to be accepted")

// heldExamples is how many files of each directory stand for what waits.
const heldExamples = 3

// diffHeld compares the published version with what accept would publish, as far as the records have it. A
// file counts as changed when its body as the site sent it is another one.
func diffHeld(a *App, r DiffRequest) (*Difference, error) {
	var c *Difference
	err := viewState(a, r.Job, func(st *store.State, s *store.Site) (err error) {
		c, err = heldIn(st, s, r)
		return err
	})
	return c, err
}

func heldIn(st *store.State, s *store.Site, r DiffRequest) (*Difference, error) {
	reasons, err := heldReasons(st, r.Job)
	if err != nil {
		return nil, err
	}
	vs, err := s.Versions.List()
	if err != nil {
		return nil, err
	}
	c := &Difference{Job: r.Job, Held: true, Reasons: reasons}
	c.Path = strings.Trim(strings.TrimPrefix(r.Path, "./"), "/")
	var before, after []phm.File
	if len(vs) > 0 {
		c.A = vs[len(vs)-1].Number
		past, err := s.Versions.Past(c.A)
		if err != nil {
			return nil, err
		}
		if err := past.Resources(func(x *store.Resource, here bool) error {
			before = appendFile(before, x, here)
			return nil
		}); err != nil {
			return nil, err
		}
	}
	if err := s.Records.Resources(func(x *store.Resource) error {
		after = appendFile(after, x, true)
		return nil
	}); err != nil {
		return nil, err
	}
	byPath := func(x, y phm.File) int { return strings.Compare(x.Path, y.Path) }
	slices.SortFunc(before, byPath)
	slices.SortFunc(after, byPath)
	if c.Tree = diff.Trees(before, after); c.Path != "" {
		if c.Tree = c.Tree.Find(c.Path); c.Tree == nil {
			c.Tree = &diff.Dir{Path: c.Path}
		}
	}
	if !r.Files {
		c.Tree.KeepFiles(heldExamples)
	}
	return c, nil
}

// appendFile adds the file of a record, if it has one.
func appendFile(files []phm.File, r *store.Resource, here bool) []phm.File {
	if !here || !r.InSet || (r.Path == "") || (r.Body == store.NoBody) {
		return files
	}
	return append(files, phm.File{Path: r.Path, Size: r.Size, SHA256: hex.EncodeToString(r.Digest[:])})
}

// heldReasons says why the last run of a site waits to be accepted. It is ErrNoneHeld when it does not.
func heldReasons(st *store.State, name string) ([]string, error) {
	runs, err := st.Runs(name, 1)
	if err != nil {
		return nil, err
	}
	var sum mirror.Summary
	if len(runs) > 0 {
		if err := json.Unmarshal(runs[0].Summary, &sum); err != nil {
			return nil, fmt.Errorf("report of the last run of %s: %w", name, err)
		}
	}
	switch {
	case len(runs) > 0 && sum.Held != nil:
		return append([]string{sum.Held.Text()}, sum.Reasons...), nil
	case len(runs) > 0 && (sum.Verdict == mirror.Suspicious || sum.Gaps.Hold):
		return sum.Reasons, nil
	}
	return nil, fmt.Errorf("diff %s: %w", name, ErrNoneHeld)
}
