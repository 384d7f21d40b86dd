// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// formatKey is the header that begins a recorded history, and formatNumber the format that this package
// reads.
const (
	formatKey    = "mirrord-site-history"
	formatNumber = "1"
)

// maxLine bounds one line of a recorded history, in bytes.
const maxLine = 64 << 10

// LineError is an error in a line of a recorded history.
type LineError struct {
	Line int // from 1
	Err  error
}

func (e *LineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }
func (e *LineError) Unwrap() error { return e.Err }

// errTruncated is the cause when the recording ends before what it says it holds.
var errTruncated = errors.New("the recording is cut off")

// Read reads a recorded history, compressed by gzip or plain. It is strict: what does not follow the form is
// a *LineError, and no history.
func Read(r io.Reader) (*History, error) {
	br := bufio.NewReaderSize(r, maxLine)
	if head, err := br.Peek(2); err == nil && head[0] == 0x1f && head[1] == 0x8b {
		zr, err := gzip.NewReader(br)
		if err != nil {
			return nil, &LineError{1, err}
		}
		br = bufio.NewReaderSize(zr, maxLine)
	}
	rd := reader{header: map[string]string{}}
	for {
		line, err := br.ReadSlice('\n')
		rd.line++
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			return nil, rd.fail(fmt.Errorf("a line of more than %d bytes", maxLine))
		case err == io.EOF && len(line) > 0:
			return nil, rd.fail(fmt.Errorf("no line end: %w", errTruncated))
		case err == io.EOF:
			return rd.end()
		case errors.Is(err, io.ErrUnexpectedEOF):
			return nil, rd.fail(errTruncated)
		case err != nil:
			return nil, rd.fail(err)
		}
		if err := rd.take(line[:len(line)-1]); err != nil {
			return nil, rd.fail(err)
		}
	}
}

type reader struct {
	b      Builder
	header map[string]string
	line   int

	inVersion bool // a V was read
	number    int
	versionAt int // its line
	time      time.Time
	commit    string
	files     int
	changes   int
	records   []Record
}

func (rd *reader) fail(err error) error { return &LineError{rd.line, err} }

func (rd *reader) take(line []byte) error {
	if rd.line == 1 && !bytes.HasPrefix(line, []byte("#"+formatKey+"\t")) {
		return fmt.Errorf("not a site history: it begins with #%s, a tab and %s", formatKey, formatNumber)
	}
	if len(line) == 0 {
		return errors.New("an empty line")
	}
	switch kind := line[0]; {
	case kind == '#':
		return rd.takeHeader(string(line[1:]))
	case len(line) > 1 && line[1] == '\t' && strings.IndexByte("VAMD", kind) >= 0:
		f := strings.Split(string(line[2:]), "\t")
		if kind == 'V' {
			return rd.takeVersion(f)
		}
		return rd.takeRecord(kind, f)
	}
	return fmt.Errorf("unknown record %.20q", line)
}

func (rd *reader) takeHeader(line string) error {
	key, value, ok := strings.Cut(line, "\t")
	switch {
	case rd.inVersion:
		return errors.New("a header after the first version")
	case !ok:
		return fmt.Errorf("header %.20q has no value", line)
	case key == formatKey && value != formatNumber:
		return fmt.Errorf("format %.20q is not known: this program reads format %s", value, formatNumber)
	}
	if _, twice := rd.header[key]; twice {
		return fmt.Errorf("header %.20q stands twice", key)
	}
	rd.header[key] = value
	return nil
}

func (rd *reader) takeVersion(f []string) error {
	if len(f) != 5 {
		return fmt.Errorf("a version has 5 fields (number, time, commit, files, changes), this one %d", len(f))
	}
	if err := rd.flush(); err != nil {
		return err
	}
	number, err := strconv.Atoi(f[0])
	if want := len(rd.b.h.Versions); err != nil || number != want {
		return fmt.Errorf("version %.20q where version %d comes", f[0], want)
	}
	at, err := time.Parse(time.RFC3339, f[1])
	if err != nil {
		return fmt.Errorf("version %d: time %.40q is not of the form 2006-01-02T15:04:05Z", number, f[1])
	}
	if n := len(rd.b.h.Versions); n > 0 && at.Before(rd.b.h.Versions[n-1].Time) {
		return fmt.Errorf("version %d: its time %s is before that of version %d, %s", n, f[1], n-1,
			rd.b.h.Versions[n-1].Time.Format(time.RFC3339))
	}
	files, err1 := strconv.Atoi(f[3])
	changes, err2 := strconv.Atoi(f[4])
	if err1 != nil || err2 != nil || files < 0 || changes < 0 {
		return fmt.Errorf("version %d: files and changes must be numbers, not %.20q and %.20q", number, f[3], f[4])
	}
	rd.inVersion, rd.number, rd.versionAt, rd.time, rd.commit, rd.files, rd.changes = true, number, rd.line,
		at.UTC(), f[2], files, changes
	return nil
}

func (rd *reader) takeRecord(kind byte, f []string) error {
	if !rd.inVersion {
		return fmt.Errorf("record %c before the first version", kind)
	}
	fields := 3
	if kind == 'D' {
		fields = 1
	}
	if len(f) != fields {
		return fmt.Errorf("record %c has %d fields, this one %d", kind, fields, len(f))
	}
	name := f[0]
	if n := len(rd.records); n > 0 && name <= rd.records[n-1].Path {
		if name == rd.records[n-1].Path {
			return fmt.Errorf("path %q stands twice in version %d", name, rd.number)
		}
		return fmt.Errorf("path %q comes after %q: records must be sorted by path", name, rd.records[n-1].Path)
	}
	switch there := rd.b.has(name); {
	case kind == 'A' && there:
		return fmt.Errorf("path %q is added and is there already", name)
	case kind == 'D' && !there:
		return fmt.Errorf("path %q is deleted and is not there", name)
	case kind == 'M' && !there:
		return fmt.Errorf("path %q is updated and is not there", name)
	}
	if kind == 'D' {
		rd.records = append(rd.records, Record{Path: name})
		return nil
	}
	if err := validPath(name); err != nil {
		return err
	}
	size, err := strconv.ParseInt(f[1], 10, 64)
	if err != nil || size < -1 {
		return fmt.Errorf("size %.20q of %q is no number of bytes", f[1], name)
	}
	if !isBlob(f[2]) {
		return fmt.Errorf("blob %.70q of %q is not of 8 to 64 hexadecimal digits", f[2], name)
	}
	rd.records = append(rd.records, Record{name, f[2], size})
	return nil
}

func isBlob(s string) bool {
	return len(s) >= 8 && len(s) <= 64 && strings.Trim(s, "0123456789abcdef") == ""
}

// flush applies the records of the version that was being read.
func (rd *reader) flush() error {
	if !rd.inVersion {
		return nil
	}
	if len(rd.records) != rd.changes {
		return fmt.Errorf("version %d of line %d says %d changes and has %d records: %w", rd.number, rd.versionAt,
			rd.changes, len(rd.records), errTruncated)
	}
	if err := rd.b.Add(rd.time, rd.commit, rd.records); err != nil {
		return err
	}
	if rd.b.files != rd.files {
		return fmt.Errorf("version %d of line %d says %d files and its records lead to %d", rd.number, rd.versionAt,
			rd.files, rd.b.files)
	}
	rd.records = rd.records[:0]
	return nil
}

func (rd *reader) end() (*History, error) {
	if rd.line == 1 {
		return nil, rd.fail(errors.New("it is empty"))
	}
	if err := rd.flush(); err != nil {
		return nil, rd.fail(err)
	}
	n := len(rd.b.h.Versions)
	if want, ok := rd.header["versions"]; ok && want != strconv.Itoa(n) {
		return nil,
			rd.fail(fmt.Errorf("the header says %.20q versions and there are %d: %w", want, n, errTruncated))
	}
	if n == 0 {
		return nil, rd.fail(errors.New("it has no version"))
	}
	h := rd.b.History()
	h.Site = rd.header["site"]
	h.Header = rd.header
	return h, nil
}
