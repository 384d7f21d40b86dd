// SPDX-License-Identifier: Apache-2.0

package shares

import (
	"maps"
	"slices"
)

// JobSet says which job files there are: the digests of their texts, by name of the job.
type JobSet map[string]string

// JobsState is how the job files of a machine stand to those of its cluster.
type JobsState string

// The states.
const (
	JobsAlone    JobsState = "alone"    // the cluster has none: each machine has its own
	JobsSame     JobsState = "same"     // they are those of the cluster
	JobsBehind   JobsState = "behind"   // the cluster has others, and these were not edited: they are replaced
	JobsEdited   JobsState = "edited"   // they were edited here, and the cluster's were not
	JobsUnknown  JobsState = "unknown"  // they cannot be compared
	JobsConflict JobsState = "conflict" // they were edited here, and the cluster has others: nothing is replaced
)

// CompareJobs compares the job files of a machine with those of the cluster, which may be nil. base are
// those that both had when they were last the same; nil: they never were. It names the jobs whose files were
// edited, made or removed here.
func CompareJobs(local, base, cluster JobSet) (state JobsState, edited []string) {
	if cluster == nil {
		return JobsAlone, nil
	}
	if maps.Equal(local, cluster) {
		return JobsSame, nil
	}
	names := JobSet{}
	for _, set := range []JobSet{local, base, cluster} {
		maps.Copy(names, set)
	}
	for name := range names { // "" is a file that is not there
		if local[name] != base[name] && local[name] != cluster[name] {
			edited = append(edited, name)
		}
	}
	slices.Sort(edited)
	switch {
	case edited == nil:
		return JobsBehind, nil
	case base != nil && maps.Equal(base, cluster):
		return JobsEdited, edited
	}
	return JobsConflict, edited
}
