// SPDX-License-Identifier: Apache-2.0

package spaces

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"mirrord/app/env"
	"mirrord/app/files"
	"mirrord/internal/regular"
	"mirrord/job"
	"mirrord/mirror/render"
	"mirrord/phm"
	"mirrord/phm/space"
	"mirrord/site"
	"mirrord/store"
	"mirrord/store/record"
)

// SyncSpaces updates all spaces of a state: to the jobs as their files say, and to the published versions.
// ran are the mirrors that ran or changed. It costs a look at the state when there are no spaces, and
// another at each mirror of a space. No mirror is changed or waited for; what cannot be done now is said,
// and done by the next call.
func SyncSpaces(ctx context.Context, a *env.App, st *store.State, ran ...string) {
	if err := UpdateSpaces(ctx, a, st, ran); err != nil && ctx.Err() == nil {
		a.Log.Error("a space is not up to date; the next run continues", "err", err)
	}
}

// ExplainSpace says where links to a URL from the pages of a job lead in its space, and why; "" without one.
func ExplainSpace(st *store.State, j *job.Job, url string) (string, error) {
	name := SpaceOf(st, j)
	if name == "" {
		return "", nil
	}
	lead, err := space.Explain(st.Dir, name, j.Name, url)
	if errors.Is(err, fs.ErrNotExist) {
		return "space " + name + " has not been made yet", nil
	} else if err != nil {
		return "", err
	}
	if lead.Leads == "" {
		if lead.Own {
			return "links to it stay in the mirror: " + lead.Why, nil
		}
		return "links to it lead to the site: " + lead.Why, nil
	}
	also := ""
	if len(lead.Others) > 0 {
		also = " (held too by " + strings.Join(lead.Others, ", ") + ")"
	}
	return "links to it lead to " + lead.Leads + ": " + lead.Why + also, nil
}

// LookedSpace is a space, and its errors.
type LookedSpace struct {
	space.Overview
	Findings []space.Discrepancy `json:"findings,omitempty"`
}

// mostWanted is how many hosts the description of a space lists.
const mostWanted = 20

// SpaceRequest asks about spaces.
type SpaceRequest struct {
	Name   string // "" is all
	Update bool   // bring them up to date first; with Verify, also where files are damaged
	Verify bool
	Brief  bool // leave out which hosts are wanted
}

// Spaces describes the spaces of a state.
func Spaces(ctx context.Context, a *env.App, r SpaceRequest) ([]LookedSpace, error) {
	open := a.MustState
	if r.Update {
		open = a.MustWriteState
	}
	st, err := open()
	if err != nil {
		return nil, err
	}
	defer st.Close()
	if r.Update {
		if err := UpdateSpaces(ctx, a, st, nil); err != nil {
			return nil, err
		}
	}
	names, err := space.Names(st.Dir)
	if r.Name != "" {
		names, err = []string{r.Name}, KnownSpace(st, r.Name)
	}
	if err != nil {
		return nil, err
	}
	out := []LookedSpace{}
	for _, name := range names {
		if r.Update && r.Verify {
			if err := MendSpace(ctx, a, st, name); err != nil {
				return nil, err
			}
		}
		most := mostWanted
		if r.Brief {
			most = 0
		}
		o, err := space.Look(st.Dir, name, most)
		if err != nil {
			return nil, err
		}
		looked := LookedSpace{Overview: *o}
		looked.Dir = filepath.Join(st.Dir, looked.Dir)
		if r.Verify {
			if looked.Findings, err = space.Verify(st.Dir, name, ""); err != nil {
				return nil, err
			}
		}
		out = append(out, looked)
	}
	return out, nil
}

// MendSpace makes the files of mirrors again of which something in their space is wrong.
func MendSpace(ctx context.Context, a *env.App, st *store.State, name string) error {
	findings, err := space.Verify(st.Dir, name, "")
	if err != nil {
		return err
	}
	o, err := space.Look(st.Dir, name, 0)
	if err != nil {
		return err
	}
	var damaged []string
	for _, m := range o.Mirrors {
		if len(m.Stale) > 0 {
			damaged = append(damaged, m.Name)
		}
	}
	for _, f := range findings {
		damaged = append(damaged, f.Mirror)
	}
	if len(damaged) == 0 {
		return nil
	}
	_, err = UpdateSpace(ctx, a, st, name, nil, damaged)
	return err
}

// HasSpaces reports whether the state has spaces.
func HasSpaces(a *env.App) bool {
	dir, err := a.State()
	return err == nil && env.Exists(filepath.Join(dir, space.Folder))
}

// StateHasSpaces reports whether a state has spaces.
func StateHasSpaces(st *store.State) bool { return env.Exists(filepath.Join(st.Dir, space.Folder)) }

// UpdateSpaces is syncSpaces with its error.
func UpdateSpaces(ctx context.Context, a *env.App, st *store.State, ran []string) error {
	files, err := a.JobsDir().Read()
	if err != nil {
		return err
	}
	names, err := space.Names(st.Dir)
	if err != nil {
		return err
	}
	for _, f := range files {
		if f.Job != nil && f.Job.Space != "" {
			names = append(names, f.Job.Space)
		}
	}
	slices.Sort(names)
	var failed error
	for _, name := range slices.Compact(names) {
		_, err := UpdateSpace(ctx, a, st, name, ran, nil)
		failed = errors.Join(failed, err)
	}
	return failed
}

func UpdateSpace(
	ctx context.Context, a *env.App, st *store.State, name string, ran, damaged []string,
) (space.Refreshed, error) {
	return space.Update(ctx, space.Options{
		State:   st.Dir,
		Name:    name,
		Damaged: damaged,
		Members: func() ([]space.Member, error) { return membersOf(a, st, name) },
		Open: func(mirror string) (*space.Source, error) {
			src, err := SpaceSource(st, mirror)
			if err == nil {
				done := src.Close
				src.Close = func() error { return errors.Join(done(), os.RemoveAll(lastFolder(st, name))) }
				src.Gone = func() ([]string, error) { return goneOf(st, mirror) }
				src.Last = func(urls []string) (space.Lasts, error) { return lastOf(st, name, mirror, urls) }
			}
			return src, err
		},
		Fresh: ran,
		Log:   a.Log,
	})
}

// membersOf are the mirrors of a space: those of its jobs that have a published version. A job whose file
// is refused stays where it is, and so does a mirror whose tree cannot be read.
func membersOf(a *env.App, st *store.State, name string) (members []space.Member, err error) {
	files, err := a.JobsDir().Read()
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		if f.Job != nil && SpaceOf(st, f.Job) != name {
			continue
		}
		m := space.Member{Name: f.Name, Unknown: true}
		if f.Job != nil {
			meta, err := render.PublishedMeta(st, f.Name)
			if errors.Is(err, record.ErrNoVersion) || errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err == nil {
				m = space.Member{
					Name:    f.Name,
					Version: meta.Version,
					Table:   meta.TableSum,
					Places:  placesOf(f.Job),
					Repair:  f.Job.Repair,
				}
			}
		}
		members = append(members, m)
	}
	return members, nil
}

// SpaceOf is the space of a job: the one that it names, else the one to which all belong, if there is one.
// A job with credentials names its own, because a reader of a space reads all of it.
func SpaceOf(st *store.State, j *job.Job) string {
	if j.Space != "" || !StateHasSpaces(st) || j.Auth.Given() {
		return j.Space
	}
	names, err := space.Names(st.Dir)
	i := slices.IndexFunc(names, func(n string) bool { return space.TakesAll(st.Dir, n) })
	if err != nil || i < 0 {
		return ""
	}
	return names[i]
}

// placesOf is what the scope of a job surrounds, as a space compares it.
func placesOf(j *job.Job) (places []string) {
	for _, u := range j.Seeds() {
		switch j.Scope.Kind {
		case "host":
			places = append(places, u.Host()+"/")
		case "domain":
			places = append(places, "*."+u.RegistrableDomain())
		case "directory":
			places = append(places, u.Host()+u.Dir())
		}
	}
	for _, p := range j.Scope.Prefixes {
		if u, _, err := site.Parse(p); err == nil {
			places = append(places, u.Host()+u.RequestURI())
		}
	}
	slices.Sort(places)
	return slices.Compact(places)
}

// SpaceSource opens the published tree of a mirror for its space, also while a run writes the mirror.
func SpaceSource(st *store.State, name string) (_ *space.Source, err error) {
	s, err := st.ViewSite(name)
	if err != nil {
		return nil, err
	}
	defer env.Close(&err, s)
	tree, err := s.Trees.Hold()
	if err != nil {
		return nil, err
	}
	src := &space.Source{Tree: tree.Root, Close: tree.Close}
	src.Folder, err = treeFolder(st, name, tree.Root)
	if err == nil {
		src.Redirects, err = endsOf(s, tree.Root)
	}
	if err != nil {
		return nil, errors.Join(err, tree.Close())
	}
	return src, nil
}

// treeFolder is where a published tree lies, below the state.
func treeFolder(st *store.State, name string, tree regular.Root) (string, error) {
	to, err := os.Readlink(filepath.Join(st.Dir, "sites", name, "current"))
	if err != nil {
		return "", err
	}
	folder := path.Join("sites", name, to)
	named, err := os.Stat(filepath.Join(st.Dir, folder))
	if err != nil {
		return "", err
	}
	held, err := tree.Stat(".")
	if err == nil && !os.SameFile(named, held) {
		err = errors.New("another version is being published")
	}
	return folder, err
}

// endsOf are the redirects that a published version knows, each with the end of its chain, as in
// space.Source.
func endsOf(s *store.Site, tree regular.Root) (map[string]string, error) {
	meta, err := phm.OpenMeta(tree.FS())
	if err != nil {
		return nil, err
	}
	ends := map[string]string{}
	err = files.EachRedirect(s, max(meta.Version, 1), func(from site.URL, to *files.Redirected) {
		end := to.URL
		if to.Part != "" {
			end += "#" + to.Part
		}
		ends[from.String()] = end
	})
	if errors.Is(err, record.ErrNoVersion) {
		err = nil // nothing but the tree is known
	}
	return ends, err
}

// KnownSpace returns an error when a state has no such space.
func KnownSpace(st *store.State, name string) error {
	names, err := space.Names(st.Dir)
	if err == nil && !slices.Contains(names, name) {
		err = env.Usagef("no space %q: a job names its own with the key space", name)
	}
	return err
}
