// SPDX-License-Identifier: Apache-2.0

package phm

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"
)

const (
	maxLine  = 4 << 20 // bytes of a line of phm.files
	maxTypes = 256     // MIME types that are counted apart; a hostile site could send one for each file
)

// ErrTable says that a line of phm.files is not what the format says.
var ErrTable = errors.New("bad file table")

// A File is one line of phm.files: one file of the set and where it came from.
type File struct {
	Path     string         `json:"path"`              // mirror path, unique, in bytewise order over the table
	URL      string         `json:"url"`               // canonical absolute URL that the bytes came from
	Type     string         `json:"type,omitempty"`    // MIME type without parameters
	Size     int64          `json:"size"`              // bytes of the file in the PHM
	SHA256   string         `json:"sha256"`            // of the same, 64 hex digits in lower case
	Modified time.Time      `json:"modified,omitzero"` // Last-Modified of the origin; zero when it sent none
	Edits    []DeclaredEdit `json:"edits,omitempty"`   // what was changed other than links
	From     string         `json:"from,omitempty"`    // path in the PHM that this one was flattened from

	Extra map[string]json.RawMessage `json:"-"` // fields of other writers, kept
}

// An Edit is one declared change of a file that is not the relocation of a link.
type DeclaredEdit struct {
	Kind string `json:"kind"` // "charset", "base", "integrity", "crossorigin", "csp", …
	At   int64  `json:"at"`   // byte offset in the body as the origin sent it, content codings removed
}

// SourceField is the member that mirrord writes into the line of a file whose bytes a replica of its origin
// sent: the URL that they came from.
const SourceField = "mirrord.source"

// AlsoField is the member that mirrord writes into the line of a file that is the resource of other URLs too:
// a list of these.
const AlsoField = "mirrord.also"

// SymbolsField is the member that mirrord writes into the line of a document that shows symbols of other
// files (SVG use), which some browsers do not do from file://: byte offsets of the references in the body as
// the origin sent it.
const SymbolsField = "mirrord.symbols"

// NameField is the member that mirrord writes into the line of a file which its server offers under another
// name than that of its URL (Content-Disposition): that name, as SafeName returns it.
const NameField = "mirrord.name"

// UnscannedField is the member that mirrord writes, as true, into the line of a document whose links are as
// the origin sent them, because it is too large to be scanned.
const UnscannedField = "mirrord.unscanned"

// Name returns the name under which the server offered the file, "" when that is not known or the name of the
// URL.
func (f *File) Name() (name string) {
	if v, ok := f.Extra[NameField]; ok && json.Unmarshal(v, &name) != nil {
		return ""
	}
	return SafeName(name)
}

// Also returns the other URLs of the file, nil for nearly every one.
func (f *File) Also() (urls []string) {
	if v, ok := f.Extra[AlsoField]; ok && json.Unmarshal(v, &urls) != nil {
		return nil
	}
	return urls
}

const fileFields = " path url type size sha256 modified edits from "

// A Table sums up a finished phm.files.
type Table struct {
	Files  int
	Bytes  int64       // of the files
	Types  []TypeCount // sorted by type
	Size   int64       // of phm.files itself
	SHA256 string
}

// FilesWriter writes phm.files as a stream. Equal files give equal bytes.
type FilesWriter struct {
	w      *bufio.Writer
	digest hash.Hash
	last   string
	line   []byte
	types  map[string]TypeCount
	table  Table
	err    error
}

// NewFilesWriter returns a writer of phm.files to w.
func NewFilesWriter(w io.Writer) *FilesWriter {
	return &FilesWriter{w: bufio.NewWriterSize(w, 64<<10), digest: sha256.New(), types: map[string]TypeCount{}}
}

// Write appends one file. Files come in strict bytewise order of their paths; a file that breaks a rule of
// the format is refused with ErrTable or ErrPath, and nothing is written for it.
func (fw *FilesWriter) Write(f *File) error {
	if fw.err != nil {
		return fw.err
	}
	if err := checkFile(f, fw.last); err != nil {
		return fmt.Errorf("write %s: %w", FilesName, err)
	}
	line, err := AppendFile(fw.line[:0], f)
	if err != nil {
		return fmt.Errorf("write %s: %q: %w", FilesName, f.Path, err)
	}
	fw.line = line
	fw.last = f.Path
	fw.digest.Write(line)
	fw.table.Files++
	fw.table.Bytes += f.Size
	fw.table.Size += int64(len(line))
	name := f.Type
	if _, ok := fw.types[name]; !ok && len(fw.types) >= maxTypes {
		name = "other"
	}
	t := fw.types[name]
	fw.types[name] = TypeCount{Type: name, Files: t.Files + 1, Bytes: t.Bytes + f.Size}
	if _, err := fw.w.Write(line); err != nil {
		fw.err = fmt.Errorf("write %s: %w", FilesName, err)
	}
	return fw.err
}

// Finish flushes and returns what Meta.Count wants to know.
func (fw *FilesWriter) Finish() (Table, error) {
	if fw.err == nil {
		if err := fw.w.Flush(); err != nil {
			fw.err = fmt.Errorf("write %s: %w", FilesName, err)
		}
	}
	if fw.err != nil {
		return Table{}, fw.err
	}
	t := fw.table
	t.SHA256 = hex.EncodeToString(fw.digest.Sum(nil))
	for _, name := range slices.Sorted(maps.Keys(fw.types)) {
		t.Types = append(t.Types, fw.types[name])
	}
	return t, nil
}

// AppendFile appends the line of one file, with its line feed, to dst. It checks nothing but Extra.
func AppendFile(dst []byte, f *File) ([]byte, error) {
	out := *f
	out.Modified = f.Modified.UTC().Truncate(time.Second)
	line, err := marshal(out)
	if err == nil {
		line, err = appendExtra(line, f.Extra)
	}
	if err != nil {
		return dst, err
	}
	return append(append(dst, line...), '\n'), nil
}

// checkFile holds the rules of one line; last is the path before it.
func checkFile(f *File, last string) error {
	if err := CheckPath(f.Path); err != nil {
		return err
	}
	bad := func(reason string) error { return fmt.Errorf("%q: %w: %s", f.Path, ErrTable, reason) }
	switch {
	case f.Path == last:
		return bad("the path stands twice")
	case f.Path < last:
		return bad(fmt.Sprintf("the path comes after %q", last))
	case f.Size < 0:
		return bad("the size is negative")
	case !isDigest(f.SHA256):
		return bad("sha256 is not 64 hex digits in lower case")
	case !strings.HasPrefix(f.URL, "http://") && !strings.HasPrefix(f.URL, "https://"):
		return bad(fmt.Sprintf("url %q is not absolute http or https", abbreviate(f.URL)))
	case !isCanonical(f.URL):
		return bad(fmt.Sprintf("url %q is not canonical", abbreviate(f.URL)))
	case f.Modified.Year() < 0 || f.Modified.Year() > 9999:
		return bad("modified has no year of four digits")
	}
	return nil
}

// isCanonical reports whether s has only bytes that a serialized URL without fragment can have.
func isCanonical(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c <= ' ' || c > '~', c == '"', c == '<', c == '>', c == '#':
			return false
		}
	}
	return true
}

// ByPath is the order of files in a table.
func ByPath(a, b File) int { return strings.Compare(a.Path, b.Path) }

func isDigest(s string) bool {
	return len(s) == 2*sha256.Size && strings.Trim(s, "0123456789abcdef") == ""
}

// A LineError is an error in one line of phm.files.
type LineError struct {
	Line int // from 1
	Err  error
}

func (e *LineError) Error() string { return fmt.Sprintf("%s:%d: %v", FilesName, e.Line, e.Err) }
func (e *LineError) Unwrap() error { return e.Err }

// Files reads phm.files as a stream. A line that breaks a rule yields a *LineError in its place, and reading
// continues with the next; an error of r is yielded as it is and ends the sequence.
func Files(r io.Reader) iter.Seq2[*File, error] {
	return func(yield func(*File, error) bool) {
		br := bufio.NewReaderSize(r, 64<<10)
		last := ""
		var buf []byte
		for n := 1; ; n++ {
			line, err := readLine(br, &buf)
			if err == io.EOF && len(line) == 0 {
				return
			}
			if err != nil && err != io.EOF && err != errLong {
				yield(nil, fmt.Errorf("read %s: %w", FilesName, err))
				return
			}
			cut := err == io.EOF
			var f *File
			if err != errLong {
				f, err = parseLine(line)
			}
			if err == nil {
				err = checkFile(f, last)
				last = max(last, f.Path)
			}
			if err == nil && cut {
				err = fmt.Errorf("%w: the last line has no line feed", ErrTable)
			}
			if err != nil {
				f, err = nil, &LineError{n, err}
			}
			if !yield(f, err) {
				return
			}
		}
	}
}

var errLong = fmt.Errorf("%w: the line has more than %d bytes", ErrTable, maxLine)

// readLine returns the next line without its line feed, io.EOF with a last one that has none, and errLong for
// one over maxLine, which it passes over.
func readLine(br *bufio.Reader, buf *[]byte) ([]byte, error) {
	*buf = (*buf)[:0]
	long := false
	for {
		part, err := br.ReadSlice('\n')
		if !long {
			*buf = append(*buf, part...)
			long = len(*buf) > maxLine
		}
		switch {
		case err == bufio.ErrBufferFull:
			continue
		case long && (err == nil || err == io.EOF):
			return nil, errLong
		case err != nil:
			return *buf, err
		}
		return (*buf)[:len(*buf)-1], nil
	}
}
