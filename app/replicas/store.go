// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"

	"github.com/google/renameio/v2"

	"mirrord/internal/regular"
	"mirrord/mirror/render"
	"mirrord/store"
)

// ReplicasName is the file below the state that has what mirrord replicas last found among all mirrors. It
// can be deleted: the next one writes it again.
const ReplicasName = "replicas.json"

// KnownReplicas is what was last found among all mirrors of the state.
type KnownReplicas struct {
	Made time.Time `json:"made"`
	Node string    `json:"node,omitempty"` // of the cluster, that made it; "": this machine
	Replicas
	// of all collections the directories of their copies, the one first that stands for all
	Families [][]string `json:"families"`
	// of each mirror the version that was published then
	Versions map[string]int `json:"versions,omitempty"`
}

// publishedVersions are the versions of mirrors that readers see.
func publishedVersions(st *store.State) (map[string]int, error) {
	names, err := st.Sites()
	if err != nil {
		return nil, err
	}
	out := map[string]int{}
	for _, name := range names {
		if meta, err := render.PublishedMeta(st, name); err == nil { // else nothing is published, or readable
			out[name] = meta.Version
		}
	}
	return out, nil
}

// ComparedVersions are those of all mirrors that are compared: of this machine, and of other nodes.
func ComparedVersions(st *store.State) (map[string]int, error) {
	out, err := publishedVersions(st)
	if err != nil {
		return nil, err
	}
	e, err := LoadElsewhere(st.Dir)
	if err != nil {
		return nil, err
	}
	for name, s := range e.replace(st) {
		out[name] = s.Kept.Version
	}
	return out, nil
}

// SaveReplicas keeps what was found among all mirrors of a state, for the pages of the console and for
// searches.
func SaveReplicas(dir string, now time.Time, r *Replicas, versions map[string]int) error {
	k := KnownReplicas{Made: now.UTC(), Replicas: *r, Versions: versions}
	for i := range r.All {
		var dirs []string
		if i < len(r.Clusters) { // its copies are in the order of what they have
			for _, c := range r.Clusters[i].Copies {
				dirs = append(dirs, c.At)
			}
		} else {
			for j := range r.All[i].Copies {
				dirs = append(dirs, r.All[i].Copies[j].String())
			}
		}
		k.Families = append(k.Families, dirs)
	}
	data, err := json.Marshal(k)
	if err != nil {
		return err
	}
	return renameio.WriteFile(filepath.Join(dir, ReplicasName), data, 0o644)
}

// mostNotes bounds a file of notes on replicas.
const mostNotes = 1 << 30

// LoadReplicas reads what saveReplicas kept; fs.ErrNotExist when there is nothing.
func LoadReplicas(dir string) (*KnownReplicas, error) {
	data, err := regular.Read(filepath.Join(dir, ReplicasName), mostNotes)
	if err != nil {
		return nil, err
	}
	var r KnownReplicas
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, fmt.Errorf("%s: %w: mirrord replicas writes it again", ReplicasName, err)
	}
	return &r, nil
}
