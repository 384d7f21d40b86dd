// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"fmt"
	"os"
	"strings"

	"mirrord/job"
)

// Renaming is the error of a job that is being renamed, or whose rename was interrupted: no run of it begins.
type Renaming struct{ From, To string }

func (r *Renaming) Error() string {
	return fmt.Sprintf("the rename of %s to %s is not finished: mirrord rename %s %s continues it",
		r.From, r.To, r.From, r.To)
}

// renamedTo stands between the two names of a job in the name of its file while it is renamed.
const renamedTo = ".renamed-to."

// AsideName is the name that the file of a job has in its directory while the job is renamed.
func (r *Renaming) AsideName() string { return "." + r.From + renamedTo + r.To }

// renamingOf reads what AsideName returns; nil is any other name.
func renamingOf(base string) *Renaming {
	from, to, ok := strings.Cut(strings.TrimPrefix(base, "."), renamedTo)
	if !ok || !strings.HasPrefix(base, ".") || !job.ValidName(from) || !job.ValidName(to) {
		return nil
	}
	return &Renaming{From: from, To: to}
}

// RenamingIn finds the interrupted rename of a job of some directories, by its old or its new name; nil when
// there does not exist.
func RenamingIn(dirs []string, name string) *Renaming {
	for _, dir := range dirs {
		entries, _ := os.ReadDir(dir) // the reader of the job says why it cannot be read
		for _, e := range entries {
			if r := renamingOf(e.Name()); r != nil && (r.From == name || r.To == name) {
				return r
			}
		}
	}
	return nil
}
