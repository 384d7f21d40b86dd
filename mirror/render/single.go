// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"mirrord/phm"
	"mirrord/relocate"
)

// ErrSingle says that a page cannot be one file.
var ErrSingle = errors.New("cannot make one file")

const (
	maxSingle    = 256 << 20 // bytes of the page with all it shows
	maxSingleIn  = 64 << 20  // bytes of one file in it
	singleLevels = 8         // of style sheets and frames in one another
)

// onlyInside is the policy of a page that is one file: nothing is loaded from elsewhere.
const onlyInside = `default-src data: blob: 'unsafe-inline' 'unsafe-eval'`

// SinglePage returns a published page with all it shows inside it: styles, images, fonts, scripts and frames
// as data: URLs. Links to other pages point to their origins. A policy keeps browsers from loading resources
// outside of the mirror, so that the page makes no request. Each file is checked against files.
func SinglePage(tree fs.FS, files map[string]*phm.File, path string) ([]byte, error) {
	f := files[path]
	if f == nil {
		return nil, fmt.Errorf("%s: %w: the mirror does not have it", path, ErrSingle)
	}
	s := &singler{tree: tree, files: files, left: maxSingle}
	body, format, charset, err := s.inlined(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if format != relocate.HTML || strings.HasPrefix(charset, "utf-16") {
		return nil, fmt.Errorf("%s: %w: it is no HTML page, or in UTF-16", path, ErrSingle)
	}
	head := fmt.Sprintf(`<meta charset="%s"><meta http-equiv="Content-Security-Policy" content="%s">`, charset,
		onlyInside)
	at := afterDoctype(body)
	return slices.Concat(body[:at], []byte(head), body[at:]), nil
}

// afterDoctype is where the doctype of a page ends, or its byte order mark: what stands before either would
// change how the page is read.
func afterDoctype(page []byte) int {
	head := bytes.ToLower(page[:min(len(page), 1024)])
	if i := bytes.Index(head, []byte("<!doctype")); i >= 0 {
		if k := bytes.IndexByte(page[i:], '>'); k >= 0 {
			return i + k + 1
		}
	}
	return len(page) - len(bytes.TrimPrefix(page, []byte("\ufeff")))
}

// singler puts files into one another.
type singler struct {
	tree  fs.FS
	files map[string]*phm.File
	open  []string // paths of the files that are being read, the outermost first
	left  int64    // bytes that may be added
}

// inlined returns a file with what it shows inside it.
func (s *singler) inlined(f *phm.File) (body []byte, format relocate.Format, charset string, err error) {
	raw, err := s.read(f)
	if err != nil {
		return nil, 0, "", err
	}
	var doc relocate.Doc
	if _, err := scanPublished(&doc, f, raw); err != nil {
		return nil, 0, "", err
	}
	if format = doc.Format; format != relocate.HTML && format != relocate.CSS {
		return raw, format, "", nil
	}
	bestOfSets(raw, &doc, func(l *relocate.Link) bool { return s.target(l) != nil })
	s.open = append(s.open, f.Path)
	defer func() { s.open = s.open[:len(s.open)-1] }()
	var failed error
	body = doc.Splice(nil, raw, func(i int) ([]byte, bool, bool) {
		ref, err := s.ref(&doc.Links[i])
		failed = errors.Join(failed, err)
		return ref, bytes.HasPrefix(ref, []byte("data:")), ref != nil
	})
	return body, format, doc.Charset, failed
}

// target returns the file that a link points to, nil for none.
func (s *singler) target(l *relocate.Link) *phm.File {
	path, inside := insidePath(l.URL)
	if l.URL == nil || !inside || l.Absolute {
		return nil
	}
	return s.files[path]
}

// ref returns what a link of the page becomes, nil when it stays.
func (s *singler) ref(l *relocate.Link) ([]byte, error) {
	to := s.target(l)
	if to == nil {
		return nil, nil
	}
	path := to.Path
	shown := l.Kind == relocate.Requisite || l.Kind == relocate.Frame
	if !shown {
		if l.Kind == relocate.InScript {
			return nil, nil
		}
		if path == s.open[0] && len(s.open) == 1 {
			return []byte{}, nil // the page itself, under any file name
		}
		return []byte(to.URL), nil
	}
	if slices.Contains(s.open, path) || len(s.open) >= singleLevels {
		return []byte("data:,"), nil
	}
	body, format, charset, err := s.inlined(to)
	if err != nil {
		return nil, err
	}
	mime := to.Type
	if mime == "" {
		mime = "application/octet-stream"
	}
	if format == relocate.HTML || format == relocate.CSS {
		mime += ";charset=" + charset
	}
	if s.left -= int64(base64.StdEncoding.EncodedLen(len(body))); s.left < 0 {
		return nil, fmt.Errorf("%w: it shows more than %d bytes", ErrSingle, maxSingle)
	}
	out := append([]byte("data:"), mime...)
	return base64.StdEncoding.AppendEncode(append(out, ";base64,"...), body), nil
}

func (s *singler) read(f *phm.File) ([]byte, error) {
	if f.Size > maxSingleIn {
		return nil, fmt.Errorf("%s: %w: it has %d bytes", f.Path, ErrSingle, f.Size)
	}
	return phm.ReadFile(s.tree, f, nil)
}
