// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bufio"
	"errors"
	"io/fs"
	"os"

	"mirrord/relocate"
)

// earlyName is the file of early rests. It becomes a pack of rests at the first call of Add or KeepEarly; one
// that a killed run has left is removed then, or written again.
const earlyName = "early.rests"

// earlyRests are rests that are written while documents are still appended to the packs.
type earlyRests struct {
	f    *os.File
	w    *bufio.Writer
	size int64
	pack uint32 // that the file has become; 0: none yet
}

// EarlyRest is where a rest lies that AddEarly wrote.
type EarlyRest struct {
	off int64
	len uint32
}

// AddEarly writes the rest of a document of which the file may come to stay as it is: it counts once
// KeepEarly is called. It must not be called any more once Add or KeepEarly was. One goroutine calls it.
func (r *Rests) AddEarly(w *FrameWriter, f *Frame, path string, spans []relocate.Span) (EarlyRest, error) {
	if r.early == nil {
		file, err := r.packs.root.OpenFile(earlyName, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
		if err != nil {
			return EarlyRest{}, diskErr("write rests", err)
		}
		r.early = &earlyRests{f: file, w: bufio.NewWriterSize(file, 32<<10)}
	}
	e, raw := r.early, w.rest(path, f, spans)
	if _, err := e.w.Write(raw); err != nil {
		return EarlyRest{}, diskErr("write rests", err)
	}
	at := EarlyRest{e.size, uint32(len(raw))}
	e.size += int64(len(raw))
	return at, nil
}

// takeEarly makes the file of early rests the pack that is being written, which is empty. The caller holds
// the lock.
func (r *Rests) takeEarly() error {
	e := r.early
	if e == nil {
		if err := r.packs.root.Remove(earlyName); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return diskErr("remove rests", err)
		}
		return nil
	}
	if err := errors.Join(e.w.Flush(), e.f.Close()); err != nil {
		return diskErr("write rests", err)
	}
	var err error
	e.pack, err = r.packs.adopt(earlyName, e.size)
	return err
}

// DropEarly forgets what AddEarly wrote, of a version that does not come about.
func (r *Rests) DropEarly() error {
	if r.early == nil {
		return nil
	}
	err := r.early.f.Close()
	r.early = nil
	return errors.Join(diskErr("write rests", err), diskErr("remove rests", r.packs.root.Remove(earlyName)))
}
