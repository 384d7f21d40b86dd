// SPDX-License-Identifier: Apache-2.0

package experiments

import (
	"fmt"
	"iter"

	"mirrord/evolution"
	"mirrord/near"
	"mirrord/replay"
	"mirrord/testing/lab/thresholds"
)

// Setting decides the skips of an experiment: by rules, the thresholds of mining; or, with Never, the files
// of every directory of which nothing directly in it changed in training. A directory without files of its
// own goes with the one above it.
type Setting struct {
	Name  string
	Rules near.Options
	Never bool
}

// Settings are those of the experiments.
func Settings() []Setting {
	return []Setting{
		{"strict", thresholds.Strict(), false}, {"third", near.Third(), false}, {"best", thresholds.Best(), false},
		{"never", near.Options{}, true},
	}
}

// Experiment maintains a mirror once: rules are learned from Train versions, the mirror is the last of them,
// and it is maintained towards the version K later.
type Experiment struct {
	First, Train, K int
	Changes         int                    // files that differ between the mirror and the version
	Nothing         Maintenance            // when everything is skipped
	By              map[string]Maintenance // by the setting's name
}

// VaryK is the paper's experiment (i): rules of 20 versions from version 0, 10, 20 and 30 on, maintained 1,
// 2, 4, 8, 16 and 30 versions later.
func VaryK(h *replay.History) iter.Seq2[Experiment, error] {
	return func(yield func(Experiment, error) bool) {
		x, err := newExperimenter(h)
		if err != nil {
			yield(Experiment{}, err)
			return
		}
		for _, first := range []int{0, 10, 20, 30} {
			for _, k := range []int{1, 2, 4, 8, 16, 30} {
				if first+replay.DefaultTrain-1+k < len(h.Versions) && !yield(x.run(first, replay.DefaultTrain, k)) {
					return
				}
			}
		}
	}
}

// VaryTrain is the paper's experiment (ii): each of the last 20 versions that has enough before it,
// maintained from the one before by rules of the given number of versions.
func VaryTrain(h *replay.History, train int) iter.Seq2[Experiment, error] {
	return func(yield func(Experiment, error) bool) {
		x, err := newExperimenter(h)
		if err != nil {
			yield(Experiment{}, err)
			return
		}
		for test := max(train, len(h.Versions)-20); test < len(h.Versions); test++ {
			if !yield(x.run(test-train, train, 1)) {
				return
			}
		}
	}
}

// experimenter keeps what the experiments have in common; it goes forward through the versions.
type experimenter struct {
	h        *replay.History
	e        *evolution.History
	dirs     []evolution.Dir // as e numbers them
	first    int             // of the rules below
	train    int
	skipped  [][]bool // by setting and directory
	versions map[int][]replay.Content
}

func newExperimenter(h *replay.History) (*experimenter, error) {
	e, err := h.Evolution(len(h.Versions))
	if err != nil {
		return nil, err
	}
	x := &experimenter{
		h:        h,
		e:        e,
		dirs:     make([]evolution.Dir, h.Dirs()),
		first:    -1,
		versions: map[int][]replay.Content{},
	}
	for d := range h.Dirs() {
		x.dirs[d], _ = e.Dirs().Lookup(h.DirPath(replay.Dir(d)))
	}
	return x, nil
}

// at is a version's contents by page.
func (x *experimenter) at(version int) []replay.Content {
	if c, ok := x.versions[version]; ok {
		return c
	}
	from, content := -1, make([]replay.Content, x.h.Pages())
	for v := range x.versions {
		if v < version && v > from {
			from = v
		}
	}
	if from >= 0 {
		copy(content, x.versions[from])
	}
	for v := from + 1; v <= version; v++ {
		for _, c := range x.h.Versions[v].Changes {
			content[c.Page] = c.Content
		}
	}
	x.versions[version] = content
	return content
}

func (x *experimenter) learn(first, train int) error {
	if x.first == first && x.train == train {
		return nil
	}
	x.skipped = x.skipped[:0]
	for _, s := range Settings() {
		if s.Never {
			x.skipped = append(x.skipped, x.silent(first, train))
			continue
		}
		o := s.Rules
		o.From, o.To = first, first+train-1
		rules, err := near.Mine(x.e, o)
		if err != nil {
			return err
		}
		skips, skipped := rules.Skips(), make([]bool, x.h.Dirs())
		for d := range skipped {
			_, skipped[d] = skips.Dir(x.dirs[d])
		}
		x.skipped = append(x.skipped, skipped)
	}
	x.first, x.train = first, train
	return nil
}

// silent says of each directory whether its files are left alone under Never.
func (x *experimenter) silent(first, train int) []bool {
	changed, has := make([]bool, x.h.Dirs()), make([]bool, x.h.Dirs())
	for _, v := range x.h.Versions[first+1 : first+train] {
		for _, c := range v.Changes {
			changed[x.h.DirOf(c.Page)] = true
		}
	}
	for p, c := range x.at(first + train - 1) {
		if c != replay.Gone {
			has[x.h.DirOf(replay.Page(p))] = true
		}
	}
	out := make([]bool, x.h.Dirs())
	for d := range out {
		if has[d] {
			out[d] = !changed[d]
		} else if replay.Dir(d) != replay.Root {
			out[d] = out[x.h.Parent(replay.Dir(d))]
		}
	}
	return out
}

func (x *experimenter) run(first, train, k int) (Experiment, error) {
	out := Experiment{
		First: first,
		Train: train,
		K:     k,
		By:    map[string]Maintenance{},
	}
	if err := x.learn(first, train); err != nil {
		return out, fmt.Errorf("learn from %d versions from version %d on: %w", train, first, err)
	}
	old, test := x.at(first+train-1), x.at(first+train-1+k)
	all := make([]bool, x.h.Dirs())
	for d := range all {
		all[d] = true
	}
	out.Nothing = x.maintain(old, test, all)
	out.Changes = out.Nothing.CR.N
	for i, s := range Settings() {
		out.By[s.Name] = x.maintain(old, test, x.skipped[i])
	}
	return out, nil
}

// maintain is Maintain over pages.
func (x *experimenter) maintain(old, test []replay.Content, skipped []bool) (m Maintenance) {
	same, mirrored, files, bypassed := 0, 0, 0, 0
	for p, is := range test {
		was, in := old[p], skipped[x.h.DirOf(replay.Page(p))]
		mirror := is
		if in {
			mirror = was
		}
		if is != replay.Gone {
			files++
			if in {
				bypassed++
			}
		}
		if mirror != replay.Gone {
			mirrored++
			if mirror == is {
				same++
			}
		}
		if was != is {
			m.CR.N++
			if !in {
				m.CR.K++
			}
		}
	}
	m.BR = evolution.Frequency{K: bypassed, N: files}
	m.OP = evolution.Frequency{K: same, N: mirrored}
	m.OR = evolution.Frequency{K: same, N: files}
	return m
}
