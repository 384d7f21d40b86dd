// SPDX-License-Identifier: Apache-2.0

package projects

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"

	"mirrord/archive/warc"
)

// ARC files are what crawlers wrote before WARC (1996 to 2009): a line with address, IP address, time, type
// and length, in version 2 with five more, and so many bytes; then the next one. The first record says which
// version it is. Formats: https://archive.org/web/researcher/ArcFileFormat.php.

const (
	arcBegin    = "filedesc://"
	gzipMagic   = "\x1f\x8b"
	maxARCLine  = 64 << 10
	maxARCHead  = 1 << 20
	leastFields = 5 // of a record's line
)

var errNoARCLine = errors.New("no line of an ARC record: address, IP address, time, type, length")

// IsARC reports whether a file begins as an ARC file does, plain or in gzip.
func IsARC(r io.ReaderAt, size int64) bool {
	b, err := arcReader(io.NewSectionReader(r, 0, size))
	if err != nil {
		return false
	}
	head, _ := b.Peek(len(arcBegin)) // of a shorter file as much as there is
	return string(head) == arcBegin
}

// arcReader reads the text of a file.
func arcReader(file io.Reader) (*bufio.Reader, error) {
	b := bufio.NewReaderSize(file, maxARCLine)
	if head, _ := b.Peek(len(gzipMagic)); string(head) != gzipMagic {
		return b, nil
	}
	z, err := gzip.NewReader(b)
	if err != nil {
		return nil, err
	}
	z.Multistream(false)
	return bufio.NewReaderSize(&gzipMembers{b, z}, maxARCLine), nil
}

// gzipMembers reads what the members of a file hold. Zeros may follow each: tapes and disks filled blocks.
type gzipMembers struct {
	b *bufio.Reader
	z *gzip.Reader
}

func (m *gzipMembers) Read(p []byte) (int, error) {
	for {
		n, err := m.z.Read(p)
		switch {
		case n > 0:
			return n, nil // an error comes again
		case err != io.EOF:
			return 0, err
		}
		for c := byte(0); c == 0; {
			if c, err = m.b.ReadByte(); err != nil {
				return 0, err
			}
		}
		if err := errors.Join(m.b.UnreadByte(), m.z.Reset(m.b)); err != nil {
			return 0, err
		}
		m.z.Multistream(false)
	}
}

// arcRecord is the line before a block.
type arcRecord struct {
	url, mime string
	date      time.Time
	length    int64
}

// readARCLine reads one: the address may have spaces, the time has twelve digits or more.
func readARCLine(line string) (a arcRecord, ok bool) {
	fields := strings.Split(strings.TrimRight(line, "\r\n"), " ")
	n := len(fields)
	if n < leastFields {
		return a, false
	}
	length, err := strconv.ParseInt(fields[n-1], 10, 64)
	if err != nil || length < 0 {
		return a, false
	}
	for i := n - 3; i >= 2; i-- {
		digits := fields[i]
		if len(digits) == len("200405011000") {
			digits += "00"
		}
		date := warc.ParseDate(digits[:min(len(digits), len(warc.StampForm))])
		if len(digits) < len(warc.StampForm) || date.IsZero() {
			continue
		}
		url := strings.Join(fields[:i-1], " ")
		return arcRecord{
			url:    url,
			mime:   fields[i+1],
			date:   date,
			length: length,
		}, strings.Contains(url, ":")
	}
	return a, false
}

// arcFile is a file that is read.
type arcFile struct {
	b       *bufio.Reader
	to      *warc.Writer
	lenient bool
	at      int64 // bytes of the text that were read
	records int
	full    error // of a write: not the fault of the file
	Taken
}

// watched keeps why reading ended before the end.
type watched struct {
	io.Reader
	err error
}

func (w *watched) Read(p []byte) (n int, err error) {
	if n, err = w.Reader.Read(p); err != nil && err != io.EOF {
		w.err = err
	}
	return n, err
}

// ARC writes the answers of an ARC file as records. lenient skips bytes that are no record; of an answer that
// is cut at the end of the file the record is cut, too, see [Taken]. Offsets of errors are those of the text,
// unpacked.
func ARC(file io.Reader, lenient bool, to *warc.Writer) (Taken, error) {
	b, err := arcReader(file)
	if err != nil {
		return Taken{}, err
	}
	f := &arcFile{b: b, to: to, lenient: lenient}
	for {
		err := f.record()
		if err == io.EOF {
			return f.Taken, nil
		}
		if _, ok := errors.AsType[*warc.RecordError](err); err != nil && !ok {
			err = &warc.RecordError{Record: f.records, Offset: f.at, Err: err}
		}
		if err == nil {
			continue
		}
		if lenient && f.records > 1 && f.full == nil {
			f.skip(err)
			return f.Taken, nil
		}
		return f.Taken, err
	}
}

// line reads the next line that is not empty.
func (f *arcFile) line() (string, error) {
	for {
		part, err := f.b.ReadSlice('\n')
		f.at += int64(len(part))
		text := strings.Trim(string(part), "\r\n\x00")
		switch {
		case text != "":
			return text, nil
		case err != nil && err != bufio.ErrBufferFull: // of so many zeros
			return "", err
		}
	}
}

// record reads one record.
func (f *arcFile) record() error {
	line, err := f.line()
	if err != nil {
		return err
	}
	begins := f.at
	f.records++
	a, ok := readARCLine(line)
	wrong := fmt.Errorf("%w: %.80q", errNoARCLine, line)
	if !ok && !f.lenient {
		return wrong
	}
	if !ok {
		f.skip(&warc.RecordError{Record: f.records, Offset: f.at, Err: wrong})
	}
	for ; !ok; a, ok = readARCLine(line) {
		if line, err = f.line(); err != nil {
			return io.EOF // it was noted
		}
	}
	block := io.LimitReader(f.b, a.length)
	switch {
	case strings.HasPrefix(a.url, arcBegin):
		f.full = writeInfo(f.to, a.date, nil)
		err = f.full
	case strings.HasPrefix(a.url, "http:"), strings.HasPrefix(a.url, "https:"):
		err = f.answer(&a, block)
	}
	if err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, block); err != nil {
		return err
	}
	f.at += a.length
	if _, err := f.b.Peek(1); err == nil {
		return nil
	}
	if n := block.(*io.LimitedReader).N; n > 0 {
		return &warc.RecordError{
			Record: f.records,
			Offset: begins,
			Err:    fmt.Errorf("%w: %d bytes of its block of %d are missing", io.ErrUnexpectedEOF, n, a.length),
		}
	}
	return nil
}

// mostWrong is how many reasons are kept.
const mostWrong = 20

// skip notes why bytes are left out. A record that is cut is counted by those who read it.
func (f *arcFile) skip(why error) {
	if !f.Cut {
		f.Damaged++
	}
	if len(f.Wrong) < mostWrong {
		f.Wrong = append(f.Wrong, why)
	}
}

// answer writes the answer in a block: one without a head is a body alone.
func (f *arcFile) answer(r *arcRecord, block io.Reader) error {
	from := &watched{Reader: block}
	b := bufio.NewReader(from)
	a := answer{
		url:  r.url,
		date: r.date,
		sent: true,
		body: b,
		size: r.length,
	}
	if begin, _ := b.Peek(len("HTTP/")); string(begin) == "HTTP/" {
		for len(a.head) < maxARCHead {
			line, err := b.ReadBytes('\n')
			a.head = append(a.head, line...)
			if err != nil || len(bytes.TrimRight(line, "\r\n")) == 0 {
				break
			}
		}
		a.size -= int64(len(a.head))
	} else {
		a.sent, a.head = false, []byte("HTTP/1.1 200 OK\r\nContent-Type: "+r.mime+"\r\n\r\n")
	}
	err := a.write(f.to)
	f.Answers++
	if f.Cut = errors.Is(err, warc.ErrLength) || from.err != nil; f.Cut {
		return cmp.Or(from.err, io.ErrUnexpectedEOF)
	}
	f.full = err
	return err
}
