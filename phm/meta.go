// SPDX-License-Identifier: Apache-2.0

package phm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"time"
)

// FormatVersion is the version of the format that this package writes, and the newest that it reads.
//
//	1  first version
const FormatVersion = 1

const maxMeta = 16 << 20 // bytes of a phm.json

var (
	// ErrNotPHM says that a tree or an archive has no readable phm.json.
	ErrNotPHM = errors.New("not a portable hypermedia form")
	// ErrNewer says that a PHM was written in a later version of the format.
	ErrNewer = errors.New("newer format version")
)

// Meta is phm.json: what the set is as a whole.
type Meta struct {
	Format    int      `json:"phm"`                 // FormatVersion; 0 is written as FormatVersion
	Generator string   `json:"generator,omitempty"` // program and version
	Entry     string   `json:"entry"`               // mirror path to open first
	Title     string   `json:"title,omitempty"`     // plain text, like the four that follow
	Authors   []string `json:"authors,omitempty"`   //
	Copyright string   `json:"copyright,omitempty"` //
	Abstract  string   `json:"abstract,omitempty"`  //
	Language  string   `json:"language,omitempty"`  // BCP 47 tag of the entry point
	// URLs that retrieval started from; the first is the entry point's
	Origins   []string     `json:"origins,omitempty"`
	Primary   string       `json:"primary,omitempty"`   // origin whose URLs lie at the root: Layout.Primary
	Retrieved time.Time    `json:"retrieved,omitzero"`  // end of the retrieval; written in UTC, whole seconds
	Scope     string       `json:"scope,omitempty"`     // the rule of what belongs to the set, for people
	Version   int          `json:"version,omitempty"`   // ordinal of this version of the set, from 1
	Files     int          `json:"files"`               // in phm.files, like all that follows
	Bytes     int64        `json:"bytes"`               //
	Types     []TypeCount  `json:"types,omitempty"`     // sorted by type
	Relocated int64        `json:"relocated,omitempty"` // links that were changed
	Failures  int          `json:"failures,omitempty"`  // URLs in scope that could not be had
	Failed    []MissingURL `json:"failed,omitempty"`    // the first of them
	Gaps      []Lacking    `json:"gaps,omitempty"`      // parts that the set should have and could not get
	// "flatten", "mask" or "flatten+mask" when made from another PHM
	Derived     string   `json:"derived,omitempty"`
	Masked      []string `json:"masked,omitempty"`      // what a mask left out, as Mask.Words has it
	MaskedFiles int      `json:"maskedFiles,omitempty"` // how many files those were
	MaskedBytes int64    `json:"maskedBytes,omitempty"`
	TableBytes  int64    `json:"tableBytes,omitempty"` // size of phm.files
	TableSum    string   `json:"tableSHA256,omitempty"`

	Extra map[string]json.RawMessage `json:"-"` // fields of other writers, kept
}

// TypeCount is the share of one MIME type in a set.
type TypeCount struct {
	Type   string `json:"type"`
	Files  int    `json:"files"`
	Bytes  int64  `json:"bytes"`
	Format string `json:"format,omitempty"` // what files of the type are, for people
	Needs  string `json:"needs,omitempty"`  // what opens them
}

// MissingURL is a URL that the set should have and has not.
type MissingURL struct {
	URL    string `json:"url"`
	Reason string `json:"reason,omitempty"`
}

// Lacking is a part that the set should have: a URL, or several of an origin. The set may have an older
// state of it.
type Lacking struct {
	URL    string    `json:"url,omitempty"`
	Origin string    `json:"origin,omitempty"`
	URLs   int       `json:"urls"`           // how many it stands for
	Since  time.Time `json:"since,omitzero"` // the first failure
	Reason string    `json:"reason,omitempty"`
}

// Describe fills the fields that a Description knows and the caller has not set.
func (m *Meta) Describe(d Description) {
	set := func(field *string, value string) {
		if *field == "" {
			*field = value
		}
	}
	set(&m.Title, d.Title)
	set(&m.Copyright, d.Copyright)
	set(&m.Abstract, d.Abstract)
	set(&m.Language, d.Language)
	if m.Authors == nil {
		m.Authors = d.Authors
	}
}

// Count sets what a table says of the set: files, bytes, types, and the table's own size and digest.
func (m *Meta) Count(t Table) {
	m.Files, m.Bytes, m.Types, m.TableBytes, m.TableSum = t.Files, t.Bytes, t.Types, t.Size, t.SHA256
}

// WriteMeta writes phm.json. Equal values give equal bytes.
func WriteMeta(w io.Writer, m *Meta) error {
	out := *m
	if out.Format == 0 {
		out.Format = FormatVersion
	}
	if err := CheckPath(out.Entry); err != nil {
		return fmt.Errorf("write %s: entry: %w", MetaName, err)
	}
	out.Retrieved = out.Retrieved.UTC().Truncate(time.Second)
	buf, err := marshalWith(out, out.Extra)
	if err != nil {
		return fmt.Errorf("write %s: %w", MetaName, err)
	}
	if _, err := w.Write(buf); err != nil {
		return fmt.Errorf("write %s: %w", MetaName, err)
	}
	return nil
}

// marshalWith returns indented JSON of v, a struct, with the extra members after its own, sorted.
func marshalWith(v any, extra map[string]json.RawMessage) ([]byte, error) {
	buf, err := marshal(v)
	if err != nil {
		return nil, err
	}
	buf, err = appendExtra(buf, extra)
	if err != nil {
		return nil, err
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, buf, "", "  "); err != nil {
		return nil, err
	}
	indented.WriteByte('\n')
	return indented.Bytes(), nil
}

// appendExtra puts members before the closing brace of a JSON object.
func appendExtra(object []byte, extra map[string]json.RawMessage) ([]byte, error) {
	if len(extra) == 0 {
		return object, nil
	}
	more, err := marshal(extra)
	if err != nil || string(object) == "{}" {
		return more, err
	}
	more[0] = ','
	return append(object[:len(object)-1], more...), nil
}

// ReadMeta reads a phm.json. It fails with ErrNewer for a later format version, and with ErrNotPHM for any
// other input.
func ReadMeta(r io.Reader) (*Meta, error) {
	buf, err := io.ReadAll(io.LimitReader(r, maxMeta+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", MetaName, err)
	}
	if len(buf) > maxMeta {
		return nil, fmt.Errorf("read %s: %w: it has more than %d bytes", MetaName, ErrNotPHM, maxMeta)
	}
	// The version first: nothing else can be relied on in a later one.
	var version struct {
		Format int `json:"phm"`
	}
	if err := json.Unmarshal(buf, &version); err != nil {
		return nil, fmt.Errorf("read %s: %w: %w", MetaName, ErrNotPHM, err)
	}
	if isDelta(version.Format, buf) {
		return nil, fmt.Errorf("read %s: %w", MetaName, ErrDelta)
	}
	if version.Format > FormatVersion {
		return nil, fmt.Errorf("read %s: %w: it is %d, this program reads up to %d",
			MetaName, ErrNewer, version.Format, FormatVersion)
	}
	if version.Format < 1 {
		return nil, fmt.Errorf("read %s: %w: its format version is %d", MetaName, ErrNotPHM, version.Format)
	}
	m := new(Meta)
	if err := json.Unmarshal(buf, m); err != nil {
		return nil, fmt.Errorf("read %s: %w: %w", MetaName, ErrNotPHM, err)
	}
	if m.Extra, err = extraFields(buf, metaFields); err != nil {
		return nil, fmt.Errorf("read %s: %w: %w", MetaName, ErrNotPHM, err)
	}
	if err := CheckPath(m.Entry); err != nil {
		return nil, fmt.Errorf("read %s: entry: %w", MetaName, err)
	}
	return m, nil
}

const metaFields = " phm generator entry title authors copyright abstract language origins primary " +
	"retrieved scope version files bytes types relocated failures failed gaps derived masked maskedfiles " +
	"maskedbytes tablebytes tablesha256 "

// extraFields returns the members of a JSON object whose names are not in known, a list as contains takes it.
// Names are compared without case, as encoding/json does.
func extraFields(object []byte, known string) (map[string]json.RawMessage, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(object, &all); err != nil {
		return nil, err
	}
	maps.DeleteFunc(all, func(name string, _ json.RawMessage) bool { return contains(known, name) })
	if len(all) == 0 {
		return nil, nil
	}
	return all, nil
}
