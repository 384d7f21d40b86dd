// SPDX-License-Identifier: Apache-2.0

package depot

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"mirrord/cluster/objects"
	"mirrord/internal/regular"
	"mirrord/store"
	"mirrord/store/travel"
)

// SharedName is the name under which a depot keeps what belongs to no site: mirror.db and other files of the
// state's folder, and the job files. No site has it.
const SharedName = "~shared"

// Folders of the files in the manifest.
const (
	sharedState = "state/"
	sharedJobs  = "jobs/"
	jobSuffix   = ".toml"

	sharedProfiles = "profiles/"
)

// sharedDB is replaced by nothing: it is fetched only where it is missing.
const sharedDB = sharedState + "mirror.db"

// sharedNote is what a machine keeps of the shared files: as note, with the digests of the files.
type sharedNote struct {
	note
	Digests map[string]SHA256 `json:"digests"`
}

// Folders are those of the files beside a state. They may be missing. A job file that is in none of those of
// the jobs goes into the first, whose file wins of two of one name.
type Folders struct {
	Jobs     []string
	Profiles string
}

// CheckinShared puts the files of a state that belong to no site, and those of the folders, into the depot.
func (d *Depot) CheckinShared(
	ctx context.Context, st *store.State, beside Folders, again bool,
) (_ *CheckedIn, err error) {
	defer func() { err = wrapped("check in jobs and shared files", err) }()
	files, done, err := travel.OpenShared(st.StateFolder, st.Shared)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, done()) }()
	u := &unit{name: SharedName}
	for _, f := range files {
		f.Name = sharedState + f.Name
		u.files = append(u.files, f)
	}
	paths, err := beside.files()
	if err != nil {
		return nil, err
	}
	for name, path := range paths {
		f, fi, err := regular.OpenInfo(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		u.files = append(u.files, travel.File{Name: name, Info: fi, File: f})
	}
	slices.SortFunc(u.files, func(a, b travel.File) int { return strings.Compare(a.Name, b.Name) })
	known, err := readSharedNotes(st.Dir)
	if err != nil {
		return nil, err
	}
	now := &sharedNote{Digests: map[string]SHA256{}}
	if was := known[d.Cluster]; was != nil {
		u.known, now.Digests = &was.note, was.Digests
	}
	u.note = func(n *note) error {
		if now.note = *n; n.Next == nil { // the pointer was moved
			if now.Digests, err = digestsOf(u.files); err != nil {
				return err
			}
		}
		known[d.Cluster] = now
		return writeNotesIn(st.Dir, known)
	}
	return d.checkin(ctx, u, again)
}

// digestsOf returns the digests of files, by name.
func digestsOf(files []travel.File) (map[string]SHA256, error) {
	out := map[string]SHA256{}
	for i := range files {
		f := &files[i]
		h := sha256.New()
		if _, err := io.Copy(h, io.NewSectionReader(f, 0, f.Size())); err != nil {
			return nil, err
		}
		out[f.Name] = SHA256(h.Sum(nil))
	}
	return out, nil
}

// files returns the paths of the files, by their names in the manifest.
func (f Folders) files() (map[string]string, error) {
	paths := map[string]string{}
	add := func(in, dir string) error {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for _, e := range entries {
			if strings.HasSuffix(e.Name(), jobSuffix) && e.Name()[0] != '.' {
				paths[in+e.Name()] = filepath.Join(dir, e.Name())
			}
		}
		return nil
	}
	for _, dir := range slices.Backward(f.Jobs) {
		if err := add(sharedJobs, dir); err != nil {
			return nil, err
		}
	}
	return paths, add(sharedProfiles, f.Profiles)
}

func readSharedNotes(dir string) (map[string]*sharedNote, error) {
	return readNotesIn[sharedNote](filepath.Join(dir, travel.DepotNotes))
}

// CheckedOutShared says what became of the shared files.
type CheckedOutShared struct {
	Sequence uint64   `json:"sequence"`
	Files    []string `json:"files"` // that were written here
	Kept     []string `json:"kept"`  // that differ in the depot, and were changed here: they stay
}

// CheckoutShared fetches the shared files and those of the folders. A file that was changed here since the
// last check-in or check-out stays as it is, and so does every mirror.db. discard replaces the former.
// Nothing is removed. own is called between the files outside of the state's folder and those in it, which
// can belong to another user.
func (d *Depot) CheckoutShared(
	ctx context.Context, dir string, beside Folders, discard bool, own func() error,
) (_ *CheckedOutShared, err error) {
	defer func() { err = wrapped("check out jobs and shared files", err) }()
	p, _, err := d.pointer(ctx, SharedName)
	if err != nil {
		return nil, err
	}
	m, err := readManifest(ctx, d.Store, p)
	if err != nil {
		return nil, err
	}
	notes, err := readSharedNotes(dir)
	if err != nil {
		return nil, err
	}
	known := notes[d.Cluster]
	now := &sharedNote{
		note:    note{Sequence: p.Sequence, Checkin: p.Checkin},
		Digests: map[string]SHA256{},
	}
	out := &CheckedOutShared{Sequence: p.Sequence, Files: []string{}, Kept: []string{}}
	for _, inside := range []bool{false, true} {
		if inside {
			if err := own(); err != nil {
				return nil, err
			}
		}
		for i := range m.Files {
			f := &m.Files[i]
			to, err := sharedPlace(f.Name, dir, beside)
			if err != nil {
				return nil, err
			}
			if strings.HasPrefix(to, dir+string(filepath.Separator)) != inside {
				continue
			}
			digest, done, err := sharedFile(ctx, d.Store, m, f, to, known, discard)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", f.Name, err)
			}
			now.Digests[f.Name] = digest
			switch done {
			case written:
				out.Files = append(out.Files, to)
			case differs:
				out.Kept = append(out.Kept, to)
			}
		}
	}
	notes[d.Cluster] = now
	return out, writeNotesIn(dir, notes)
}

// sharedPlace is where a file of the manifest goes.
func sharedPlace(name, dir string, beside Folders) (string, error) {
	base := path.Base(name)
	toml := strings.HasSuffix(base, jobSuffix)
	switch {
	case base[0] == '.':
	case name == sharedState+base:
		return filepath.Join(dir, base), nil
	case name == sharedJobs+base && toml:
		for _, in := range beside.Jobs {
			at := filepath.Join(in, base)
			if _, err := os.Lstat(at); err == nil {
				return at, nil
			}
		}
		return filepath.Join(beside.Jobs[0], base), nil
	case name == sharedProfiles+base && toml:
		return filepath.Join(beside.Profiles, base), nil
	}
	return "", fmt.Errorf("%w: %q is no file that sites share", ErrDamaged, name)
}

// sharedOutcome is what became of one file.
type sharedOutcome int

const (
	stays sharedOutcome = iota
	written
	differs
)

// sharedFile fetches one file. The digest is that of the file in the depot.
func sharedFile(
	ctx context.Context, from objects.Store, m *Manifest, f *File, to string, known *sharedNote, discard bool,
) (digest SHA256, done sharedOutcome, err error) {
	local, lerr := regular.Read(to, mostNotes)
	if lerr != nil && !errors.Is(lerr, fs.ErrNotExist) {
		return digest, stays, lerr
	}
	if lerr == nil && f.Name == sharedDB {
		return digest, stays, nil
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return digest, stays, err
	}
	all, pieces, err := f.inMemory(m, mostNotes)
	if err == nil {
		err = fetch(ctx, from, pieces)
	}
	if err != nil {
		return digest, stays, err
	}
	digest = digestOf(all)
	if lerr == nil {
		here := digestOf(local)
		clean := discard || (known != nil && known.Digests[f.Name] == here)
		switch {
		case here == digest:
			return digest, stays, nil
		case !clean:
			return digest, differs, nil
		}
	}
	mode := fs.FileMode(f.Mode)&0o644 | 0o600
	if f.Name == sharedDB {
		mode = 0o600
	}
	file, err := os.CreateTemp(filepath.Dir(to), "."+filepath.Base(to)+".arriving-*")
	if err != nil {
		return digest, stays, err
	}
	aside := file.Name()
	defer os.Remove(aside)
	_, err = file.Write(all)
	if err := errors.Join(err, file.Chmod(mode), file.Sync(), file.Close()); err != nil {
		return digest, stays, err
	}
	if lerr != nil { // so that nothing that came meanwhile is replaced
		return digest, written, os.Link(aside, to)
	}
	return digest, written, os.Rename(aside, to)
}

// broughtName is a file of the state's folder that stays on its machine.
const broughtName = ".brought.json"

// Renamed notes that a site is about to get another name, under which it was never in a depot. What a depot
// has under that name is another mirror. The old name is to be removed: see Removals.
func Renamed(st *store.State, from, to string) error {
	notes := filepath.Join(st.Dir, "sites", from, travel.DepotNotes)
	if _, err := os.Lstat(notes); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := Removed(st, from, to); err != nil {
		return err
	}
	file := filepath.Join(st.Dir, broughtName)
	all, err := readNotesIn[[]string](file)
	if err != nil {
		return err
	}
	for _, names := range all {
		if !slices.Contains(*names, to) {
			*names = append(*names, to)
		}
	}
	if len(all) > 0 { // in place: the file is the daemon's, and this may be root
		b, err := json.Marshal(all)
		if err == nil {
			err = os.WriteFile(file, b, 0o600)
		}
		if err != nil {
			return err
		}
	}
	return os.Remove(notes)
}

// Strangers returns the sites that were in a state when it met this depot for the first time, and that it
// has not checked in or out since. They are of another cluster, or of a machine by itself: what the depot
// has under their names are other mirrors.
func (d *Depot) Strangers(st *store.State) (map[string]bool, error) {
	file := filepath.Join(st.Dir, broughtName)
	all, err := readNotesIn[[]string](file)
	if err != nil {
		return nil, err
	}
	names := all[d.Cluster]
	if names == nil {
		sites, err := st.Sites()
		if err != nil {
			return nil, err
		}
		if names = &sites; sites == nil {
			names = &[]string{} // which is not the same in JSON
		}
		all[d.Cluster] = names
		if err := writeJSON(file, all); err != nil {
			return nil, err
		}
	}
	out := map[string]bool{}
	for _, name := range *names {
		notes, err := readNotes(st, name)
		if err != nil {
			return nil, err
		}
		if notes[d.Cluster] == nil {
			out[name] = true
		}
	}
	return out, nil
}

// Removals returns the sites that were removed from a state, or renamed there, and that the depot may have
// still.
func (d *Depot) Removals(st *store.State) (sites []string, err error) {
	all, err := st.Shared.All(kindRemoval)
	for site, v := range all {
		if readRemovals(v)[d.Cluster] != nil {
			sites = append(sites, site)
		}
	}
	slices.Sort(sites)
	return sites, err
}

// FinishRemoval removes from the depot a site that was removed here, or renamed, and reports whether it did.
// A site that another machine has checked in since stays. As long as the site is still here, and as long as
// the depot lacks the new name of one that was renamed, nothing is done.
func (d *Depot) FinishRemoval(ctx context.Context, st *store.State, site string) (done bool, err error) {
	all, err := st.Shared.All(kindRemoval)
	r := readRemovals(all[site])[d.Cluster]
	if err != nil || r == nil {
		return false, err
	}
	if here, err := readNotes(st, site); err != nil || here[d.Cluster] != nil {
		return false, err // it was interrupted: the same command continues
	}
	err = Remove(ctx, d, site, func(p *Pointer) error {
		if n := r.Known.at(p); n == nil || n.Checkin != p.Checkin {
			return ErrDiverged
		}
		if r.As == "" {
			return nil
		}
		_, _, err := d.pointer(ctx, r.As)
		if errors.Is(err, ErrUnknown) {
			return errLater
		}
		return err
	})
	switch {
	case errors.Is(err, errLater):
		return false, nil
	case err != nil && !errors.Is(err, ErrUnknown) && !errors.Is(err, ErrDiverged):
		return false, fmt.Errorf("remove %s from the depot: %w", site, err)
	}
	return err == nil, st.Shared.Change(kindRemoval, site, func(v []byte) ([]byte, error) {
		all := readRemovals(v)
		if delete(all, d.Cluster); len(all) == 0 {
			return nil, nil
		}
		return json.Marshal(all)
	})
}
