// SPDX-License-Identifier: Apache-2.0

// Package projects reads the folders and files in which other programs keep a copy of a site or a page, and
// writes what the site answered as the records of a web archive, as far as they still have it.
//
// HTTrack keeps the answers in hts-cache/new.zip: an entry for each URL, whose name is the URL. The head
// is in the extra field of the entry's local header, which package archive/zip does not show: status line
// and fields of the answer, and fields of HTTrack's own, whose names begin with X-. The body is that of the
// entry when X-In-Cache is 1, as for pages; else the file that X-Save names has it.
package projects

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"mirrord/archive/warc"
	"mirrord/site"
)

// The files of a project of HTTrack.
const (
	cacheName = "hts-cache/new.zip"
	olderName = "hts-cache/old.zip" // of the run before one that was broken off
	logName   = "hts-cache/doit.log"
	tableName = "hts-cache/new.txt"
	notesName = "hts-log.txt"
)

// IsHTTrack reports whether a folder is a project of HTTrack.
func IsHTTrack(dir fs.FS) bool { return cacheOf(dir) != "" || isThere(dir, notesName) }

// cacheOf is the cache of a project; "" when it has none.
func cacheOf(dir fs.FS) string {
	for _, name := range []string{cacheName, olderName} {
		if isThere(dir, name) {
			return name
		}
	}
	return ""
}

// Taken is what was read of a folder.
type Taken struct {
	Answers int
	Lost    int // answers whose body is not there, or has another size
	Guessed int // pages whose original is not there: their links were changed, and are taken as they are now

	Looked   []string // files that should have the page of the URL given, if none has it
	Uncached bool     // the project of HTTrack has no cache: its files were taken

	Other   int // answers to other requests than GET, and those of no web address
	Damaged int // places that were skipped

	Wrong []error // why, of the first ones

	Cut bool // the last record is cut, as the file is: who reads the records finds it, and counts it
}

// HTTrack writes the answers of a project as records: those of its cache, else what its files show.
func HTTrack(dir fs.FS, to *warc.Writer) (t Taken, err error) {
	name := cacheOf(dir)
	if name == "" {
		return httrackFiles(dir, to)
	}
	f, err := dir.Open(name)
	if err != nil {
		return t, err
	}
	defer f.Close()
	r, ok := f.(io.ReaderAt)
	fi, serr := f.Stat()
	if !ok || serr != nil {
		return t, errors.Join(fmt.Errorf("%s: it cannot be read at places", name), serr)
	}
	z, err := zip.NewReader(r, fi.Size())
	if err != nil {
		return t, fmt.Errorf("%s: %w", name, err)
	}
	if err := writeInfo(to, fi.ModTime(), entryPoints(dir)); err != nil {
		return t, err
	}
	for i, entry := range z.File {
		a, ok, err := readEntry(dir, r, entry)
		if err != nil {
			return t, fmt.Errorf("%s: entry %d, %.200q: %w", name, i+1, entry.Name, err)
		}
		if strings.Contains(a.url, "#") && a.failed {
			continue // HTTrack up to 3.49-4 requested it as it stands, and the site does not know it
		}
		if !ok {
			t.Lost++
			continue
		}
		a.date = fi.ModTime() // that of an entry is when the page was modified
		if err := a.write(to); err != nil {
			return t, fmt.Errorf("%s: entry %d, %.200q: %w", name, i+1, entry.Name, err)
		}
		t.Answers++
	}
	return t, nil
}

// maxCommand bounds the line of the log that has the URLs.
const maxCommand = 1 << 20

// entryPoints reads the URLs with which HTTrack was started; none when that is not known.
func entryPoints(dir fs.FS) (urls []string) {
	line, _, _ := strings.Cut(fileText(dir, logName), "\n")
	quoted, before := false, ""
	for _, w := range strings.Fields(line) {
		inside := quoted
		if strings.Count(w, `"`)%2 == 1 {
			quoted = !quoted
		}
		isValue := inside || (before == "-P") || strings.HasSuffix(before, "%R") // proxy, referrer
		before = w
		w = strings.Trim(w, `"`)
		if isValue || !(strings.HasPrefix(w, "http://") || strings.HasPrefix(w, "https://")) {
			continue
		}
		if u, _, err := site.Parse(w); err == nil {
			urls = append(urls, u.String())
		}
	}
	return urls
}

func writeInfo(to *warc.Writer, date time.Time, urls []string) error {
	fields := []warc.HeaderField{{Name: "format", Value: "WARC File Format 1.1"}}
	for _, u := range urls {
		fields = append(fields, warc.HeaderField{Name: warc.FieldEntry, Value: u})
	}
	return to.WriteInfo(date, fields...)
}

// answer is one answer of a site.
type answer struct {
	url  string
	date time.Time
	head []byte
	body io.Reader
	size int64

	failed bool // with a status of 400 or more
	sent   bool // the head is that of the site
}

func (a *answer) write(to *warc.Writer) error {
	d := warc.RecordDraft{
		Type:   warc.Response,
		URL:    a.url,
		Date:   a.date,
		Head:   a.head,
		Body:   a.body,
		Size:   a.size,
		Fields: []warc.HeaderField{{Name: "Content-Type", Value: "application/http; msgtype=response"}},
	}
	if !a.sent {
		d.Fields = append([]warc.HeaderField{{Name: warc.FieldHead, Value: warc.HeadMade}}, d.Fields...)
	}
	_, err := to.Write(&d)
	if c, ok := a.body.(io.Closer); ok {
		err = errors.Join(err, c.Close())
	}
	return err
}

// readEntry reads an answer; ok is false when its body is not there.
func readEntry(dir fs.FS, r io.ReaderAt, entry *zip.File) (a answer, ok bool, err error) {
	raw, err := localExtra(r, entry)
	if err != nil {
		return a, false, err
	}
	m := warc.ParseMessage(append(raw, "\r\n"...))
	a = answer{
		url:    entry.Name,
		head:   cleanHead(m),
		body:   strings.NewReader(""),
		failed: m.Status() >= 400,
	}
	if !strings.Contains(a.url, "://") {
		a.url = "http://" + a.url
	}
	switch {
	case m.Status() == 0:
		return a, false, errors.New("its local header has no head of an answer")
	case m.Header.Get("X-In-Cache") == "1":
		a.size = int64(entry.UncompressedSize64)
		a.body, err = contents(entry)
		return a, err == nil, err
	case m.Status() != 200:
		return a, true, nil
	}
	f, size := savedFile(dir, m.Header.Get("X-Save"), m.Header.Get("X-Size"))
	if f == nil {
		return a, false, nil
	}
	a.body, a.size = f, size
	return a, true, nil
}

// contents opens the body of an entry. Package archive/zip takes one whose name ends in a slash for a folder.
func contents(entry *zip.File) (io.Reader, error) {
	file := *entry
	file.Name = strings.TrimRight(file.Name, "/")
	return file.Open()
}

// cleanHead is the head of an answer without what HTTrack added.
func cleanHead(m *warc.HTTPHead) []byte {
	var fields []warc.HeaderField
	for _, f := range m.Header {
		switch strings.ToLower(f.Name) {
		case "x-in-cache", "x-statuscode", "x-statusmessage", "x-size", "x-addr", "x-fil", "x-save", "x-charset",
			"content-encoding", "transfer-encoding", "content-length":
			continue
		case "content-type":
			charset := m.Header.Get("X-Charset")
			if charset != "" && !strings.Contains(strings.ToLower(f.Value), "charset") {
				f.Value += "; charset=" + charset
			}
		}
		fields = append(fields, f)
	}
	return warc.WriteHead(m.Start, fields...)
}

// savedFile opens the file that HTTrack saved; nil when it is not there, or has another size. Its name may be
// that on another machine.
func savedFile(dir fs.FS, name, size string) (fs.File, int64) {
	want, err := strconv.ParseInt(size, 10, 64)
	if err != nil {
		want = -1
	}
	var found fs.File
	var is int64
	nameHere(name, func(here string) bool {
		f, err := dir.Open(here)
		if err != nil {
			return false
		}
		fi, err := f.Stat()
		if err != nil || !fi.Mode().IsRegular() || (want >= 0 && fi.Size() != want) {
			f.Close()
			return false
		}
		found, is = f, fi.Size()
		return true
	})
	return found, is
}

// localExtra returns the extra field of the local header of an entry (APPNOTE 4.3.7): signature, 22 bytes,
// length of the name, length of the field, name, field. Where the header begins is found from its end.
func localExtra(r io.ReaderAt, entry *zip.File) ([]byte, error) {
	const fixed = 30
	end, err := entry.DataOffset()
	if err != nil {
		return nil, err
	}
	buf := make([]byte, min(end, fixed+2*(1<<16)))
	if _, err := r.ReadAt(buf, end-int64(len(buf))); err != nil && err != io.EOF {
		return nil, err
	}
	for at := len(buf) - fixed; at >= 0; at-- {
		h := buf[at:]
		if !bytes.HasPrefix(h, []byte("PK\x03\x04")) {
			continue
		}
		name, extra := int(binary.LittleEndian.Uint16(h[26:])), int(binary.LittleEndian.Uint16(h[28:]))
		if fixed+name+extra == len(h) && string(h[fixed:fixed+name]) == entry.Name {
			return bytes.Clone(h[fixed+name:]), nil
		}
	}
	return nil, errors.New("its local header is not where it should be")
}
