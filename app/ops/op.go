// SPDX-License-Identifier: Apache-2.0

// Package ops is the table of what can be done with jobs, orders and a daemon, as package job has one of
// keys.
//
// An operation is described once: its name, what it acts on, the role that it needs, its risk, a sentence,
// its arguments and the function that does it. operations.toml has the data of it. The control socket, the
// API with its description, the console and the command line take these from here. What each of them prints
// or draws, and the help of commands, stays with them. operations.toml also says which operations one of them
// does not offer, and why.
package ops

import (
	"cmp"
	"slices"

	"mirrord/app/access"
)

// Operation is an operation.
type Operation struct {
	Name  string      // unique; the last element of paths, the operationId of the API, the key of a button
	On    Subject     // what it acts on
	Need  access.Role // that may ask for it through the API and the console
	Risk  Risk        // what it may destroy
	Where Where       // which node of a cluster does it
	Call  string      // method and path of the API and of the socket; "": they do not have it
	Doc   string      // what it does, in one sentence
	Done  string      // what the console reports when it is done; "" for what only reads

	Command string // that does it, which the command line may lack
	InLog   string `toml:"act"` // what the audit log calls it, if it is not its name
	run     *deed  // what does it; nil: each surface that has it does so by hand, such as for files
}

// Subject is what an operation acts on.
type Subject int

// The subjects.
const (
	Daemon Subject = iota // the daemon, or all that it has
	Job                   // one job, or its mirror
	Order                 // one order
)

// Risk is what an operation may destroy. It decides about confirmation.
type Risk int

// The risks.
const (
	Reads   Risk = iota // nothing
	Changes             // nothing for good, but for what the daemon deletes by itself
	Deletes             // data: it is planned first, and done after a confirmation
)

// Where is the node of a cluster that does an operation.
type Where int

// The places.
const (
	Here   Where = iota // the node that is asked
	Owner               // the node that has the job, to which the daemon forwards it
	Holder              // the node that has the mirror or the order, to which the request is passed on
	All                 // all nodes: their answers are merged
)

// Named returns the operation of a name. That there is one is an invariant of the callers, held by their
// tests.
func Named(name string) Operation {
	for _, o := range Table() {
		if o.Name == name {
			return o
		}
	}
	panic("ops: no operation " + name)
}

// Act is what the audit log calls an operation; "" for what only reads, and for what needs no role.
func (o Operation) Act() string {
	if o.Risk == Reads || o.Need == access.Anonymous {
		return ""
	}
	return cmp.Or(o.InLog, o.Name)
}

// OfCommand is the operation whose sentence a command has.
func OfCommand(name string) (Operation, bool) {
	all := Table()
	i := slices.IndexFunc(all, func(o Operation) bool { return o.Name == name })
	if i < 0 {
		i = slices.IndexFunc(all, func(o Operation) bool { return o.Command == name })
	}
	if i < 0 {
		return Operation{}, false
	}
	return all[i], true
}
