// SPDX-License-Identifier: Apache-2.0

package space

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"mirrord/internal/regular"
)

// Member is a mirror that belongs to a space.
type Member struct {
	Name    string
	Version int      // the published one
	Table   string   // digest of its phm.files, as phm.json has it
	Places  []string // what its scope surrounds: host and path of each prefix, or "*." and a domain
	Repair  bool     // its broken links lead to the last copies that mirrors of the space have
	Unknown bool     // what it has, or whether it belongs here, is not known now: it stays as it is
}

// Source is the published tree of a member, and what it knows of redirects.
type Source struct {
	Tree      regular.Root      // stays what it is until Close
	Folder    string            // the same, below the state
	Redirects map[string]string // from a URL to that of the file at the end of the chain, and a fragment
	Close     func() error

	// Gone lists the URLs that the site no longer has, and Last finds the newest copies of such: see
	// last.go. They are called for spaces with a mirror that repairs; nil: there are none.
	Gone func() ([]string, error)
	Last func(urls []string) (Lasts, error)
}

// Options say what a space is made of.
type Options struct {
	State   string // directory
	Name    string // of the space
	Members func() ([]Member, error)
	Open    func(name string) (*Source, error)
	Fresh   []string // mirrors that ran: where their redirects lead may have changed without a new version
	Damaged []string // mirrors of which Verify found something wrong: all of their files are looked at
	Log     *slog.Logger

	// Volatile leaves out every sync: what was done survives kill -9 but not loss of power.
	Volatile bool

	step func(what string) // called between two changes of the disk; tests stop the world there
}

// Refreshed is the result of Update.
type Refreshed struct {
	Mirrors []string          // that came, changed or left
	Pages   int               // that were written again
	Left    map[string]string // mirrors that stay in the space as they were, or not in it, with the reason
	Busy    bool              // another process updates the space, and does this too
}

// Update updates a space to the published versions of its members. One that cannot be read stays as it
// is, and so do the pages that link to it. When another call works on the same space, it does this
// one's work too, and this one returns immediately.
func Update(ctx context.Context, o Options) (r Refreshed, err error) {
	if o.step == nil {
		o.step = func(string) {}
	}
	root, err := regular.OpenRoot(o.State)
	if err != nil {
		return r, err
	}
	defer root.Close()
	d := &disk{root: root, name: o.Name}
	for _, f := range []string{filesFolder, notesFolder, bodiesFolder} {
		if err := root.MkdirAll(d.at(f), 0o755); err != nil {
			return r, fmt.Errorf("space %s: %w", o.Name, err)
		}
	}
	for {
		lock, err := d.lock()
		if err != nil {
			return r, fmt.Errorf("space %s: %w", o.Name, err)
		}
		if lock == nil {
			// The holder of the lock checks for this file after releasing it; if it was given back
			// before the file was there, the second try gets it.
			if err := d.ask(o.Fresh); err != nil {
				return r, fmt.Errorf("space %s: %w", o.Name, err)
			}
			if lock, err = d.lock(); err != nil || lock == nil {
				r.Busy = err == nil
				return r, err
			}
		}
		if err := d.pass(ctx, lock, &o, &r); err != nil {
			return r, fmt.Errorf("space %s: %w", o.Name, err)
		}
		if _, err := root.Lstat(d.at(againName)); err != nil {
			return r, gone(err)
		}
	}
}

// lock takes the lock of the space; nil: another process has it.
func (d *disk) lock() (*os.File, error) {
	f, err := d.root.OpenFile(d.at(lockName), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, nil
		}
		return nil, err
	}
	return f, nil
}

// ask leaves a request for the holder of the lock.
func (d *disk) ask(fresh []string) error {
	f, err := d.root.OpenFile(d.at(againName), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(strings.Join(fresh, "\n") + "\n")
	return errors.Join(err, f.Close())
}

// asked takes the word that was left.
func (d *disk) asked() (fresh []string, err error) {
	data, err := d.root.ReadFile(d.at(againName), mostRead)
	if err != nil {
		return nil, gone(err)
	}
	return strings.Fields(string(data)), d.root.Remove(d.at(againName))
}

// todo is what must be done again when it is there: an Update was cut off.
type todo struct {
	Mirrors []string            `json:"mirrors"` // their files in the space may be of two versions
	Pages   map[string][]uint64 `json:"pages"`   // documents of others that may link to missing files
}

// update is one pass.
type update struct {
	*disk
	*Options
	seed    seed
	mirrors mirrorSet
	dirty   marks
	half    map[string]bool // mirrors of which nothing in the space is certain
	late    map[string]int  // of how many files of a mirror the paths are taken
	repairs bool            // a mirror repairs its broken links
	page    pages
	report  *Refreshed
}

// marks are documents to be made again, by mirror.
type marks map[string]map[uint64]bool

func (a marks) add(mirror string, doc uint64) {
	if a[mirror] == nil {
		a[mirror] = map[uint64]bool{}
	}
	a[mirror][doc] = true
}

// pass updates the space, and gives its lock back.
func (d *disk) pass(ctx context.Context, lock *os.File, o *Options, r *Refreshed) (err error) {
	defer lock.Close()
	asked, err := d.asked()
	if err != nil {
		return err
	}
	u := &update{
		disk:    d,
		Options: o,
		mirrors: mirrorSet{},
		dirty:   marks{},
		half:    map[string]bool{},
		late:    map[string]int{},
		report:  r,
	}
	r.Left = map[string]string{}
	defer u.mirrors.close()
	members, err := o.Members()
	if err != nil {
		return err
	}
	if err := u.load(); err != nil {
		return err
	}
	for _, name := range o.Damaged {
		u.half[name] = u.mirrors[name] != nil
	}
	is := map[string]*Member{}
	for i := range members {
		is[members[i].Name] = &members[i]
		u.repairs = u.repairs || members[i].Repair
		if m := u.mirrors[members[i].Name]; members[i].Unknown && m != nil {
			u.repairs = u.repairs || m.Repair
		}
	}
	names := slices.Collect(maps.Keys(u.mirrors))
	for name := range is {
		if u.mirrors[name] == nil {
			names = append(names, name)
		}
	}
	// First those whose pages may lead to what no index knows.
	slices.Sort(names)
	slices.SortStableFunc(names, func(a, b string) int {
		switch {
		case u.half[a] == u.half[b]:
			return 0
		case u.half[a]:
			return -1
		}
		return 1
	})
	fresh := append(asked, o.Fresh...)
	for _, name := range fresh { // of what the mirror has, stale pages can be made again
		if m := u.mirrors[name]; m != nil && len(m.Stale) > 0 {
			u.half[name] = true
		}
	}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		if n := is[name]; n != nil && n.Unknown {
			continue
		}
		m := u.mirrors[name]
		certain := m != nil && !u.half[name] && !slices.Contains(fresh, name)
		if certain && m.is(is[name]) && (is[name] == nil || m.Asked == u.repairs) {
			continue
		}
		if err := u.mirror(ctx, name, is[name]); err != nil {
			return err
		}
	}
	if err := u.lastCopies(ctx, is); err != nil {
		return err
	}
	if err := u.mirrorsAgain(ctx, is); err != nil {
		return err
	}
	if err := u.finish(ctx); err != nil {
		return err
	}
	if len(u.mirrors) == 0 && len(r.Left) == 0 && !TakesAll(o.State, o.Name) {
		return u.dissolve()
	}
	return u.tellLeft()
}

// tellLeft keeps which mirrors stay as they were, and logs the changes.
func (u *update) tellLeft() error {
	told := map[string]string{}
	if _, err := u.readJSON(u.at(leftName), &told); err != nil && !errors.Is(err, errIndex) {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(u.report.Left)) {
		if why := u.report.Left[name]; told[name] != why {
			u.Log.Warn("a mirror stays in its space as it was", "space", u.name, "job", name, "err", why)
		}
	}
	if maps.Equal(told, u.report.Left) {
		return nil
	}
	return u.writeJSON(u.at(leftName), u.report.Left)
}

// is reports whether a mirror in the space is that of a member; nil for no member.
func (m *mirror) is(n *Member) bool {
	if n == nil {
		return m.Gone
	}
	return !m.Gone && m.Version == n.Version && m.Table == n.Table && m.Repair == n.Repair &&
		slices.Equal(m.Places, n.Places)
}

// load reads the records of the space.
func (u *update) load() error {
	data, err := u.root.ReadFile(u.at(seedName), mostRead)
	if err != nil || len(data) != 8 {
		if gone(err) != nil {
			return err
		}
		data = make([]byte, 8)
		rand.Read(data) // never fails
		if err := u.write(u.at(seedName), data); err != nil {
			return err
		}
	}
	u.seed = seedOf(data)
	names, err := u.names(notesFolder, ".json")
	if err != nil {
		return err
	}
	for _, name := range names {
		m, err := u.disk.load(name)
		if errors.Is(err, errIndex) {
			u.Log.Warn("what a space knows of a mirror is damaged and made again",
				"space", u.name, "job", name, "err", err)
			m, err = &mirror{note: note{Name: name}}, nil
			u.half[name] = true
		}
		if err != nil {
			return err
		}
		u.mirrors[name] = m
		for p := range m.Stale {
			if h, ok := m.docAt(p, u.seed); ok {
				u.dirty.add(name, h)
			}
		}
	}
	var t todo
	if ok, err := u.readJSON(u.at(todoName), &t); !ok && (err == nil) {
		return nil
	} else if err != nil { // it was cut off while it was written, or damaged: nothing is certain
		for name := range u.mirrors {
			u.half[name] = true
		}
		return nil
	}
	for _, name := range t.Mirrors {
		u.half[name] = true
		if u.mirrors[name] == nil {
			u.mirrors[name] = &mirror{note: note{Name: name}}
		}
	}
	for name, docs := range t.Pages {
		for _, doc := range docs {
			u.dirty.add(name, doc)
		}
	}
	return nil
}

// writeTodo notes what would have to be done again.
func (u *update) writeTodo(mirror string) error {
	t := todo{Mirrors: []string{mirror}, Pages: map[string][]uint64{}}
	for name, half := range u.half {
		if half && name != mirror {
			t.Mirrors = append(t.Mirrors, name)
		}
	}
	for name, docs := range u.dirty {
		t.Pages[name] = slices.Sorted(maps.Keys(docs))
	}
	if err := u.writeJSON(u.at(todoName), &t); err != nil {
		return err
	}
	return u.sync()
}

// sync makes what was written survive loss of power, in the order in which it was written.
func (u *update) sync() error {
	if u.Volatile {
		return nil
	}
	f, err := u.root.Open(u.at())
	if err != nil {
		return err
	}
	defer f.Close()
	return unix.Syncfs(int(f.Fd()))
}

// finish makes the remaining pages again, drops files without links to them, and describes the space.
func (u *update) finish(ctx context.Context) error {
	left := 0
	for _, docs := range u.dirty {
		left += len(docs)
	}
	if left > 0 {
		if err := u.remake(ctx); err != nil {
			return err
		}
	}
	if err := u.release(); err != nil {
		return err
	}
	if err := u.commitPages(); err != nil {
		return err
	}
	if _, err := u.root.Lstat(u.at(todoName)); err == nil {
		if err := u.sync(); err != nil {
			return err
		}
		if !u.uncertain() {
			if err := u.root.Remove(u.at(todoName)); err != nil {
				return err
			}
		}
	}
	return u.describe()
}

// uncertain reports whether a mirror that an Update left half done could not be updated.
func (u *update) uncertain() bool {
	for name, half := range u.half {
		if half && u.mirrors[name] != nil {
			return true
		}
	}
	return false
}

// dissolve removes a space without mirrors.
func (u *update) dissolve() error {
	if err := u.root.RemoveAll(u.at()); err != nil {
		return err
	}
	u.root.Remove(path.Dir(u.at())) // unless there are others
	return nil
}
