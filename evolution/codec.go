// SPDX-License-Identifier: Apache-2.0

package evolution

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

var (
	// ErrDamaged says that bytes are no history, or not all of one.
	ErrDamaged = errors.New("the history is damaged")
	// ErrNewerFormat says that a history was written by a newer program.
	ErrNewerFormat = errors.New("the history has a newer format")
)

// formatVersion 1: as appendEntry writes it.
const formatVersion = 1

// AppendBinary writes the history: a version byte, how many entries there are, and each with its length
// before it. It never fails.
func (h *History) AppendBinary(b []byte) ([]byte, error) {
	b = binary.AppendUvarint(append(b, formatVersion), uint64(len(h.steps)))
	start := 0
	for _, m := range h.steps {
		b = binary.AppendUvarint(b, uint64(m.end-start))
		b = append(b, h.log[start:m.end]...)
		start = m.end
	}
	return b, nil
}

// MarshalBinary is AppendBinary to nothing.
func (h *History) MarshalBinary() ([]byte, error) { return h.AppendBinary(nil) }

// UnmarshalBinary reads what AppendBinary has written, and replaces the history. Every number is
// checked: a history that is cut off, or does not fit together, is ErrDamaged.
func (h *History) UnmarshalBinary(b []byte) error {
	if len(b) == 0 {
		return fmt.Errorf("read history: %w: it is empty", ErrDamaged)
	}
	if b[0] != formatVersion {
		return fmt.Errorf("read history: format %d: %w", b[0], ErrNewerFormat)
	}
	var out History
	p := parser{b: b[1:]}
	for n := p.uvarint(math.MaxInt32); n > 0 && !p.bad; n-- {
		size := p.uvarint(uint64(len(p.b)))
		if p.bad || size > uint64(len(p.b)) {
			return fmt.Errorf("read history: entry %d: %w: it is cut off", len(out.steps), ErrDamaged)
		}
		entry := p.b[:size]
		p.b = p.b[size:]
		if err := out.addEntry(entry); err != nil {
			return fmt.Errorf("read history: entry %d: %w", len(out.steps), err)
		}
	}
	if p.bad || len(p.b) > 0 {
		return fmt.Errorf("read history: %w: %d bytes too many, or no number of entries", ErrDamaged, len(p.b))
	}
	*h = out
	return nil
}

// addEntry takes in a written entry.
func (h *History) addEntry(entry []byte) error {
	var e entryReader
	if err := e.read(entry, &h.dirs, true); err != nil {
		return err
	}
	h.now.grow(h.dirs.Len())
	if err := h.now.check(&h.dirs, e.rows); err != nil {
		return errors.Join(ErrDamaged, err)
	}
	time := int64(e.seconds)
	if n := len(h.steps); n > 0 {
		time += h.steps[n-1].time
	}
	if time < 0 {
		return fmt.Errorf("%w: its time is out of range", ErrDamaged)
	}
	h.now.apply(&h.dirs, e.rows, e.gaps)
	for _, g := range e.gaps {
		if g.missed > h.now.files[g.dir] {
			return fmt.Errorf("%w: %d files not looked at of %d", ErrDamaged, g.missed, h.now.files[g.dir])
		}
	}
	for _, r := range e.rows {
		if h.now.missedAt(r.dir) > h.now.files[r.dir] {
			return fmt.Errorf("%w: more files not looked at than there are", ErrDamaged)
		}
	}
	h.log = append(h.log, entry...)
	h.steps = append(h.steps, mark{time, len(h.log)})
	h.logged = h.dirs.Len()
	return nil
}

// entryReader reads entries; it keeps its memory between them.
type entryReader struct {
	seconds uint64
	dirs    int // new ones
	rows    []row
	gaps    []gap
}

// read reads an entry. With enter it enters the new directories in the table, else it passes over them.
func (e *entryReader) read(b []byte, dirs *Dirs, enter bool) error {
	p := parser{b: b}
	e.rows, e.gaps = e.rows[:0], e.gaps[:0]
	e.seconds = p.uvarint(math.MaxInt64)
	n := p.uvarint(uint64(len(p.b)))
	e.dirs = int(n)
	for ; n > 0 && !p.bad; n-- {
		parent := p.uvarint(math.MaxInt32)
		name := p.bytes()
		if !enter || p.bad {
			continue
		}
		if parent >= uint64(dirs.Len()) {
			return fmt.Errorf("%w: a directory below one that is not there", ErrDamaged)
		}
		if err := checkDirName(name); err != nil {
			return errors.Join(ErrDamaged, err)
		}
		if _, known := dirs.Child(Dir(parent), string(name)); known {
			return fmt.Errorf("%w: directory %q comes up twice", ErrDamaged, name)
		}
		if _, err := dirs.addChild(Dir(parent), string(name)); err != nil {
			return errors.Join(ErrDamaged, err)
		}
	}
	limit := uint64(dirs.Len())
	at := uint64(0)
	for i, n := uint64(0), p.uvarint(uint64(len(p.b))); i < n && !p.bad; i++ {
		head := p.uvarint(math.MaxUint64)
		step := head >> 3
		if at += step; at >= limit || (i > 0 && step == 0) || head&7 == 0 {
			return fmt.Errorf("%w: a row without a directory", ErrDamaged)
		}
		r := row{dir: Dir(at)}
		for k, to := range [...]*uint32{&r.inserted, &r.deleted, &r.updated} {
			if head&(1<<k) != 0 {
				*to = uint32(p.uvarint(math.MaxInt32-1)) + 1
			}
		}
		e.rows = append(e.rows, r)
	}
	if len(p.b) > 0 && !p.bad {
		at = 0
		n := p.uvarint(uint64(len(p.b)))
		p.bad = p.bad || n == 0
		for i := uint64(0); i < n && !p.bad; i++ {
			step := p.uvarint(math.MaxInt32)
			if at += step; at >= limit || (i > 0 && step == 0) {
				return fmt.Errorf("%w: a gap without a directory", ErrDamaged)
			}
			e.gaps = append(e.gaps, gap{Dir(at), uint32(p.uvarint(math.MaxInt32))})
		}
	}
	if p.bad || len(p.b) > 0 {
		return fmt.Errorf("%w: an entry of %d bytes ends early, or late", ErrDamaged, len(b))
	}
	return nil
}

func checkDirName(name []byte) error {
	for _, c := range name {
		if c == '/' {
			return fmt.Errorf("%w: %q has a slash", ErrBadPath, name)
		}
	}
	return checkName(string(name))
}

// parser reads varints. After the first that is not there, or is larger than it may be, it is bad.
type parser struct {
	b   []byte
	bad bool
}

func (p *parser) uvarint(limit uint64) uint64 {
	v, n := binary.Uvarint(p.b)
	if n <= 0 || v > limit {
		p.b, p.bad = nil, true
		return 0
	}
	p.b = p.b[n:]
	return v
}

func (p *parser) bytes() []byte {
	n := p.uvarint(uint64(len(p.b)))
	if p.bad || n > uint64(len(p.b)) {
		p.b, p.bad = nil, true
		return nil
	}
	out := p.b[:n]
	p.b = p.b[n:]
	return out
}
