// SPDX-License-Identifier: Apache-2.0

package experiments

import (
	"iter"

	"mirrord/replay"
)

// SiteRow is what a setting came to on one site, in the paper's third experiment.
type SiteRow struct {
	Site string `json:"site"`
	Kind string `json:"kind"` // as the recording says; "" when it does not
	ExperimentRow
}

// ExperimentSites is the paper's experiment (iii): sites of different domains, each by itself. 20 versions of
// training, or half of a shorter history; the next version maintained to.
func ExperimentSites(hs []*replay.History) (out []SiteRow, err error) {
	for _, h := range hs {
		train := min(replay.DefaultTrain, len(h.Versions)/2)
		if train < 2 {
			continue
		}
		rows, err := tabulate([]*replay.History{h}, func(h *replay.History) []iter.Seq2[Experiment, error] {
			return []iter.Seq2[Experiment, error]{VaryTrain(h, train)}
		})
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			out = append(out, SiteRow{h.Site, h.Header["kind"], r})
		}
	}
	return out, nil
}

// ExperimentRow is what a setting came to in one of the paper's experiments: the mean over a site's
// maintenances in which anything had changed, then over the sites. Undefined values are null.
type ExperimentRow struct {
	Train   int      `json:"train"`   // versions that the rules were learned from
	K       int      `json:"k"`       // versions from the mirror to the one maintained to
	Setting string   `json:"setting"` // nothing: the mirror stays as it is
	Sites   int      `json:"sites"`
	BR      *float64 `json:"br"`
	OP      *float64 `json:"op"`
	OR      *float64 `json:"or"`
	CR      *float64 `json:"cr"`
}

// ExperimentK is the paper's experiment (i) over sites: 20 versions of training, the distance to the version
// maintained to varied.
func ExperimentK(hs []*replay.History) ([]ExperimentRow, error) {
	return tabulate(hs, func(h *replay.History) []iter.Seq2[Experiment, error] {
		return []iter.Seq2[Experiment, error]{VaryK(h)}
	})
}

// ExperimentTrain is the paper's experiment (ii) over sites: the number of training versions varied, the next
// version maintained to.
func ExperimentTrain(hs []*replay.History) ([]ExperimentRow, error) {
	return tabulate(hs, func(h *replay.History) (all []iter.Seq2[Experiment, error]) {
		for _, train := range []int{5, 10, 15, 20, 30, 40, 60} {
			all = append(all, VaryTrain(h, train))
		}
		return all
	})
}

// rowKey is what the rows of a table differ in.
type rowKey struct {
	train, k int
	setting  string
}

// maintained gathers measures.
type maintained struct{ br, op, or, cr mean }

func (m *maintained) add(x Maintenance) {
	m.br.add(x.BR.K, x.BR.N)
	m.op.add(x.OP.K, x.OP.N)
	m.or.add(x.OR.K, x.OR.N)
	m.cr.add(x.CR.K, x.CR.N)
}

func tabulate(
	hs []*replay.History, experiments func(*replay.History) []iter.Seq2[Experiment, error],
) ([]ExperimentRow, error) {
	rows := map[rowKey]*maintained{}
	var order []rowKey
	sites := map[rowKey]int{}
	for _, h := range hs {
		site := map[rowKey]*maintained{}
		var keys []rowKey
		take := func(k rowKey, m Maintenance) {
			if site[k] == nil {
				site[k] = &maintained{}
				keys = append(keys, k)
			}
			site[k].add(m)
		}
		for _, all := range experiments(h) {
			for x, err := range all {
				if err != nil {
					return nil, err
				}
				if x.Changes == 0 {
					continue
				}
				for _, s := range Settings() {
					take(rowKey{x.Train, x.K, s.Name}, x.By[s.Name])
				}
				take(rowKey{x.Train, x.K, string(replay.Nothing)}, x.Nothing)
			}
		}
		for _, k := range keys {
			if rows[k] == nil {
				rows[k] = &maintained{}
				order = append(order, k)
			}
			m := site[k]
			rows[k].br.addMean(m.br)
			rows[k].op.addMean(m.op)
			rows[k].or.addMean(m.or)
			rows[k].cr.addMean(m.cr)
			sites[k]++
		}
	}
	out := make([]ExperimentRow, 0, len(order))
	for _, k := range order {
		m := rows[k]
		out = append(out, ExperimentRow{k.train, k.k, k.setting, sites[k], m.br.value(), m.op.value(),
			m.or.value(), m.cr.value()})
	}
	return out, nil
}
