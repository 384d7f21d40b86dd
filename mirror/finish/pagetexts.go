// SPDX-License-Identifier: Apache-2.0

package finish

import (
	"errors"
	"io"
	"io/fs"

	"mirrord/internal/regular"
	"mirrord/replica/text"
	"mirrord/store"
	"mirrord/store/bodies"
	"mirrord/store/disk"
	"mirrord/store/record"
)

// mostText is how much of a page is read to compare what it says, in bytes.
const mostText = 1 << 20

// pageTexts reads what pages say, as stored and as published (verdict.Texts).
type pageTexts struct {
	site   *store.Site
	reader *bodies.FrameReader
	live   regular.Root // the published tree, once it is open
	isOpen bool
}

// Now returns the text of a page as it is stored. A page whose stored body is damaged has none.
func (p *pageTexts) Now(rec *record.Resource) (string, bool, error) {
	if rec.Body != record.PackBody {
		return "", false, nil
	}
	fr, err := p.site.Frames.ReadFrame(p.reader, rec.At)
	switch {
	case errors.Is(err, disk.ErrDamaged):
		return "", false, nil
	case err != nil:
		return "", false, err
	}
	return text.Extract(fr.Body[:min(len(fr.Body), mostText)]), true, nil
}

// Before returns the text of the published file of a page. A tree or file that is missing or damaged has
// none.
func (p *pageTexts) Before(rec *record.Resource) (string, bool, error) {
	if !p.isOpen {
		p.isOpen = true
		var err error
		p.live, err = p.site.Trees.Current()
		missing := errors.Is(err, record.ErrNoVersion) || errors.Is(err, disk.ErrDamaged)
		if (err != nil) && !missing {
			return "", false, err
		}
	}
	if (p.live.Root == nil) || (rec.Path == "") {
		return "", false, nil
	}
	f, err := p.live.Open(rec.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	var body []byte
	if err == nil {
		defer f.Close()
		body, err = io.ReadAll(io.LimitReader(f, mostText))
	}
	if errors.Is(disk.Unreadable(err), disk.ErrDamaged) {
		return "", false, nil
	}
	return text.Extract(body), err == nil, err
}

func (p *pageTexts) close() {
	if p.live.Root != nil {
		p.live.Close()
	}
}
