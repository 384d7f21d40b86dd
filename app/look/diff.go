// SPDX-License-Identifier: Apache-2.0

package look

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"mirrord/app/env"
	"mirrord/mirror/report"
	"mirrord/phm"
	"mirrord/phm/diff"
	"mirrord/scheduler/control"
	"mirrord/site"
	"mirrord/store"
	"mirrord/store/record"
)

// Difference is what Diff found.
type Difference struct {
	Job  string    `json:"job"`
	A    int       `json:"a"`
	B    int       `json:"b"` // 0 is what waits to be accepted
	Path string    `json:"path,omitempty"`
	Tree *diff.Dir `json:"tree,omitempty"` // of a directory

	Held    bool     `json:"held,omitempty"`    // B is what waits to be accepted
	Reasons []string `json:"reasons,omitempty"` // why it waits
	Unknown int64    `json:"unknown,omitempty"` // URLs without an answer in the run that waits

	// Of a file.
	What   string     `json:"what,omitempty"` // added, changed, removed or same
	Before *phm.File  `json:"before,omitempty"`
	After  *phm.File  `json:"after,omitempty"`
	Diff   *diff.Page `json:"diff,omitempty"`

	// With DiffRequest.All: what counts as no change, the last run, and how many of its pages differed there
	// alone, see mirror.Summary.Noise.
	Noise      []report.MaskedPosition `json:"noise,omitempty"`
	NoiseRun   int                     `json:"noise_run,omitempty"`
	NoisePages map[string]int64        `json:"noise_pages,omitempty"`
}

// DiffRequest asks what differs between two versions of a mirror.
type DiffRequest struct {
	Job      string
	From, To int // versions; 0 is the one before the current one, and the current one
	// From is the version that was current at this time, or the oldest one; zero is by number
	Since time.Time
	Held  bool   // compare the current version with what waits to be accepted; ErrNoneHeld if nothing does
	Path  string // a directory, or a page, or its URL; "" is all
	Page  bool   // only a page will do: else the error is ErrNoPage
	Files bool   // list the files of each directory
	Words bool   // compare what pages say, not their source
	All   bool   // also what counts as no change; of a mirror with one version that alone
}

// ErrNoPage says that Page was set and what was named is not a page.
var ErrNoPage = errors.New("that is no page")

// versionAt is the version that was current at a time, the oldest one if all are younger.
func versionAt(vs []record.Version, at time.Time) int {
	n := vs[0].Number
	for _, v := range vs {
		if !v.Time.After(at) {
			n = v.Number
		}
	}
	return n
}

// Diff compares two versions of a mirror. Of a directory Tree is set, of a page all else.
func Diff(a *env.App, r DiffRequest) (c *Difference, err error) {
	if r.Held {
		c, err = diffHeld(a, r)
	} else {
		c, err = diffVersions(a, r)
	}
	if r.All && r.From == 0 && r.Path == "" && errors.Is(err, record.ErrNoVersion) {
		c, err = &Difference{Job: r.Job}, nil
	}
	if err != nil || !r.All {
		return c, err
	}
	return c, env.ViewState(a, r.Job, func(st *store.State, s *store.Site) error {
		sum, err := lastRun(st, r.Job)
		if err == nil {
			c.NoiseRun, c.NoisePages = sum.Run, sum.Noise
			c.Noise, err = report.Masked(s)
		}
		return err
	})
}

func diffVersions(a *env.App, r DiffRequest) (*Difference, error) {
	name, from, to := r.Job, r.From, r.To
	vs, err := Versions(a, name)
	if err != nil {
		return nil, err
	}
	if to == 0 {
		to = vs[len(vs)-1].Number
	}
	if r.Since.After(a.Clock()) {
		return nil, env.Usagef("diff %s: %s has not come yet", name, r.Since.Format("2006-01-02 15:04 MST"))
	}
	if !r.Since.IsZero() {
		from = versionAt(vs, r.Since)
	}
	if from == 0 {
		if len(vs) < 2 {
			err := fmt.Errorf("diff %s: there is no older version", name)
			return nil, control.WithCode(err, record.ErrNoVersion)
		}
		from = vs[len(vs)-2].Number
	}
	st, err := a.MustState()
	if err != nil {
		return nil, err
	}
	defer st.Close()
	old, err := OpenPast(st, name, from)
	if err != nil {
		return nil, err
	}
	defer old.Close()
	now, err := OpenPast(st, name, to)
	if err != nil {
		return nil, err
	}
	defer now.Close()
	c := &Difference{Job: name, A: from, B: to}
	c.Path, c.Before, c.After = locate(r.Path, old, now)
	if c.Before != nil || c.After != nil {
		return c, c.comparePage(old, now, r.Words)
	}
	if r.Page {
		return nil, ErrNoPage
	}
	tree := diff.Trees(old.Files(), now.Files())
	if c.Path != "" {
		below := func(f phm.File) bool { return strings.HasPrefix(f.Path, c.Path+"/") }
		if !slices.ContainsFunc(old.Files(), below) && !slices.ContainsFunc(now.Files(), below) {
			err := fmt.Errorf("diff %s: neither version has %s", name, r.Path)
			return nil, control.WithCode(err, record.ErrNoVersion)
		}
		if tree = tree.Find(c.Path); tree == nil {
			tree = &diff.Dir{Path: c.Path}
		}
	}
	if !r.Files {
		tree.DropFiles()
	}
	c.Tree = tree
	return c, nil
}

// locate finds the file that is meant by a path or URL; without one it returns the path as that of a
// directory, "" for the top.
func locate(path string, old, now *pastTree) (p string, before, after *phm.File) {
	find := func(v *pastTree, is func(*phm.File) bool) *phm.File {
		for i := range v.Files() {
			if f := &v.Files()[i]; is(f) {
				return f
			}
		}
		return nil
	}
	if strings.Contains(path, "://") {
		u, _, _ := strings.Cut(path, "#")
		if canonical, _, err := site.Parse(u); err == nil {
			u = canonical.String()
		}
		isURL := func(f *phm.File) bool { return f.URL == u }
		if before, after = find(old, isURL), find(now, isURL); after != nil {
			return after.Path, before, after
		} else if before != nil {
			return before.Path, before, nil
		}
		return path, nil, nil
	}
	p = strings.Trim(strings.TrimPrefix(path, "./"), "/")
	if p == "." {
		p = ""
	}
	isPath := func(f *phm.File) bool { return f.Path == p }
	return p, find(old, isPath), find(now, isPath)
}

// comparePage compares the page of two versions, or what it says.
func (c *Difference) comparePage(old, now *pastTree, words bool) error {
	start := time.Now()
	const timeout = 5 * time.Second
	before, large, err := bodyOf(old, c.Before)
	if err != nil {
		return err
	}
	after, large2, err := bodyOf(now, c.After)
	if err != nil {
		return err
	}
	switch {
	case c.Before == nil:
		c.What = diff.Added
	case c.After == nil:
		c.What = diff.Removed
	case c.Before.SHA256 == c.After.SHA256:
		c.What = "same"
	default:
		c.What = diff.Changed
	}
	if words {
		before, after = diff.Said(before), diff.Said(after)
	}
	if large || large2 {
		c.Diff = &diff.Page{Large: true}
	} else {
		c.Diff = diff.Pages(before, after, diff.Options{Timeout: timeout})
		c.Diff.Cut = time.Since(start) >= timeout
	}
	return nil
}

// bodyOf reads a file of a version for comparing. One that is not there is empty; a large one is not read.
func bodyOf(v *pastTree, f *phm.File) (b diff.Body, large bool, err error) {
	if f == nil {
		return b, false, nil
	}
	if f.Size > diff.MaxBytes {
		return b, true, nil
	}
	b.Type = f.Type
	b.Data, err = fs.ReadFile(v, f.Path)
	return b, false, err
}
