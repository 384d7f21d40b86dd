// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"mirrord/replay"
	"mirrord/testing/lab/experiments"
)

// replayReport is what --json writes of a replay.
type replayReport struct {
	replay.PolicyReport

	Experiments *tables `json:"experiments,omitempty"`
}

// tables are those of --experiments.
type tables struct {
	VaryK     []experiments.ExperimentRow `json:"vary_k"`
	VaryTrain []experiments.ExperimentRow `json:"vary_train"`
	BySite    []experiments.SiteRow       `json:"by_site"`
}

// experiment makes the experiments of the paper on NEAR.
func (r *replayReport) experiment(hs []*replay.History) error {
	x := &tables{}
	var err1, err2, err3 error
	x.VaryK, err1 = experiments.ExperimentK(hs)
	x.VaryTrain, err2 = experiments.ExperimentTrain(hs)
	x.BySite, err3 = experiments.ExperimentSites(hs)
	r.Experiments = x
	return errors.Join(err1, err2, err3)
}

func (r *replayReport) write(to io.Writer, steps bool) error {
	if err := r.WriteText(to, steps); err != nil {
		return err
	}
	w := tabwriter.NewWriter(to, 0, 8, 2, ' ', tabwriter.AlignRight)
	if r.Experiments != nil {
		r.Experiments.write(w)
	}
	return w.Flush()
}

func (x *tables) write(w io.Writer) {
	for _, t := range []struct {
		title string
		rows  []experiments.ExperimentRow
	}{
		{"(i) rules of 20 versions, K versions later", x.VaryK},
		{"(ii) rules of TRAIN versions, the next version", x.VaryTrain},
	} {
		fmt.Fprintf(w, "\n%s\n", t.title)
		fmt.Fprintln(w, "TRAIN\tK\tSETTING\tBR\tOP\tOR\tCR\tSITES\t")
		for _, r := range t.rows {
			fmt.Fprintf(w, "%d\t%d\t%s\t%s\t%s\t%s\t%s\t%d\t\n", r.Train, r.K, r.Setting, replay.ShareText(r.BR),
				replay.ShareText(r.OP), replay.ShareText(r.OR), replay.ShareText(r.CR), r.Sites)
		}
	}
	fmt.Fprintln(w, "\n(iii) sites by domain: rules of TRAIN versions, the next version")
	fmt.Fprintln(w, "SITE\tTRAIN\tSETTING\tBR\tOP\tOR\tCR\tDOMAIN\t")
	for _, r := range x.BySite {
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t\n", r.Site, r.Train, r.Setting, replay.ShareText(r.BR),
			replay.ShareText(r.OP), replay.ShareText(r.OR), replay.ShareText(r.CR), r.Kind)
	}
}
