// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/renameio/v2"

	"mirrord/app/env"
	"mirrord/app/jobs"
	"mirrord/app/shares"
	"mirrord/internal/regular"
	"mirrord/job"
	"mirrord/scheduler"
)

// Kinds of facts about job files.
const (
	kindJobs      = "jobs"      // jobsHead: which files the cluster has
	jobsHead      = "head"      // the key
	kindJobTexts  = "jobfile"   // digest of a text -> it
	kindJobsState = "jobsstate" // node -> NodeJobs, while its files are not those of the cluster
)

// SharedJobs are the job files of a cluster.
type SharedJobs struct {
	Node    string        `json:"node"` // whose files they were
	At      time.Time     `json:"at"`
	Files   shares.JobSet `json:"files"`
	Private []string      `json:"private,omitempty"` // those that not everybody on that machine may read

	Profiles shares.JobSet `json:"profiles"` // of programs; nil: of a node that does not hand them in
}

// ofProfiles begins the name of a profile among those of jobs.
const ofProfiles = "profiles.d/"

// all returns files and profiles. When the cluster says nothing of profiles, those stay that it had.
func (s *SharedJobs) all(base shares.JobSet) shares.JobSet {
	out := shares.JobSet{}
	maps.Copy(out, s.Files)
	for name, tag := range s.Profiles {
		out[ofProfiles+name] = tag
	}
	if s.Profiles == nil {
		_, profiles := split(base)
		for name, tag := range profiles {
			out[ofProfiles+name] = tag
		}
	}
	return out
}

// same reports whether two have the same files and profiles.
func (s *SharedJobs) same(o *SharedJobs) bool {
	return maps.Equal(s.Files, o.Files) && maps.Equal(s.Profiles, o.Profiles)
}

// split returns the files of jobs, and the profiles by their own names.
func split(all shares.JobSet) (files, profiles shares.JobSet) {
	files, profiles = shares.JobSet{}, shares.JobSet{}
	for name, tag := range all {
		if p, is := strings.CutPrefix(name, ofProfiles); is {
			profiles[p] = tag
		} else {
			files[name] = tag
		}
	}
	return files, profiles
}

// NodeJobs is how the job files of a node differ from those of the cluster.
type NodeJobs struct {
	State shares.JobsState `json:"state"`
	Jobs  []string         `json:"jobs,omitempty"`  // whose files were edited there
	Error string           `json:"error,omitempty"` // why they cannot be compared or replaced
}

// ClusterJobs keeps the job files of a machine the same as those of its cluster.
type ClusterJobs struct {
	App    *env.App
	Facts  shares.Facts
	Node   string // the name of this one
	Source bool   // edits here are the cluster's at once
}

// JobsLook is how the job files of this machine stand to those of the cluster.
type JobsLook struct {
	NodeJobs
	Cluster *SharedJobs `json:"cluster,omitempty"` // missing: it has none
	Changed []string    `json:"changed,omitempty"` // jobs whose files were written, removed or handed in

	local shares.JobSet
	files map[string]*jobs.JobText
	base  shares.JobSet
}

// hasJobs reports whether there is a job file here.
func (l *JobsLook) hasJobs() bool {
	files, _ := split(l.local)
	return len(files) > 0
}

// errFacts says that what the nodes share is not known: the keepers do not answer.
var errFacts = errors.New("what the nodes of the cluster share cannot be read")

// Look compares. Nothing is changed, but that files which are the same are noted to be.
func (c *ClusterJobs) Look(ctx context.Context) (*JobsLook, error) {
	l := &JobsLook{local: shares.JobSet{}, files: map[string]*jobs.JobText{}}
	names, err := c.App.JobFiles()
	if e, ok := errors.AsType[*env.Error](err); err != nil && (!ok || e.Field != env.FieldJobs) {
		return nil, err
	}
	var unread []string // a directory, or what anybody may write: the status of the jobs says so
	for _, path := range append(names, c.profiles()...) {
		name := strings.TrimSuffix(filepath.Base(path), scheduler.Suffix)
		if !job.ValidName(name) {
			continue
		}
		if filepath.Dir(path) == scheduler.ProfilesDir(c.App.Jobs) {
			name = ofProfiles + name
		}
		t, err := jobs.ReadTextAt(path)
		if err != nil {
			unread = append(unread, name)
			continue
		}
		l.local[name], l.files[name] = t.Tag, t
	}
	head, err := c.Facts.Get(ctx, kindJobs, jobsHead)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errFacts, err)
	}
	if head != nil {
		l.Cluster = new(SharedJobs)
		if err := json.Unmarshal(head, l.Cluster); err != nil {
			return nil, fmt.Errorf("the job files of the cluster: %w", err)
		}
		for name := range l.Cluster.all(nil) { // which become names of files
			if !job.ValidName(strings.TrimPrefix(name, ofProfiles)) {
				return nil, fmt.Errorf("the job files of the cluster: %q cannot name a job", name)
			}
		}
	}
	state, err := c.App.State()
	if err != nil {
		return nil, err
	}
	text, err := regular.ReadSmall(filepath.Join(state, env.BaseFile))
	if err == nil {
		err = json.Unmarshal(text, &l.base)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", env.BaseFile, err)
	}
	for _, name := range unread { // neither edited nor removed
		if tag := l.base[name]; tag != "" && l.Cluster != nil {
			l.local[name] = tag
		}
	}
	var has shares.JobSet
	if l.Cluster != nil {
		has = l.Cluster.all(l.base)
	}
	if l.State, l.Jobs = shares.CompareJobs(l.local, l.base, has); l.State == shares.JobsSame &&
		!maps.Equal(l.base, l.local) {
		err = c.note(l.local)
	} else {
		err = nil
	}
	return l, err
}

// profiles returns the files of the profiles beside the job files.
func (c *ClusterJobs) profiles() (paths []string) {
	dir := scheduler.ProfilesDir(c.App.Jobs)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // there are none here, which the daemon finds, too
	}
	for _, e := range entries {
		if filepath.Ext(e.Name()) == scheduler.Suffix {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	return paths
}

// file is where a job file or a profile that is not here is to be.
func (c *ClusterJobs) file(name string) string {
	dir := c.App.Jobs
	if p, is := strings.CutPrefix(name, ofProfiles); is {
		dir, name = scheduler.ProfilesDir(dir), p
	}
	return filepath.Join(dir, name+scheduler.Suffix)
}

// note writes down which files were last the same.
func (c *ClusterJobs) note(base shares.JobSet) error {
	st, err := c.App.MakeState()
	if err != nil {
		return err
	}
	defer st.Close()
	text, err := json.Marshal(base)
	if err != nil {
		return err
	}
	return renameio.WriteFile(filepath.Join(st.Dir, env.BaseFile), text, 0o600)
}

// ErrJobsDiffer says that files were edited on two machines, or would be lost.
var ErrJobsDiffer = errors.New("job files differ")

// Push makes the files of this machine those of the cluster, when they are its last ones with changes. With
// again the files that were edited here count although the cluster has others since, and those of the cluster
// for all other jobs, which come here first.
func (c *ClusterJobs) Push(ctx context.Context, again bool) (*JobsLook, error) {
	l, err := c.Look(ctx)
	if err != nil {
		return nil, err
	}
	switch {
	case l.State == shares.JobsSame:
		return l, nil
	case !l.hasJobs() && !again:
		return nil, fmt.Errorf("%w: there is no job file in %s; all nodes would remove theirs", ErrJobsDiffer,
			c.App.Jobs)
	case l.State == shares.JobsBehind:
		return nil, fmt.Errorf("%w: nothing was edited here, and the cluster has newer files, of node %s",
			ErrJobsDiffer, l.Cluster.Node)
	case l.State == shares.JobsConflict && !again:
		return nil, fmt.Errorf("%w: edited here: %s; the cluster has other files since, of node %s",
			ErrJobsDiffer, strings.Join(l.Jobs, ", "), l.Cluster.Node)
	case l.State == shares.JobsConflict:
		others := slices.DeleteFunc(changedJobs(l.local, l.Cluster.all(l.base)), func(name string) bool {
			return slices.Contains(l.Jobs, name)
		})
		if err := c.bring(ctx, l, others); err != nil {
			return nil, err
		}
		head := l.Cluster
		if l, err = c.Look(ctx); err != nil {
			return nil, err
		}
		if l.Cluster = head; l.State == shares.JobsSame {
			return l, nil
		}
	}
	now := &SharedJobs{Node: c.Node, At: c.App.Clock().UTC().Truncate(time.Second)}
	now.Files, now.Profiles = split(l.local)
	for _, name := range slices.Sorted(maps.Keys(l.files)) {
		t := l.files[name]
		err := c.Facts.Change(kindJobTexts, t.Tag, func([]byte) ([]byte, error) { return t.Text, nil })
		if err != nil {
			return nil, err
		}
		if fi, err := os.Stat(t.File); err == nil && fi.Mode()&0o004 == 0 {
			now.Private = append(now.Private, name)
		}
	}
	err = c.Facts.Change(kindJobs, jobsHead, func(was []byte) ([]byte, error) {
		var old SharedJobs
		err := json.Unmarshal(was, &old)
		if was != nil && (err != nil || l.Cluster == nil || !old.same(l.Cluster)) {
			return nil, fmt.Errorf("%w: another machine has just changed those of the cluster", ErrJobsDiffer)
		}
		return json.Marshal(now)
	})
	if err != nil {
		return nil, err
	}
	if l.Cluster != nil {
		old := l.Cluster.all(l.base)
		l.Changed = changedJobs(l.local, old)
		if err := c.forget(old, l.local); err != nil {
			return nil, err
		}
	} else {
		l.Changed = slices.Sorted(maps.Keys(l.local))
	}
	l.Cluster, l.NodeJobs = now, NodeJobs{State: shares.JobsSame}
	return l, c.note(l.local)
}

// forget removes texts that the cluster needs no more.
func (c *ClusterJobs) forget(old, now shares.JobSet) error {
	needed := map[string]bool{}
	for _, tag := range now {
		needed[tag] = true
	}
	gone := func([]byte) ([]byte, error) { return nil, nil }
	for _, tag := range old {
		if needed[tag] {
			continue
		}
		if err := c.Facts.Change(kindJobTexts, tag, gone); err != nil {
			return err
		}
	}
	return nil
}

func changedJobs(a, b shares.JobSet) (names []string) {
	for name := range a {
		if a[name] != b[name] {
			names = append(names, name)
		}
	}
	for name := range b {
		if a[name] == "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Take copies the files of the cluster to here, if no file was edited here; with discard in any case. Files
// that are given up stay beside, as NAME.toml.mine.
func (c *ClusterJobs) Take(ctx context.Context, discard bool) (*JobsLook, error) {
	l, err := c.Look(ctx)
	if err != nil {
		return nil, err
	}
	switch {
	case l.State == shares.JobsSame:
		return l, nil
	case l.State == shares.JobsAlone:
		return nil, fmt.Errorf("%w: the cluster has none; mirrord cluster jobs push hands in those of a machine",
			ErrJobsDiffer)
	case l.State != shares.JobsBehind && !discard:
		return nil, fmt.Errorf("%w: edited here: %s", ErrJobsDiffer, strings.Join(l.Jobs, ", "))
	}
	all := l.Cluster.all(l.base)
	changed := changedJobs(l.local, all)
	if err := c.bring(ctx, l, changed); err != nil {
		return nil, err
	}
	l.Changed, l.NodeJobs = changed, NodeJobs{State: shares.JobsSame}
	return l, c.note(all)
}

// bring replaces files here by those of the cluster. Edited files are kept beside.
func (c *ClusterJobs) bring(ctx context.Context, l *JobsLook, names []string) error {
	texts, all := map[string][]byte{}, l.Cluster.all(l.base)
	for _, name := range names { // all of them first
		tag := all[name]
		if tag == "" {
			continue
		}
		text, err := c.Facts.Get(ctx, kindJobTexts, tag)
		if err != nil {
			return err
		}
		if sum := sha256.Sum256(text); text == nil || hex.EncodeToString(sum[:]) != tag {
			return fmt.Errorf("job %s: its file is no longer in the cluster: try again", name)
		}
		texts[name] = text
	}
	for _, name := range names {
		if slices.Contains(l.Jobs, name) && l.files[name] != nil {
			if err := keepAside(l.files[name]); err != nil {
				return err
			}
		}
		if err := c.replace(name, l, texts[name]); err != nil {
			return fmt.Errorf("job %s: %w", name, err)
		}
	}
	return nil
}

// keepAside keeps an edited file under a name that no daemon reads.
func keepAside(t *jobs.JobText) error {
	name := t.File + ".mine"
	for n := 2; ; n++ {
		f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = f.Write(t.Text)
			return errors.Join(err, f.Close())
		}
		if old, rerr := regular.ReadSmall(name); rerr == nil && bytes.Equal(old, t.Text) {
			return nil
		}
		if !errors.Is(err, fs.ErrExist) || n > 1000 {
			return err
		}
		name = fmt.Sprintf("%s.mine%d", t.File, n)
	}
}

// replace replaces a job file, if it is unchanged since it was compared, by a text; nil
// removes it.
func (c *ClusterJobs) replace(name string, l *JobsLook, text []byte) error {
	was := l.files[name]
	switch {
	case was == nil:
		path := c.file(name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		mode := fs.FileMode(0o644)
		if slices.Contains(l.Cluster.Private, name) {
			mode = 0o640
		}
		return jobs.WriteNewFile(path, text, mode)
	case text != nil:
		return jobs.ReplaceJob(was, text)
	}
	if last, err := scheduler.ReadText(was.File); err != nil || !bytes.Equal(last, was.Text) {
		return jobs.ErrJobMoved
	}
	return os.Remove(was.File)
}
