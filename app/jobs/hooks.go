// SPDX-License-Identifier: Apache-2.0

package jobs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"mirrord/app/env"
	"mirrord/app/files"
	"mirrord/internal/count"
	"mirrord/job"
	"mirrord/mirror"
	"mirrord/phm"
	"mirrord/scheduler/notify"
	"mirrord/scheduler/status"
	"mirrord/store"
)

const (
	postponeCode = 75               // exit code of hooks.before that postpones: EX_TEMPFAIL of sysexits.h
	endingWithin = 10 * time.Second // that hooks have when the run was told to end
	mostHookURLs = 10_000           // files of each kind that hooks.published gets
)

// errPostponed says that hooks.before does not want a run now.
var errPostponed = errors.New("hooks.before postponed the run")

// HookInput is what a hook gets on its standard input.
type HookInput struct {
	Hook      string     `json:"hook"` // "before", "published" or "after"
	Job       string     `json:"job"`
	URL       string     `json:"url"`                 // the first entry point
	Dir       string     `json:"dir"`                 // the published tree
	Version   int        `json:"version"`             // the published one; 0: none
	Since     int        `json:"since,omitempty"`     // the version that this hook was last told of; 0: none
	Published bool       `json:"published,omitempty"` // this run published Version
	Restores  int        `json:"rolled_back_to,omitempty"`
	Verdict   string     `json:"verdict,omitempty"`
	Reasons   []string   `json:"reasons,omitempty"`
	Files     *HookFiles `json:"files,omitempty"` // what changed from Since to Version, if that is one step
}

// HookFiles is what changed with a version.
type HookFiles struct {
	Added   []HookFile `json:"added"`
	Changed []HookFile `json:"changed"`
	Removed []HookFile `json:"removed"`
	More    int        `json:"more,omitempty"` // changes that are not listed
}

// HookFile is one file of the mirror.
type HookFile struct {
	Path string `json:"path"`
	URL  string `json:"url"`
}

// hookNotes is the stored state of the hooks of a job.
type hookNotes struct {
	Told   int               `json:"told"` // the last version that hooks.published was told of
	Known  bool              `json:"known"`
	Failed map[string]string `json:"failed,omitempty"` // what went wrong when a hook ran last, by key
}

// hooked is a run with the hooks of its job.
type hooked struct {
	app   *env.App
	job   *job.Job
	site  *store.Site
	notes hookNotes
}

// WithHooks makes a change of an open site that may publish a version: with the hooks of the job, and its
// link. A change that makes no requests has no hook before it. A hook that fails never keeps a version from
// being published; it is among the notes of the summary.
func WithHooks(
	ctx context.Context, a *env.App, j *job.Job, s *store.Site, requests bool,
	change func() (*mirror.Summary, error),
) (sum *mirror.Summary, err error) {
	h := hooked{app: a, job: j, site: s}
	if err := h.read(); err != nil {
		return nil, err
	}
	if requests {
		if err := h.before(ctx); err != nil {
			return nil, errors.Join(err, h.write())
		}
	}
	sum, err = change()
	if sum != nil && sum.Version > 0 {
		if lerr := files.LinkPublished(j, s); lerr != nil {
			err = errors.Join(err, env.SetupError{Err: lerr})
		}
	}
	if sum == nil {
		return nil, err
	}
	if ctx.Err() != nil { // the hooks still report how the run ended, within a short time
		var end context.CancelFunc
		ctx, end = context.WithTimeout(context.WithoutCancel(ctx), endingWithin)
		defer end()
	}
	h.published(ctx, sum)
	h.run(ctx, "hooks.after", j.Hooks.After, h.input("after", sum))
	for _, key := range slices.Sorted(maps.Keys(h.notes.Failed)) {
		sum.Notes = append(sum.Notes, mirror.Note{What: key + " failed: " + h.notes.Failed[key], Count: 1})
	}
	return sum, errors.Join(err, h.write())
}

// read reads the stored state of the hooks.
func (h *hooked) read() error {
	v, err := h.site.Notes.Fact(store.HooksFact)
	if err == nil && v != nil {
		err = json.Unmarshal(v, &h.notes)
	}
	for key := range h.notes.Failed {
		if h.job.Hooks.Commands()[key] == nil {
			delete(h.notes.Failed, key)
		}
	}
	return err
}

func (h *hooked) write() error {
	v, err := json.Marshal(&h.notes)
	if err != nil {
		return err
	}
	if len(h.job.Hooks.Commands()) == 0 {
		v = nil
	}
	if had, err := h.site.Notes.Fact(store.HooksFact); err != nil || bytes.Equal(had, v) {
		return err
	}
	return h.site.Notes.SetFact(store.HooksFact, v)
}

// before runs hooks.before. The error is errPostponed when it does not want the run now.
func (h *hooked) before(ctx context.Context) error {
	err := h.run(ctx, "hooks.before", h.job.Hooks.Before, h.input("before", nil))
	if err != nil && ctx.Err() != nil {
		return &env.Error{Kind: env.Partial, Err: errors.New("interrupted before the run began; run again")}
	}
	if !postpones("hooks.before", err) {
		return nil
	}
	why := h.notes.Failed["hooks.before"]
	delete(h.notes.Failed, "hooks.before")
	return &env.Error{Kind: env.Partial, Err: fmt.Errorf("%w: %s", errPostponed, why)}
}

// postpones reports whether the end of a hook says that the run is to come later.
func postpones(key string, err error) bool {
	exit, ok := errors.AsType[*exec.ExitError](err)
	return ok && (key == "hooks.before") && (exit.ExitCode() == postponeCode)
}

// published runs hooks.published when a version was published that the hook does not know yet. It does not
// run for a version from before it was configured.
func (h *hooked) published(ctx context.Context, sum *mirror.Summary) {
	if len(h.job.Hooks.Published) == 0 {
		h.notes.Known = false
		return
	}
	if !h.notes.Known {
		if h.notes.Known = true; !sum.Published {
			h.notes.Told = sum.Version
		}
	}
	if sum.Version == h.notes.Told {
		return
	}
	in := h.input("published", sum)
	in.Since = h.notes.Told
	in.Files = h.files(sum.Version)
	if h.run(ctx, "hooks.published", h.job.Hooks.Published, in) == nil {
		h.notes.Told = sum.Version
	}
}

// input is what all hooks get. sum is nil before the run.
func (h *hooked) input(hook string, sum *mirror.Summary) *HookInput {
	in := &HookInput{Hook: hook, Job: h.job.Name, Dir: filepath.Join(h.site.Dir, "current")}
	if seeds := h.job.Seeds(); len(seeds) > 0 {
		in.URL = seeds[0].String()
	}
	if v, err := h.site.Versions.Last(); err == nil {
		in.Version, in.Restores = v.Number, v.Restores
	}
	if sum != nil {
		in.Published, in.Verdict, in.Reasons = sum.Published, sum.Verdict.String(), sum.Reasons
	}
	return in
}

// files lists what changed with a version, nil when the hook was told of another one than that before it.
func (h *hooked) files(version int) *HookFiles {
	vs, err := h.site.Versions.List()
	if err != nil || len(vs) < 2 || vs[len(vs)-1].Number != version || vs[len(vs)-2].Number != h.notes.Told {
		return nil
	}
	script, err := h.site.Versions.Script(version)
	if err != nil {
		return nil
	}
	f := &HookFiles{Added: []HookFile{}, Changed: []HookFile{}, Removed: []HookFile{}}
	lists := map[byte]*[]HookFile{'+': &f.Added, '~': &f.Changed, '-': &f.Removed}
	for line := range bytes.Lines(script) {
		list := lists[line[0]]
		for file, err := range phm.Files(bytes.NewReader(line[1:])) {
			switch {
			case err != nil || list == nil:
			case len(*list) == mostHookURLs:
				f.More++
			default:
				*list = append(*list, HookFile{Path: file.Path, URL: file.URL})
			}
		}
	}
	return f
}

// run runs one hook, if the job has it, and notes how it ended.
func (h *hooked) run(ctx context.Context, key string, args []string, in *HookInput) error {
	if len(args) == 0 {
		return nil
	}
	data, err := json.Marshal(in)
	if err != nil {
		return err
	}
	if most := h.job.Hooks.Timeout; most > 0 {
		var end context.CancelFunc
		ctx, end = context.WithTimeoutCause(ctx, most,
			fmt.Errorf("it took longer than hooks.timeout = %s", count.Span(most)))
		defer end()
	}
	child := notify.Child{
		Args: args,
		In:   data,
		Env: []string{
			"MIRRORD_HOOK=" + in.Hook,
			"MIRRORD_JOB=" + in.Job,
			"MIRRORD_DIR=" + in.Dir,
			fmt.Sprint("MIRRORD_VERSION=", in.Version),
			"MIRRORD_VERDICT=" + in.Verdict,
		},
		LookupEnv: h.app.LookupEnv,
	}
	output, err := child.Run(ctx)
	log := h.app.Log.With("job", h.job.Name, "hook", key, "command", args[0])
	if err == nil {
		log.Info("hook ended", "output", output)
		delete(h.notes.Failed, key)
		return nil
	}
	what := err.Error()
	if cause := context.Cause(ctx); cause != nil {
		what = cause.Error()
	}
	if postpones(key, err) {
		log.Info("hook postponed the run", "output", output)
	} else {
		log.Warn("hook failed", "err", what, "output", output)
	}
	if h.notes.Failed == nil {
		h.notes.Failed = map[string]string{}
	}
	if first, _, _ := bytes.Cut([]byte(output), []byte("\n")); len(first) > 0 {
		what += ": " + string(first)
	}
	h.notes.Failed[key] = what
	return err
}

// hookLines says which hooks of a job failed when they ran last.
func hookLines(fact []byte) (lines []string) {
	var notes hookNotes
	if json.Unmarshal(fact, &notes) != nil {
		return nil // no hooks yet, or the next run reports the error
	}
	for _, key := range slices.Sorted(maps.Keys(notes.Failed)) {
		lines = append(lines, key+" failed: "+notes.Failed[key])
	}
	return lines
}

// PostponedRun is the report of a run that hooks.before did not want; that of any other error stays as it is.
func PostponedRun(run status.Run, err error) status.Run {
	if !errors.Is(err, errPostponed) {
		return run
	}
	run.Verdict, run.Cause = status.VerdictPartial, status.Postponed
	run.Reasons, run.Error = []string{err.Error()}, ""
	return run
}
