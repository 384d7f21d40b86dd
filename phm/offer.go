// SPDX-License-Identifier: Apache-2.0

package phm

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// A server of mirrors offers each of them to programs that mirror it in turn: docs/mirror-protocol.md. These
// are the words of both sides.

// OfferRel is the relation of a Link field that links to the offer of the mirror that an answer belongs to.
const OfferRel = "urn:x-mirrord:mirror"

// OfferPath is where an offer lies, below the root of its mirror.
const OfferPath = "/.well-known/mirrord/mirror"

// Offer says what can be had of a mirror.
type Offer struct {
	Format    int       `json:"mirrord"`            // offerFormat
	Version   int       `json:"version"`            // that is served
	Retrieved time.Time `json:"retrieved,omitzero"` // end of its retrieval
	Primary   string    `json:"primary"`            // origin whose URLs lie at the root
	Files     int       `json:"files"`
	Bytes     int64     `json:"bytes"`
	TableSum  string    `json:"tableSHA256"`     // of its phm.files
	Bases     []int     `json:"bases,omitempty"` // versions that an update can build on
}

const offerFormat = 1

// NewOffer offers what a mirror is.
func NewOffer(m *Meta, tableSum string, bases []int) *Offer {
	return &Offer{
		Format:    offerFormat,
		Version:   m.Version,
		Retrieved: m.Retrieved,
		Primary:   m.Primary,
		Files:     m.Files,
		Bytes:     m.Bytes,
		TableSum:  tableSum,
		Bases:     bases,
	}
}

const maxOffer = 1 << 20 // bytes

// ReadOffer reads an offer.
func ReadOffer(r io.Reader) (*Offer, error) {
	o := new(Offer)
	if err := json.NewDecoder(io.LimitReader(r, maxOffer)).Decode(o); err != nil {
		return nil, fmt.Errorf("read offer: %w", err)
	}
	switch {
	case o.Format > offerFormat:
		return nil, fmt.Errorf("read offer: %w: it is %d, this program reads up to %d", ErrNewer, o.Format,
			offerFormat)
	case o.Format != offerFormat, o.Version < 1, !isDigest(o.TableSum), o.Primary == "":
		return nil, fmt.Errorf("read offer: it has no version, origin or digest: %w", ErrNotPHM)
	}
	return o, nil
}

// TableUpdate is what follows the path of an offer for an update that has only the table of its version.
func (o *Offer) TableUpdate() string { return fmt.Sprintf("/%d/table", o.Version) }

// UpdateSince is what follows the path of an offer for an update of a version; 0: for everything.
func (o *Offer) UpdateSince(base int) string { return fmt.Sprintf("/%d/since/%d", o.Version, base) }

// EntityTag is the strong ETag of a file as mirrord serves it: its SHA-256, and the content coding, which
// makes other bytes of it.
func EntityTag(digest []byte, coding string) string {
	tag := base64.RawURLEncoding.EncodeToString(digest)
	if coding != "" {
		tag += "-" + coding
	}
	return `"` + tag + `"`
}

// ETag is that of the file as it is.
func (f *File) ETag() string {
	digest, err := hex.DecodeString(f.SHA256)
	if err != nil {
		return ""
	}
	return EntityTag(digest, "")
}
