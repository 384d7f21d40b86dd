// SPDX-License-Identifier: Apache-2.0

package job

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// maxErrors bounds how many errors of one file are kept; the rest are counted.
const maxErrors = 100

// SetSource is the File of an Error of Job.Set. A command line names its flag instead.
const SetSource = "set"

// Error is one thing that is wrong with a job file, or with an assignment by Job.Set.
type Error struct {
	File string // as given to Parse; SetSource for Set
	Line int    // from 1; 0 when the error has no place
	Col  int    // from 1, in bytes
	Key  string // dotted key, "" when the error concerns no single key
	Msg  string // the problem
	Hint string // what to do about it; may be empty
}

// Error returns "file:line:col: message; hint".
func (e Error) Error() string {
	var b strings.Builder
	if e.File != "" {
		b.WriteString(e.File)
		if e.Line > 0 {
			fmt.Fprintf(&b, ":%d:%d", e.Line, e.Col)
		}
		b.WriteString(": ")
	}
	b.WriteString(e.Msg)
	if e.Hint != "" {
		b.WriteString("; ")
		b.WriteString(e.Hint)
	}
	return b.String()
}

// Errors is everything that is wrong with one job file, in the order of the file. It is never empty when
// returned as an error.
type Errors []Error

// Error returns one line per error.
func (es Errors) Error() string { return errors.Join(es.Unwrap()...).Error() }

// Unwrap lets errors.As find the single errors.
func (es Errors) Unwrap() []error {
	out := make([]error, len(es))
	for i, e := range es {
		out[i] = e
	}
	return out
}

// asError sorts and bounds the list; nil when it is empty.
func (es Errors) asError() error {
	if len(es) == 0 {
		return nil
	}
	slices.SortStableFunc(es, func(a, b Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
	if n := len(es) - maxErrors; n > 0 {
		last := es[maxErrors]
		last.Key, last.Hint = "", ""
		last.Msg = fmt.Sprintf("%d more errors are not shown", n)
		es = append(es[:maxErrors:maxErrors], last)
	}
	return es
}

// problem is an error of a value that does not know its place in a file yet.
type problem struct{ msg, hint string }

func (p *problem) Error() string {
	if p.hint == "" {
		return p.msg
	}
	return p.msg + "; " + p.hint
}

func problemf(hint, format string, args ...any) error {
	return &problem{msg: fmt.Sprintf(format, args...), hint: hint}
}

// split returns the message and the hint of err.
func split(err error) (msg, hint string) {
	if p, ok := err.(*problem); ok {
		return p.msg, p.hint
	}
	return err.Error(), ""
}
