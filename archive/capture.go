// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"mirrord/archive/wacz"
	"mirrord/archive/warc"
	"mirrord/internal/count"
	"mirrord/internal/inorder"
	"mirrord/internal/lines"
	"mirrord/phm"
)

// Forms of web archives hold no tree but captures: what a URL yielded, when, as it came. They are written by
// a CaptureWriter.

// Capture is one answer of a site.
type Capture struct {
	URL    string
	Date   time.Time // when it came
	Head   []byte    // status line and fields, with the empty line; nil: the body came with no response
	MIME   string    // of a body without a response
	Fields []warc.HeaderField
	Size   int64     // bytes of the body
	Digest [32]byte  // SHA-256 of the body
	Again  time.Time // for one with the same body as an earlier one: when that came; it has no body here

	Listed time.Time // its date in the list of pages; zero for what people do not open by itself
	Title  string
	Text   string // what the page says
}

// About is what an archive of captures says of itself.
type About struct {
	wacz.Details
	Fields []warc.HeaderField // further ones of its warcinfo record

	// Scratch makes a store for the lines that are gathered for the end of the file.
	Scratch func() (lines.Scratch, error)
}

// PackedCapture is a capture that can be added.
type PackedCapture struct {
	capture *Capture
	entry   warc.Entry
	member  []byte // nil: the draft is written instead
	draft   warc.RecordDraft
}

// MemberSize is up to how many bytes a body is packed in memory.
const MemberSize = 4 << 20

// PackCapture packs a capture with its body: that is what takes time, and workers can share. body is nil for
// one that came again. A body of more than MemberSize bytes is read by Add.
func PackCapture(p *warc.Packer, c *Capture, body io.Reader) (*PackedCapture, error) {
	out := &PackedCapture{capture: c, draft: draftOf(c, body)}
	status, mime := "200", c.MIME
	if c.Head != nil {
		status, mime = statusAndType(c.Head)
	}
	out.entry = warc.Entry{
		Key:    warc.SURT(c.URL),
		Time:   warc.Stamp(c.Date),
		URL:    c.URL,
		MIME:   mime,
		Status: status,
		Digest: strings.TrimPrefix(warc.SHA256(c.Digest), "sha-256:"),
	}
	if out.draft.Type == warc.Revisit {
		out.entry.MIME = "warc/revisit"
	}
	if c.Size > MemberSize {
		return out, nil
	}
	var b bytes.Buffer
	b.Grow(int(c.Size/4) + 1024)
	if err := p.Pack(&b, &out.draft); err != nil {
		return nil, err
	}
	out.member = b.Bytes()
	return out, nil
}

func statusAndType(head []byte) (status, mime string) {
	m := warc.ParseMessage(head)
	mime = warc.Essence(m.Header)
	return fmt.Sprint(m.Status()), mime
}

func draftOf(c *Capture, body io.Reader) warc.RecordDraft {
	d := warc.RecordDraft{
		Type:   warc.Response,
		URL:    c.URL,
		Date:   c.Date,
		Head:   c.Head,
		Body:   body,
		Size:   c.Size,
		Fields: []warc.HeaderField{{Name: "WARC-Payload-Digest", Value: warc.SHA256(c.Digest)}},
	}
	if !c.Again.IsZero() {
		d.Type, d.Body, d.Size = warc.Revisit, nil, 0
		d.Fields = append(d.Fields, warc.HeaderField{Name: "WARC-Profile", Value: warc.SamePayload},
			warc.HeaderField{Name: "WARC-Refers-To-Target-URI", Value: c.URL},
			warc.HeaderField{Name: "WARC-Refers-To-Date", Value: c.Again.UTC().Format(time.RFC3339)})
	}
	mime := "application/http; msgtype=response"
	if c.Head == nil {
		d.Type, mime = warc.Verbatim, c.MIME
	}
	d.Fields = append(append(d.Fields, c.Fields...), warc.HeaderField{Name: "Content-Type", Value: mime})
	return d
}

// CaptureWriter writes an archive of captures. Calls come one after the other; after an error the file is of
// no use.
type CaptureWriter interface {
	Add(c *PackedCapture) error
	// Close writes the remaining data.
	Close() error
	// Abort ends the writing after an error, in place of Close: readers of what was written see that it was cut
	// off.
	Abort() error
}

// WARC is a file of records, each a gzip member.
func (forms) WARC() Form {
	return Form{
		Name:  "warc.gz",
		Short: "warc",
		Doc:   "a web archive (warc)",
		Captures: func(w io.Writer, a About) (CaptureWriter, error) {
			f := warcFile{warc.NewWriter(w)}
			return f, writeInfo(f.w, a)
		},
		Claims:      begins("WARC/", "\x1f\x8b", "\x28\xb5\x2f\xfd", "\x5d\x2a\x4d\x18"),
		Holds:       holdsRecords,
		Verify:      verifyWARC,
		Replaceable: mustHold(holdsRecords),
		place:       5,
	}
}

// WACZ is the same with an index, in a ZIP.
func (forms) WACZ() Form {
	return Form{
		Name:  "wacz",
		Short: "wacz",
		Doc:   "one with an index (wacz)",
		Lists: true,
		Captures: func(w io.Writer, a About) (CaptureWriter, error) {
			b, err := wacz.NewWriter(w, a.Details, a.Scratch)
			if err != nil {
				return nil, err
			}
			return &waczFile{b: b}, writeInfo(b.Data(), a)
		},
		Claims:      begins("PK"),
		Holds:       wacz.IsWACZ,
		Verify:      verifyWACZ,
		Replaceable: mustHold(wacz.IsWACZ),
		place:       6,
	}
}

func holdsRecords(r io.ReaderAt, size int64) bool {
	return warc.IsWARC(io.NewSectionReader(r, 0, size))
}

// mustHold refuses to replace a file of another form, unless it is empty.
func mustHold(holds func(io.ReaderAt, int64) bool) func(io.ReaderAt, int64) error {
	return func(r io.ReaderAt, size int64) error {
		if size > 0 && !holds(r, size) {
			return errors.New("it is of another form")
		}
		return nil
	}
}

// writeInfo writes the record that says what the file is.
func writeInfo(w *warc.Writer, a About) error {
	return w.WriteInfo(a.Created, append([]warc.HeaderField{
		{Name: "software", Value: a.Software},
		{Name: "format", Value: "WARC File Format 1.1"},
	}, a.Fields...)...)
}

func (c *PackedCapture) write(w *warc.Writer) (warc.Extent, error) {
	if c.member != nil {
		return w.WriteMember(c.member)
	}
	return w.Write(&c.draft)
}

type warcFile struct{ w *warc.Writer }

// Abort begins a member: a file may end behind any of them.
func (f warcFile) Abort() error {
	_, err := f.w.WriteMember([]byte("\x1f\x8b\x08"))
	return err
}

func (f warcFile) Add(c *PackedCapture) error {
	_, err := c.write(f.w)
	return err
}

func (f warcFile) Close() error { return nil }

type waczFile struct {
	b     *wacz.Writer
	pages int
}

func (f *waczFile) Add(c *PackedCapture) (err error) {
	if c.entry.Place, err = c.write(f.b.Data()); err != nil {
		return err
	}
	if err := f.b.Index(c.entry); err != nil || c.capture.Listed.IsZero() {
		return err
	}
	f.pages++
	return f.b.List(wacz.Listed{
		ID:    fmt.Sprintf("p%d", f.pages),
		URL:   c.capture.URL,
		Date:  c.capture.Listed,
		Title: c.capture.Title,
		Text:  c.capture.Text,
	})
}

func (f *waczFile) Close() error { return f.b.Close() }

// Abort leaves a ZIP without its directory.
func (f *waczFile) Abort() error { return f.b.Abort() }

// mostProblems is how many problems a report lists.
const mostProblems = 1000

// report makes a report of what was found in an archive of captures.
func report(t warc.Surveyed, problems []phm.Problem) *phm.Report {
	return &phm.Report{
		Files:    t.Records,
		Bytes:    t.Bytes,
		Problems: problems[:min(len(problems), mostProblems)],
		More:     max(len(problems)-mostProblems, 0),
		Notes:    oddEnds(t.Odd),
	}
}

// oddEnds says that records end as other programs write them; readers take them for whole.
func oddEnds(n int) []string {
	if n == 0 {
		return nil
	}
	ends := count.Of(n, "record is whole and does", "records are whole and do")
	return []string{ends + " not end with two empty lines"}
}

func problemOf(name string, err error) phm.Problem {
	p := phm.Problem{Kind: phm.Unreadable, Path: name, Detail: err.Error()}
	if errors.Is(err, warc.ErrDigest) {
		p.Kind = phm.BadDigest
	}
	return p
}

func verifyWARC(r io.ReaderAt, size int64, crew inorder.Crew) (*phm.Report, error) {
	if t, ok := warc.SurveyParts(r, size, crew, func(warc.Entry) error { return nil }); ok {
		return report(t, nil), nil
	}
	var found []phm.Problem
	wrong := func(err error) { found = append(found, problemOf("", err)) }
	t, err := warc.Survey(io.NewSectionReader(r, 0, size), func(warc.Entry) error { return nil }, wrong)
	if err != nil {
		wrong(err)
	}
	return report(t, found), nil
}

func verifyWACZ(r io.ReaderAt, size int64, crew inorder.Crew) (*phm.Report, error) {
	c, err := wacz.Open(r, size)
	if err != nil {
		return nil, err
	}
	var found []phm.Problem
	t := c.Verify(crew, func(name string, err error) { found = append(found, problemOf(name, err)) })
	out := report(t, found)
	if who := c.Signer(); who != "" {
		out.Notes = append(out.Notes, "it is signed by "+who)
	}
	return out, nil
}
