// SPDX-License-Identifier: Apache-2.0

package env

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"mirrord/job"
	"mirrord/scheduler/control"
	"mirrord/scheduler/status"
	"mirrord/store/db"
	"mirrord/store/record"
)

// Kind is the sort of end that an Error stands for. A command line gives each kind an exit code, a server a
// status.
type Kind int

// The kinds of an Error. Other errors are of kind Failed, except for those that have a kind of their own:
// store.ErrLocked, job.Errors.
const (
	Failed     Kind = iota // something went wrong, or something wrong was found
	Usage                  // the request makes no sense, or names something that does not exist
	Partial                // a run ended early and can be resumed
	Suspicious             // a run was held back and waits to be accepted
	Locked                 // another process works on it
	Gaps                   // a run was published, and a part that could not be had is new
)

func (k Kind) String() string {
	switch k {
	case Usage:
		return "wrong usage"
	case Partial:
		return "partial"
	case Suspicious:
		return "held for review"
	case Locked:
		return "locked"
	case Gaps:
		return "gaps"
	}
	return "failed"
}

// RequestField names what of a request, or of the App, an Error is about. The caller names it in its own
// terms: a command line by the flag that sets it, a form by its input.
type RequestField string

// The fields that errors are about.
const (
	FieldState    RequestField = "state"   // App.State: it has no mirrors
	FieldJobs     RequestField = "jobs"    // App.Jobs: it does not exist
	FieldFormat   RequestField = "format"  // ExportRequest.Format; the text begins with the name of the field
	FieldMask     RequestField = "mask"    // ExportRequest.Mask; the text begins with the name of the field
	FieldSince    RequestField = "since"   // ExportRequest.Since; the text begins with the name of the field
	FieldImported RequestField = "as"      // the name of the mirror or job that Import or Init makes
	FieldDamaged  RequestField = "lenient" // ImportRequest.Lenient would leave out the damaged captures
	FieldURL      RequestField = "url"     // ImportRequest.URL; the text begins with the name of the field
	FieldVersion  RequestField = "version" // a number that no version of the mirror has
	FieldReason   RequestField = "reason"  // why PlanForget is to take something out of a mirror
)

// Error is an error of a known kind.
type Error struct {
	Kind  Kind
	Field RequestField // "": no single one
	Err   error        // nil when the result that came with the error says all there is to say
	Whole bool         // Err says all there is to say: the result adds nothing for people
}

func (e *Error) Error() string {
	if e.Err == nil {
		return e.Kind.String()
	}
	return e.Err.Error()
}

// Unwrap returns the cause, or nil.
func (e *Error) Unwrap() error { return e.Err }

// Usagef returns an Error of kind Usage.
func Usagef(format string, args ...any) error {
	return &Error{Kind: Usage, Err: fmt.Errorf(format, args...)}
}

// Fieldf returns an Error of kind Usage about a field.
func Fieldf(field RequestField, format string, args ...any) error {
	return &Error{Kind: Usage, Field: field, Err: fmt.Errorf(format, args...)}
}

// NotAName is the error about a text that cannot name a job. It says what was probably meant: a job is named
// by its file, and people give the path of that.
func NotAName(name string) error {
	meant := strings.ToLower(strings.TrimSuffix(filepath.Base(name), ".toml"))
	if job.ValidName(meant) {
		return Usagef("%q cannot name a job; did you mean %s?", name, meant)
	}
	return Usagef("%q cannot name a job: use 1 to 64 of a-z, 0-9, '.', '_', '-', a letter or digit first, "+
		"without '..'", name)
}

// FieldOf returns the field that an error is about, "" if it is about no field.
func FieldOf(err error) RequestField {
	for e, ok := errors.AsType[*Error](err); ok; e, ok = errors.AsType[*Error](e.Err) {
		if e.Field != "" {
			return e.Field
		}
	}
	return ""
}

// Remedied returns the text of an error. That of a database that cannot be used is one line that ends with
// what to do.
func Remedied(err error) string {
	s := strings.TrimSpace(err.Error())
	if db, ok := errors.AsType[*db.DatabaseError](err); ok && db.Site != "" {
		s = strings.ReplaceAll(s, "\n", "; ") + "; " + status.RebuildHint(db.Site)
	}
	return s
}

// SetupError is an error of what a job needs on this machine beside the site: its secrets and certificates,
// and the place where it publishes. Other runs fail in the same way until this is corrected.
type SetupError struct{ Err error }

func (e SetupError) Error() string { return e.Err.Error() }

func (e SetupError) Unwrap() error { return e.Err }

// NoVersion is the error about a number that no version of a mirror has. It is a store.ErrNoVersion.
func NoVersion(name string, number int) error {
	err := fmt.Errorf("%s has no version %d", name, number)
	return &Error{Field: FieldVersion, Err: control.WithCode(err, record.ErrNoVersion)}
}

// Close closes what a function that may have failed has open, and adds its error.
func Close(err *error, c io.Closer) { *err = errors.Join(*err, c.Close()) }
