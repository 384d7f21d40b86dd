// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mirrord/app/depots"
	"mirrord/app/env"
	"mirrord/app/look"
	"mirrord/fetch"
	"mirrord/internal/count"
	"mirrord/mirror"
	"mirrord/scheduler"
	"mirrord/scheduler/status"
)

// ConfirmAccept shows what accept would publish or remove and asks the user at the terminal. When nothing
// waits, it leaves that to accept.
func (a *CLI) ConfirmAccept(name string, keep, yes, daemon bool) error {
	c, err := look.Diff(a.App(), look.DiffRequest{Job: name, Held: true})
	switch {
	case err == nil:
		if err := c.WriteHeld(a.Stderr); err != nil {
			return err
		}
	case errors.Is(err, look.ErrNoneHeld) || noSuchJob(a, name):
		return confirmRemoval(a, name, keep || yes)
	case !daemon && !a.Asks:
		return nil // accept itself reports the error
	default:
		fmt.Fprintf(a.Stderr, "mirrord: what waits cannot be shown: %v\n", err)
	}
	if yes || !a.Asks {
		return nil
	}
	what := "Publish it?"
	if keep {
		what = "Publish it, and keep what would be removed?"
	}
	return a.wantYes(what, "nothing was published")
}

// confirmRemoval says how much accept would remove of what accept --keep kept, and asks. After a run with new
// gaps it removes nothing.
func confirmRemoval(a *CLI, name string, sure bool) error {
	j, err := look.JobStatus(a.App(), name, a.App().Clock())
	if sure || !a.Asks || err != nil || j.Last == nil || j.Last.Kept == 0 {
		return nil // accept itself reports an error
	}
	if j.Last.Verdict == mirror.Gaps.String() {
		return nil
	}
	fmt.Fprintf(a.Stderr, "%s: %s that the site no longer has will be removed; mirrord status %s names some\n",
		name, count.Of(j.Last.Kept, "file"), name)
	return a.wantYes("Remove them?", "nothing was removed")
}

// noSuchJob reports whether no job file has that name.
func noSuchJob(a *CLI, name string) bool {
	_, err := a.App().FindJob(name)
	return err != nil
}

// Yes asks a question that is answered by yes or no.
func (a *CLI) Yes(question string) bool {
	fmt.Fprintf(a.Stderr, "%s [y/N] ", question)
	answer, err := bufio.NewReader(a.Stdin).ReadString('\n')
	word := strings.ToLower(strings.TrimSpace(answer))
	yes := word == "y" || word == "yes"
	if !yes && err != nil {
		fmt.Fprintln(a.Stderr)
	}
	return yes
}

// wantYes asks a question. Without yes its error says what was left.
func (a *CLI) wantYes(question, left string) error {
	if a.Yes(question) {
		return nil
	}
	return &env.Error{Err: errors.New(left)}
}

// emptyValue reports whether v is nil or a collection of nothing.
func emptyValue(v any) bool {
	switch r := reflect.ValueOf(v); r.Kind() {
	case reflect.Invalid:
		return true
	case reflect.Slice, reflect.Map:
		return r.Len() == 0
	case reflect.Pointer:
		return r.IsNil()
	}
	return false
}

// WithoutEmpty leaves out fields that say nothing.
func WithoutEmpty(_ []string, a slog.Attr) slog.Attr {
	empty := false
	switch a.Value.Kind() {
	case slog.KindString:
		empty = a.Value.String() == ""
	case slog.KindTime:
		empty = a.Value.Time().IsZero()
	case slog.KindAny:
		empty = emptyValue(a.Value.Any())
	}
	if empty {
		return slog.Attr{}
	}
	return a
}

// StartHint says how the daemon is started, "" when it runs.
func (a *CLI) StartHint() string {
	if c, err := a.App().Client(); err != nil || c != nil {
		return ""
	}
	if a.JobsDir() == a.Under+SystemJobs {
		return "; start it: sudo systemctl enable --now mirrord"
	}
	return "; start it: mirrord daemon"
}

// ConfirmPlan shows what would be deleted and asks.
func (a *CLI) ConfirmPlan(name string, plan []string) error {
	fmt.Fprintf(a.Stderr, "%s: to delete:\n", name)
	for _, line := range plan {
		fmt.Fprintf(a.Stderr, "  %s\n", line)
	}
	return a.ConfirmDeletion()
}

// ConfirmDeletion asks whether what was shown is to be deleted.
func (a *CLI) ConfirmDeletion() error {
	if !a.Asks {
		return env.Usagef("nothing was deleted: --yes deletes it")
	}
	return a.wantYes("Delete it?", "nothing was deleted")
}

// AppWithNote is app with a line of progress on the terminal; done takes the line away.
func (a *CLI) AppWithNote() (x *env.App, done func()) {
	x = a.App()
	x.Note, done = noteLine(a)
	warn := x.Warn
	x.Warn = func(line string) {
		done()
		warn(line)
	}
	return x, done
}

// noteLine returns what shows one line of progress on a terminal, and what takes it away.
func noteLine(a *CLI) (note func(string), done func()) {
	if !a.Screen.Drawn {
		return func(string) {}, func() {}
	}
	drawn := false
	return func(s string) {
			fmt.Fprintf(a.Stderr, "\r\x1b[K%.*s", a.Screen.Width(), s)
			drawn = true
		}, func() {
			if drawn {
				fmt.Fprint(a.Stderr, "\r\x1b[K")
				drawn = false
			}
		}
}

// Typed is a hint as its reader has to type it: who came by sudo needs it for the commands of the hint, too.
func (a *CLI) Typed(hint string) string {
	if _, sudo := a.LookupEnv("SUDO_USER"); !a.Root || !sudo {
		return hint
	}
	hint = regexp.MustCompile(`(^|[^/\w-])mirrord ([a-z])`).ReplaceAllString(hint, "${1}sudo mirrord $2")
	return strings.ReplaceAll(hint, "sudo sudo ", "sudo ")
}

// PrintSummary prints the report of a run, with what to do.
func (a *CLI) PrintSummary(sum *mirror.Summary, h Hints) error {
	if a.JSON {
		return sum.WriteJSON(a.Stdout)
	}
	if err := sum.WriteTextFor(a.Stdout, h.Full); err != nil {
		return err
	}
	fix, why := "", strings.Join(sum.Reasons, "\n")
	switch {
	case sum.Verdict == mirror.Suspicious && h.Entry != nil && status.NeedsEntry(sum.Reasons):
		fix = h.Entry(why)
	case sum.Held != nil && h.held != "":
		fix = h.held
	case sum.Verdict == mirror.Gaps && h.Gaps != nil:
		fix = h.Gaps(why)
	case sum.Verdict == mirror.Suspicious || sum.Gaps.Hold:
		fix = h.Accept
	case sum.Verdict == mirror.Partial && h.again != nil && why != "":
		fix = h.again(why)
	}
	if fix != "" {
		a.Printf("  fix: %s\n", a.Typed(fix))
	}
	if sum.Published && sum.Version == 1 && h.look != "" {
		a.Printf("  look at it: %s\n", a.Typed(h.look))
	}
	return nil
}

// Report prints the summary of a run, if there is one, and returns the run's error.
func (a *CLI) Report(sum *mirror.Summary, err error, h Hints) error {
	known, ok := errors.AsType[*env.Error](err)
	if sum == nil || (ok && known.Whole && !a.JSON) {
		return err
	}
	if perr := a.PrintSummary(sum, h); perr != nil {
		return perr
	}
	return err
}

// WithProgress shows the progress of a run, and reports how it ended.
func (a *CLI) WithProgress(
	name string, h Hints, run func(show func(status.Progress)) (*mirror.Summary, error),
) error {
	p := NewProgress(a, name, a.JSON)
	sum, err := run(p.Update())
	p.Clear()
	return a.Report(sum, err, h)
}

// CLI holds what all commands share: the environment and the global flags.
type CLI struct {
	Environ
	JobsFlag  string
	StateFlag string
	JSON      bool
	Verbose   bool
	Started   bool // a command has begun: from here on an error is not one of usage
}

// App is the application with the choices of this command line.
func (a *CLI) App() *env.App {
	return &env.App{
		State:     a.StateDir,
		Jobs:      a.JobsDir(),
		JobsNamed: a.JobsFlag != "",
		Activates: a.systemSocket(),
		Log:       a.Log(),
		LookupEnv: a.LookupEnv,
		Network:   a.Network,
		Now:       a.Clock,
		AsOwner:   true,
		Away:      depots.LeftBehind,
		Warn:      func(line string) { fmt.Fprintln(a.Stderr, line) },
	}
}

// Log returns the logger: text on standard error, warnings only unless verbose.
func (a *CLI) Log() *slog.Logger {
	level := slog.LevelWarn
	if a.Verbose {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(a.Stderr, &slog.HandlerOptions{
		Level:       level,
		ReplaceAttr: WithoutEmpty,
	}))
}

// PrintJSON writes v as one indented JSON value.
func (a *CLI) PrintJSON(v any) error {
	enc := json.NewEncoder(a.Stdout)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// StateDir returns the state directory: --state, $STATE_DIRECTORY (systemd; the first of a list),
// /var/lib/mirrord for root and where the jobs are those of the system, else the user's state directory (XDG
// base directories).
func (a *CLI) StateDir() (string, error) {
	if a.StateFlag != "" {
		return a.StateFlag, nil
	}
	if d, ok := a.LookupEnv("STATE_DIRECTORY"); ok && d != "" {
		return filepath.SplitList(d)[0], nil
	}
	if a.Root {
		return a.Under + SystemState, nil
	}
	// The jobs of the system have their mirrors in the state of the system, for all users.
	if a.JobsFlag == "" && a.folder(SystemJobs) && a.folder(SystemState) {
		return a.Under + SystemState, nil
	}
	if d, ok := a.LookupEnv("XDG_STATE_HOME"); ok && filepath.IsAbs(d) {
		return filepath.Join(d, "mirrord"), nil
	}
	if home, ok := a.LookupEnv("HOME"); ok && home != "" {
		return filepath.Join(home, ".local", "state", "mirrord"), nil
	}
	return "", env.Usagef("no state directory: set --state")
}

// systemSocket is where systemd may listen for the daemon of the system, when its state and jobs are meant.
func (a *CLI) systemSocket() string {
	if a.JobsDir() != a.Under+SystemJobs {
		return ""
	}
	if dir, err := a.StateDir(); err != nil || dir != a.Under+SystemState {
		return ""
	}
	return a.Under + SystemSocket
}

// JobsDir returns the directory of job files: --jobs, /etc/mirrord/jobs.d when it exists, else jobs.d.
func (a *CLI) JobsDir() string {
	if a.JobsFlag != "" {
		return a.JobsFlag
	}
	if a.folder(SystemJobs) {
		return a.Under + SystemJobs
	}
	return "jobs.d"
}

// The directories of a daemon that the packages start.
const (
	SystemJobs  = "/etc/mirrord/jobs.d"
	SystemState = "/var/lib/mirrord"
	// of packaging/mirrord.socket
	SystemSocket = "/run/mirrord.sock"
)

func (a *CLI) folder(path string) bool {
	fi, err := os.Stat(a.Under + path)
	return err == nil && fi.IsDir()
}

func (a *CLI) Printf(format string, args ...any) { fmt.Fprintf(a.Stdout, format, args...) }

// Exit codes: a contract with scripts, see docs/jobs.md and mirrord help.
const (
	ExitOK         = 0 // complete and published, or nothing to do
	ExitError      = 1
	ExitUsage      = 2 // wrong usage or invalid job file
	ExitPartial    = 3 // can be resumed
	ExitSuspicious = 4 // held for review
	ExitLocked     = 5 // another process works on it
	ExitGaps       = 6 // published, but a part that could not be had is new
)

// env is the process's contact with the world, passed in so that run can be tested.
type Environ struct {
	Stdin     io.Reader
	Stdout    io.Writer
	Stderr    io.Writer
	LookupEnv func(string) (string, bool)
	Network   fetch.Network    // that sites are reached by; nil is the system's
	Clock     func() time.Time // of states and runs; nil is the system's
	Screen    Screen           // the terminal on stderr
	Table     func() int       // how wide the terminal on stdout is, 0 when it does not say; nil is no terminal
	Root      bool             // runs as the superuser
	Under     string           // where the directories of the system lie; "" is the root directory
	Asks      bool             // a user sits there: questions may be asked on stderr and answered on stdin
	Ascii     bool             // terminals show ASCII only
}

// ReplaceForTerminals has what a terminal cannot show replaced.
func (a *CLI) ReplaceForTerminals() {
	if !a.Ascii {
		return
	}
	json := func() bool { return a.JSON }
	if a.Table != nil {
		a.Stdout = &asciiWriter{a.Stdout, json}
	}
	if a.Screen.Drawn {
		a.Stderr = &asciiWriter{a.Stderr, json}
	}
}

// CompleteJob completes names of jobs on the command line.
func (a *CLI) CompleteJob(
	_ *cobra.Command, args []string, prefix string,
) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	files, err := a.App().JobFiles()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var out []string
	for _, f := range files {
		if name := strings.TrimSuffix(filepath.Base(f), scheduler.Suffix); strings.HasPrefix(name, prefix) {
			out = append(out, name)
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// CompleteVersions completes the name of a job, and then up to n versions of it.
func (a *CLI) CompleteVersions(n int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		switch {
		case len(args) == 0:
			return a.CompleteJob(cmd, args, prefix)
		case len(args) > n:
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return a.versionsOf(args[0], prefix), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

// CompleteVersionFlag completes a flag with the versions of the job that the first argument names.
func (a *CLI) CompleteVersionFlag(
	_ *cobra.Command, args []string, prefix string,
) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.versionsOf(args[0], prefix), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// versionsOf are the versions of a mirror for completion, newest first, with their times.
func (a *CLI) versionsOf(name, prefix string) (out []string) {
	vs, err := look.Versions(a.App(), strings.TrimSuffix(name, scheduler.Suffix))
	if err != nil {
		return nil
	}
	for _, v := range slices.Backward(vs) {
		if n := strconv.Itoa(v.Number); strings.HasPrefix(n, prefix) {
			out = append(out, cobra.CompletionWithDesc(n, "published "+TimeText(&v.Time)))
		}
	}
	return out
}
