// SPDX-License-Identifier: Apache-2.0

package shared

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
	"time"

	"mirrord/store/disk"
	"mirrord/store/home"
)

// publicNames is the file of the host names that were ever at public addresses: lines "public NAME TIME", and
// "private NAME TIME" for a name that is to be forgotten; the last one of a name counts. It is text, and only
// appended to, so that several processes may write it at a time, and it outlives mirror.db. A line that a
// crash has cut lacks a whole time and does not count; each begins with a line feed, so that it spoils no
// other.
const publicNames = "public-names"

// PublicNames is the memory of a state for which host names were ever public. It is safe for concurrent use,
// and sees what other processes write.
type PublicNames struct {
	In *home.StateFolder

	mu    sync.Mutex
	names map[string]bool
	read  int64 // bytes of the file that names is made of
}

// WasPublic reports whether a name was ever kept as public, and not forgotten since.
func (n *PublicNames) WasPublic(name string) (bool, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	err := n.refresh()
	return n.names[name], err
}

// KeepPublic remembers that a name is public.
func (n *PublicNames) KeepPublic(name string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.refresh(); err != nil || n.names[name] {
		return err
	}
	err := n.append("public", name)
	n.names[name] = true // in this process even when the disk does not take it
	return err
}

// Forget lets a name be private again; had is false when it was not remembered.
func (n *PublicNames) Forget(name string) (had bool, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.refresh(); err != nil || !n.names[name] {
		return false, err
	}
	if err := n.append("private", name); err != nil {
		return true, err
	}
	delete(n.names, name)
	return true, nil
}

func (n *PublicNames) refresh() error {
	if n.names == nil {
		n.names = map[string]bool{}
	}
	fi, err := n.In.Root.Stat(publicNames)
	if errors.Is(err, fs.ErrNotExist) {
		if n.read > 0 { // it was removed
			n.names, n.read = map[string]bool{}, 0
		}
		return nil
	}
	if err != nil {
		return disk.Err("read "+publicNames, err)
	}
	if fi.Size() == n.read {
		return nil
	}
	data, err := n.In.Root.ReadFile(publicNames)
	if err != nil {
		return disk.Err("read "+publicNames, err)
	}
	names := map[string]bool{}
	for line := range strings.Lines(string(data)) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		name, at, _ := strings.Cut(rest, " ")
		if _, err := time.Parse(time.RFC3339, at); err != nil {
			continue
		}
		switch word {
		case "public":
			names[name] = true
		case "private":
			delete(names, name)
		}
	}
	n.names, n.read = names, int64(len(data))
	return nil
}

func (n *PublicNames) append(word, name string) (err error) {
	if strings.ContainsAny(name, " \t\r\n") {
		return fmt.Errorf("%q is no host name", name)
	}
	_, serr := n.In.Root.Lstat(publicNames)
	f, err := n.In.Root.OpenFile(publicNames, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o640)
	if err != nil {
		return disk.Err("write "+publicNames, err)
	}
	added, err := fmt.Fprintf(f, "\n%s %s %s\n", word, name, n.In.Now().UTC().Format(time.RFC3339))
	if fi, serr := f.Stat(); serr == nil && fi.Size() == n.read+int64(added) {
		n.read = fi.Size() // no other process has written: there is nothing to read again
	}
	if err == nil && !n.In.Volatile {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if errors.Is(serr, fs.ErrNotExist) && !n.In.Volatile {
		err = errors.Join(err, disk.SyncDir(n.In.Dir))
	}
	return disk.Err("write "+publicNames, err)
}
