// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"mirrord/app/env"
	"mirrord/replica/collections"
	"mirrord/replica/text"
	"mirrord/store"
)

// What the pages of a mirror say, for machines that do not have it: addresses and digests, and no contents.
// It is a zstd frame, whose checksum tells what was cut or damaged, with values of encoding/gob: the form of
// the digests (text.DigestForm), and a PageSaid for each page, in the order of the file table. A page takes
// some 200 bytes.

const (
	maxSaidAddress = 64 << 10
	maxSaidMemory  = 64 << 20 // of the decoder
)

// ErrOtherDigests says that digests were made by another version, or are none.
var ErrOtherDigests = errors.New("the node has digests of another form: its mirrord is of another version")

// PageSaid is a page of which only the digest is known.
type PageSaid struct {
	At       collections.Address
	Modified time.Time // zero: not known
	Digest   text.ContentDigest
}

// WriteSiteDigests writes what the pages of a published mirror say. Pages whose digests are not kept are
// read.
func WriteSiteDigests(ctx context.Context, w io.Writer, st *store.State, name string) error {
	root, err := env.OpenTree(st, name)
	if err != nil {
		return err
	}
	r := &replicaPages{
		trees: []replicaTree{{name: "site " + name, root: root, site: name}},
		note:  func(string) {},
		warn:  func(string) {},
		state: st,
	}
	err = WritePagesSaid(w, func(add func(*PageSaid) error) error {
		return r.digests(ctx, func(p *replicaPage) error {
			return add(&PageSaid{p.at, p.file.modified, p.digest.Digest})
		})
	})
	r.state = nil // the caller's
	return errors.Join(err, r.close())
}

// WritePagesSaid writes the pages that a function adds. Those without an address are left out.
func WritePagesSaid(w io.Writer, each func(add func(*PageSaid) error) error) error {
	z, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		return err
	}
	out := gob.NewEncoder(z)
	if err := out.Encode(uint32(text.DigestForm)); err != nil {
		return err
	}
	err = each(func(p *PageSaid) error {
		if !p.isNamed() {
			return nil
		}
		return out.Encode(p)
	})
	if err != nil {
		return err // and the frame has no end
	}
	return z.Close()
}

func (p *PageSaid) isNamed() bool {
	size := len(p.At.Host) + len(p.At.Path)
	return p.At.Host != "" && strings.HasPrefix(p.At.Path, "/") && size <= maxSaidAddress
}

// ReadSiteDigests reads what WriteSiteDigests wrote, to the end, and gives each page to f.
func ReadSiteDigests(from io.Reader, f func(*PageSaid) error) error {
	z, err := zstd.NewReader(from, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxSaidMemory))
	if err != nil {
		return err
	}
	defer z.Close()
	in := gob.NewDecoder(z)
	var form uint32
	switch err := in.Decode(&form); {
	case errors.Is(err, zstd.ErrMagicMismatch):
		return ErrOtherDigests
	case errors.Is(err, io.EOF):
		return fmt.Errorf("digests of pages: %w", io.ErrUnexpectedEOF)
	case err != nil:
		return fmt.Errorf("digests of pages: %w", err)
	case form != text.DigestForm:
		return ErrOtherDigests
	}
	for {
		p := new(PageSaid)
		err := in.Decode(p)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("digests of pages: %w", err)
		case !p.isNamed():
			return errors.New("digests of pages: an address is not valid")
		}
		if err := f(p); err != nil {
			return err
		}
	}
}
