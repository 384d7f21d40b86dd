// SPDX-License-Identifier: Apache-2.0

package space

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"iter"
	"net/url"
	"path"
	"strings"

	"mirrord/phm"
)

// read compares the version in the space with the new one, and writes the indexes of the new
// one beside those that count. It changes nothing that counts.
func (c *change) read(ctx context.Context) error {
	table, all, err := c.compare(ctx)
	if err != nil {
		return err
	}
	c.found.keep(c.was.links, func(doc uint64) bool { return !c.all && c.src != nil && !c.docs[doc] })
	for _, f := range []struct {
		suffix string
		data   []byte
	}{{".files", table}, {".held", appendHeld(nil, all)}, {".links", c.found.bytes()}} {
		if err := c.write(c.disk.note(c.is.Name, f.suffix+newSuffix), f.data); err != nil {
			return err
		}
	}
	if c.is.held, err = openHeld(c.root, c.disk.note(c.is.Name, ".held"+newSuffix)); err != nil {
		return err
	}
	if c.is.links, err = openLinks(c.root, c.disk.note(c.is.Name, ".links"+newSuffix)); err != nil {
		return err
	}
	c.is.table, err = openMapped(c.root, c.disk.note(c.is.Name, ".files"+newSuffix), "")
	return err
}

// compare goes through both tables. It returns the new one, and which URLs the mirror holds.
func (c *change) compare(ctx context.Context) (table []byte, all []held, err error) {
	next, stop := iter.Pull2(c.was.files())
	defer stop()
	was, err, more := next()
	drop := func() {
		c.left = append(c.left, was.Path)
		c.docs[c.seed.of(was.URL)] = true
	}
	step := func() error {
		was, err, more = next()
		if err != nil {
			return fmt.Errorf("table of %s in the space: %w", c.is.Name, err)
		}
		return nil
	}
	if err != nil {
		return nil, nil, err
	}
	ends := map[string]held{} // of redirects
	parts := map[string]string{}
	if c.src != nil {
		for _, to := range c.src.Redirects {
			end, _, _ := strings.Cut(to, "#")
			ends[end] = held{}
		}
		for f, err := range c.withLast(c.sourceFiles()) {
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				return nil, nil, err
			}
			for more && was.Path < f.Path {
				drop()
				if err := step(); err != nil {
					return nil, nil, err
				}
			}
			same, there := false, more && was.Path == f.Path
			if !there && c.taken(f.Path) {
				c.late++
				continue
			}
			if there {
				if same = was.SHA256 == f.SHA256 && was.URL == f.URL && was.Type == f.Type; !same {
					c.docs[c.seed.of(was.URL)] = true
				}
				if err := step(); err != nil {
					return nil, nil, err
				}
			}
			if !same || c.all {
				c.docs[c.seed.of(f.URL)] = true
				if err := c.come(f, there); err != nil {
					return nil, nil, err
				}
			}
			h := held{path: c.seed.of(f.Path), at: int64(len(table))}
			for _, also := range append(f.Also(), f.URL) {
				h.url = c.seed.of(also)
				all = append(all, h)
				if _, ok := ends[also]; ok {
					ends[also] = h
				}
			}
			if table, err = phm.AppendFile(table, f); err != nil {
				return nil, nil, err
			}
		}
		for from, to := range c.src.Redirects {
			end, part, _ := strings.Cut(to, "#")
			h := ends[end]
			if h.path == 0 {
				continue
			}
			h.url = c.seed.of(from)
			all = append(all, h)
			if part != "" {
				parts[from] = part
			}
		}
	}
	for more {
		drop()
		if err := step(); err != nil {
			return nil, nil, err
		}
	}
	c.is.Parts = parts
	return table, sortHeld(all), nil
}

// taken reports whether the path of a file, or a folder of it, is that of a folder or file that has yet
// to leave.
func (c *change) taken(p string) bool {
	top := c.at(filesFolder, MirrorFolder(c.is.Name))
	name := path.Join(top, p)
	if fi, err := c.root.Lstat(name); err == nil {
		return fi.IsDir()
	}
	for name = path.Dir(name); len(name) > len(top); name = path.Dir(name) {
		if fi, err := c.root.Lstat(name); err == nil {
			return !fi.IsDir()
		}
	}
	return false
}

// sourceFiles reads phm.files of the published tree. The digest was compared, as far as phm.json has one.
func (c *change) sourceFiles() iter.Seq2[*phm.File, error] {
	return func(yield func(*phm.File, error) bool) {
		f, err := c.src.Tree.Open(phm.FilesName)
		if err != nil {
			yield(nil, err)
			return
		}
		defer f.Close()
		digest := sha256.New()
		for file, err := range phm.Files(io.TeeReader(f, digest)) {
			if !yield(file, err) {
				return
			}
		}
		if hex.EncodeToString(digest.Sum(nil)) != c.is.Table {
			yield(nil, fmt.Errorf("%s has another digest than %s says", phm.FilesName, phm.MetaName))
		}
	}
}

// come notes a file that is new, or other than before, and reads its links.
func (c *change) come(f *phm.File, there bool) error {
	if there {
		c.other = append(c.other, *f)
	} else {
		c.added = append(c.added, *f)
	}
	if !MayLink(f) {
		fi, err := c.root.Lstat(c.sourceOf(f))
		if err == nil && (!fi.Mode().IsRegular() || fi.Size() != f.Size) {
			err = fmt.Errorf("%s: it is not what was published", f.Path)
		}
		return err
	}
	raw, err := c.root.ReadFile(c.sourceOf(f), f.Size)
	if err != nil {
		return err
	}
	if err := checkDigest(f, raw); err != nil {
		return err
	}
	doc := c.seed.of(f.URL)
	return c.page.outside(c.is.Name, f, raw, func(u string) {
		host := u
		if p, err := url.Parse(u); err == nil {
			host = p.Host
		}
		c.found.all = append(c.found.all, link{url: c.seed.of(u), doc: doc, host: c.found.host(host)})
	})
}

func checkDigest(f *phm.File, raw []byte) error {
	if sum := sha256.Sum256(raw); hex.EncodeToString(sum[:]) != f.SHA256 {
		return fmt.Errorf("%s: its bytes are not those that were published", f.Path)
	}
	return nil
}
