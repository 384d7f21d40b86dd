// SPDX-License-Identifier: Apache-2.0

package ops

import (
	"cmp"
	_ "embed"
	"slices"
	"sync"

	"github.com/pelletier/go-toml/v2"

	"mirrord/app/access"
	"mirrord/scheduler/control"
)

//go:embed operations.toml
var tableFile []byte

// described is what operations.toml says.
type described struct {
	all        []Operation
	Operations []struct {
		Operation
		On, Need, Risk, Where string
	}
	Lacking []struct {
		At    Surface
		Why   string
		Names []string
	}
}

var read = sync.OnceValue(func() (d described) {
	if err := toml.Unmarshal(tableFile, &d); err != nil {
		panic(err)
	}
	deeds := deeds()
	for i := range d.Operations {
		x := &d.Operations[i]
		x.Operation.On = Subject(slices.Index([]string{"daemon", "job", "order"}, x.On))
		x.Operation.Need = access.RoleOf(x.Need)
		x.Operation.Risk = Risk(slices.Index([]string{"reads", "changes", "deletes"}, x.Risk))
		x.Operation.Where = Where(slices.Index([]string{"here", "owner", "holder", "all"}, x.Where))
		x.Command, x.run = cmp.Or(x.Command, x.Name), deeds[x.Name]
		d.all = append(d.all, x.Operation)
	}
	return d
})

// Table returns all operations. They are not to be changed.
func Table() []Operation { return read().all }

// deeds are the operations that are done in the same way for all surfaces.
func deeds() map[string]*deed {
	return map[string]*deed{
		"status":    ofDaemon(showStatus),
		"registry":  ofDaemon(control.API.Registry),
		"gather":    does(gather),
		"reload":    ofDaemon(control.API.Reload),
		"login":     does(login),
		"job":       does(showJob),
		"runs":      does(listRuns),
		"run":       does(run),
		"cancel":    onJob(control.API.Cancel),
		"pause":     onJob(control.API.Pause),
		"resume":    onJob(control.API.Resume),
		"notify":    does(notifyTest),
		"register":  does(register),
		"removeJob": does(remove),
		"rename":    does(rename),
		"rollback":  does(rollback),
		"gc":        does(collect),
		"forget":    does(forget),
	}
}

// Surface is where operations are offered.
type Surface string

// The surfaces.
const (
	Socket      Surface = "socket"
	API         Surface = "api"
	Console     Surface = "console"
	CommandLine Surface = "commands"
)

// Lacks says why a surface does not offer an operation; "" when it does.
func (o Operation) Lacks(at Surface) string {
	for _, l := range read().Lacking {
		if l.At == at && slices.Contains(l.Names, o.Name) {
			return l.Why
		}
	}
	return ""
}
