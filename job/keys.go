// SPDX-License-Identifier: Apache-2.0

package job

import (
	"slices"
	"strings"

	"mirrord/evolution/policy/known"
)

// Key describes one key of a job file.
type Key struct {
	Name    string   // dotted: "polite.delay"
	Type    string   // what a person reads: "duration", "size", "list of globs" …
	Unit    string   // of a plain number, or what a value counts; may be empty
	Doc     string   // what it does, one or two sentences
	Risk    string   // what a bad choice costs; may be empty
	Example string   // a TOML value
	Enum    []string // the words allowed, for a choice
	Later   bool     // checked already, but nothing heeds it yet

	min, max int64              // of integers; max 0 is no bound
	field    func(j *Job) any   // pointer to the field
	check    func(j *Job) error // beyond the type; may be nil
}

// Default returns the key's default as a TOML value; "" when the key must be given.
func (k Key) Default() string {
	if k.Name == "url" {
		return ""
	}
	return encode(k.field(Default()))
}

// Values returns the values that a key can have, when these are few; nil otherwise.
func (k Key) Values() []string {
	if k.Type == "true or false" {
		return []string{"true", "false"}
	}
	return k.Enum
}

// Table returns the table of the key, "" for the top level, and the key inside it.
func (k Key) Table() (table, leaf string) { return cutLast(k.Name) }

// Tables returns the tables of a job file in the order of the reference; the first, "", is the top level.
func Tables() []string {
	return []string{
		"", "scope", "programs", "limits", "polite", "evidence", "adaptive", "near", "reuse", "auth", "tls",
		"publish", "hooks", "notify",
	}
}

// Keys returns every key of a job file in the order of the reference.
func Keys() []Key {
	return slices.Concat(
		topKeys(), replicaKeys(), scopeKeys(), limitKeys(), politeKeys(), evidenceKeys(), policyKeys(), reuseKeys(),
		accessKeys(), resultKeys(), hookKeys(), notifyKeys(),
	)
}

// policyDocs says of each policy what it asks for.
func policyDocs() string {
	var docs []string
	for _, p := range known.All() {
		docs = append(docs, string(p.Name)+": "+p.Doc)
	}
	return strings.Join(docs, ". ")
}
