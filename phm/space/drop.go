// SPDX-License-Identifier: Apache-2.0

package space

import (
	"bytes"
	"fmt"
	"html/template"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"mirrord/internal/regular"
	"mirrord/phm"
	"mirrord/relocate"
)

// dropSuffix is of the file that says since when nothing of a mirror may stay in the space.
const dropSuffix = ".drop"

// Drop notes that nothing of a mirror may stay in its spaces once it is no longer a member of them: the next
// Update replaces each file to which pages link that cannot be made again by a page that says so. A mirror
// that becomes a member later is not concerned.
func Drop(state, mirror string, now time.Time) error {
	return eachSpace(state, func(d *disk) (bool, error) {
		if _, err := d.root.Lstat(d.note(mirror, ".json")); err != nil {
			return true, nil
		}
		since := now.UTC().Format(time.DateOnly) + "\n"
		if err := d.root.WriteFile(d.note(mirror, dropSuffix), []byte(since), 0o644); err != nil {
			return false, fmt.Errorf("space %s: %w", d.name, err)
		}
		return true, nil
	})
}

// noticePage takes the place of a file of a mirror that was removed.
const noticePage = `<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="robots" content="noindex">
<title>This mirror was removed</title>
<h1>This mirror was removed</h1>
<p>The mirror <b>{{.Name}}</b> was removed on {{.Since}}, with the file that was here.
{{with .URL}}<p>On the site it was <a href="{{.}}" rel="noreferrer">{{.}}</a>
{{end}}<p><a href="{{.Index}}">All mirrors here</a>
`

// notice returns the page that replaces a file of a mirror; since is a day, url what the file was on the
// site, "" when that is not known.
func notice(mirror, p, since, url string) ([]byte, error) {
	t, err := template.New("").Parse(noticePage)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = t.Execute(&b, struct{ Name, Since, URL, Index string }{
		Name:  mirror,
		Since: since,
		URL:   url,
		Index: string(relocate.Relative(nil, MirrorFolder(mirror)+"/"+p, indexName)),
	})
	return b.Bytes(), err
}

// KeptFiles are the files of a mirror that are in a space because pages of other mirrors lead to them that
// cannot be made again.
type KeptFiles struct {
	Space string
	Files int
}

// KeptOf returns what spaces keep of a mirror that was removed, nil when nothing is kept.
func KeptOf(state, mirror string) (kept []KeptFiles, err error) {
	err = eachNote(state, mirror, func(d *disk, n *note) (bool, error) {
		if n.Gone && !n.Struck && len(n.Kept) > 0 {
			kept = append(kept, KeptFiles{d.name, len(n.Kept)})
		}
		return true, nil
	})
	return kept, err
}

// KeptFile is a file of a mirror that the mirror itself no longer has.
type KeptFile struct {
	*os.File
	Type   string // by its name
	Struck bool   // it is a page that says that the mirror was removed
}

// OpenKept opens such a file; in is the space, "" any. fs.ErrNotExist reports that it is missing.
func OpenKept(state, in, mirror, p string) (f *KeptFile, err error) {
	err = eachNote(state, mirror, func(d *disk, n *note) (bool, error) {
		if (in != "" && d.name != in) || !slices.Contains(n.Kept, p) {
			return true, nil
		}
		file, err := d.root.Open(d.file(mirror, p))
		if err != nil {
			return false, err
		}
		f = &KeptFile{file, phm.TypeByExtension(strings.TrimPrefix(path.Ext(p), ".")), n.Struck}
		return false, nil
	})
	if f == nil && err == nil {
		err = fs.ErrNotExist
	}
	return f, err
}

// eachNote calls each with what every space knows of a mirror, until it returns false.
func eachNote(state, mirror string, each func(d *disk, n *note) (bool, error)) error {
	return eachSpace(state, func(d *disk) (bool, error) {
		var n note
		if ok, err := d.readJSON(d.note(mirror, ".json"), &n); !ok || err != nil {
			return true, err
		}
		return each(d, &n)
	})
}

// eachSpace calls each with every space of a state, until it returns false.
func eachSpace(state string, each func(d *disk) (more bool, err error)) error {
	names, err := Names(state)
	if len(names) == 0 || err != nil {
		return err
	}
	root, err := regular.OpenRoot(state)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, name := range names {
		if more, err := each(&disk{root: root, name: name}); !more || err != nil {
			return err
		}
	}
	return nil
}
