// SPDX-License-Identifier: Apache-2.0

package look

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"mirrord/app/env"
	"mirrord/mirror"
	"mirrord/mirror/report"
	"mirrord/phm"
	"mirrord/phm/diff"
	"mirrord/store"
	"mirrord/store/record"
)

// ErrNoneHeld says that Held was set and nothing waits to be accepted.
var ErrNoneHeld = errors.New("nothing is held for review")

// heldExamples is how many files of each directory stand for what waits.
const heldExamples = 3

// diffHeld compares the published version with what accept would publish, as far as the records have it. A
// file counts as changed when its body as the site sent it is another one.
func diffHeld(a *env.App, r DiffRequest) (*Difference, error) {
	var c *Difference
	err := env.ViewState(a, r.Job, func(st *store.State, s *store.Site) (err error) {
		c, err = heldIn(st, s, r)
		return a.AboutRuns(err)
	})
	return c, err
}

func heldIn(st *store.State, s *store.Site, r DiffRequest) (*Difference, error) {
	sum, err := heldRun(st, r.Job)
	if err != nil {
		return nil, err
	}
	c, err := heldTree(s, r)
	if err != nil {
		return nil, err
	}
	c.Reasons, c.Unknown = sum.Reasons, sum.Failed+sum.Left
	return c, nil
}

// heldTree compares the records of a site with those of its published version, if there is one.
func heldTree(s *store.Site, r DiffRequest) (*Difference, error) {
	v, err := s.Versions.Last()
	if err != nil {
		return nil, err
	}
	c := &Difference{Job: r.Job, A: v.Number, Held: true}
	c.Path = strings.Trim(strings.TrimPrefix(r.Path, "./"), "/")
	var before, after []phm.File
	if c.A > 0 {
		if before, after, err = changedFiles(s, c.A); err != nil {
			return nil, err
		}
	} else if err := s.Records.Resources(func(x *record.Resource) error {
		after = appendFile(after, x)
		return nil
	}); err != nil {
		return nil, err
	}
	slices.SortFunc(before, phm.ByPath)
	slices.SortFunc(after, phm.ByPath)
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

// changedFiles returns the files of the records that accept changes: of the published version, and of the
// next one.
func changedFiles(s *store.Site, version int) (before, after []phm.File, err error) {
	leaving, err := report.LeavingOnAccept(s)
	if err != nil {
		return nil, nil, err
	}
	past, err := s.Versions.Past(version)
	if err != nil {
		return nil, nil, err
	}
	changed := map[uint32]bool{} // of leaving
	err = past.Changes(func(was, now *record.Resource) error {
		before = appendFile(before, was)
		if leaving.Has(now.ID) {
			changed[now.ID] = true
		} else {
			after = appendFile(after, now)
		}
		return nil
	})
	if (err != nil) || (leaving.Len() == len(changed)) {
		return before, after, err
	}
	err = s.Records.Resources(func(x *record.Resource) error {
		if leaving.Has(x.ID) && !changed[x.ID] {
			before = appendFile(before, x)
		}
		return nil
	})
	return before, after, err
}

// appendFile adds the file of a record, if it has one.
func appendFile(files []phm.File, r *record.Resource) []phm.File {
	if !r.InSet || (r.Path == "") || (r.Body == record.NoBody) {
		return files
	}
	return append(files, phm.File{Path: r.Path, Size: r.Size, SHA256: hex.EncodeToString(r.Digest[:])})
}

// HeldChanges is what accept would change, for messages and the status page; nil when the run does not wait
// for it. It is no reason to fail when it cannot be had.
func HeldChanges(s *store.Site, name string, sum *mirror.Summary) ([]string, error) {
	if !heldBack(sum) {
		return nil, nil
	}
	c, err := heldTree(s, DiffRequest{Job: name})
	if err != nil {
		return nil, err
	}
	c.Unknown = sum.Failed + sum.Left
	return c.heldLines()
}

// heldBack reports whether what a run found waits to be accepted: it was suspicious, or less than half of
// a first version, or what a rollback rejected.
func heldBack(sum *mirror.Summary) bool {
	return (sum.Verdict == mirror.Suspicious) || sum.Gaps.Hold || (sum.Held != nil)
}

// lastRun is the report of the last run of a site, the zero value for none.
func lastRun(st *store.State, name string) (*mirror.Summary, error) {
	sum := new(mirror.Summary)
	runs, err := st.Shared.Runs(name, 1)
	if err != nil || len(runs) == 0 {
		return sum, err
	}
	if err := json.Unmarshal(runs[0].Summary, sum); err != nil {
		return nil, fmt.Errorf("report of the last run of %s: %w", name, err)
	}
	return sum, nil
}

// heldRun is the report of the last run of a site, which waits to be accepted. It is ErrNoneHeld when that
// does not.
func heldRun(st *store.State, name string) (*mirror.Summary, error) {
	sum, err := lastRun(st, name)
	if err != nil {
		return nil, err
	}
	if !heldBack(sum) {
		return nil, fmt.Errorf("diff %s: %w", name, ErrNoneHeld)
	}
	if sum.Held != nil {
		sum.Reasons = append([]string{sum.Held.Text()}, sum.Reasons...)
	}
	return sum, nil
}
