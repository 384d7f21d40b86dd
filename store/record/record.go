// SPDX-License-Identifier: Apache-2.0

package record

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"math"
	"net/http"
	"strings"

	"github.com/zeebo/xxh3"

	"mirrord/fetch/heads"
	"mirrord/internal/binread"
	"mirrord/internal/volatile"
	"mirrord/site"
	"mirrord/store/disk"
)

// BodyKind says where the body of a resource lies.
type BodyKind uint8

// The body kinds. The numbers are part of the on-disk format.
const (
	NoBody   BodyKind = iota
	PackBody          // in a pack of the site, at Resource.At
	BlobBody          // in the blobs, named by Resource.Digest
)

// Place is the place of a frame in the packs of a site.
type Place struct {
	Pack uint32 // number of the pack file, from 1
	Off  int64  // bytes from its start
	Len  uint32 // bytes of the whole frame
	Doc  uint32 // which of the documents of a frame of many, from 1; 0: the frame is one document
}

// Compare compares places by where they lie: -1, 0 or 1.
func (at Place) Compare(other Place) int {
	return cmp.Or(cmp.Compare(at.Pack, other.Pack), cmp.Compare(at.Off, other.Off),
		cmp.Compare(at.Len, other.Len), cmp.Compare(at.Doc, other.Doc))
}

// Resource is the record of one URL: the last outcome, and the body that the mirror holds for it.
// The body stays when a later request fails; InSet says whether it is part of the mirror.
type Resource struct {
	ID  uint32   // number of the URL within its site; links refer to it
	URL site.URL // kept as the key, not in the value

	Outcome  site.Outcome // of the last request or decision
	Status   int          // HTTP status of the last answer, 0 if none
	Reason   string       // why: error text, rule, cap
	Checked  int64        // Unix seconds of the last answer
	Run      int          // number of the run that it belongs to
	Failures int          // requests in a row that failed
	Gone     int          // answers in a row that were 404 or 410

	InSet        bool
	Fetched      int64 // Unix seconds when the body came
	MIME         string
	Charset      string // from the header; "" if it named none
	ETag         string
	LastModified string
	// Unix seconds of LastModified when this body came, 0 if it said none: the time of the published file
	Modified int64
	Size     int64    // bytes of the body, decoded
	Digest   [32]byte // SHA-256 of the body, decoded
	Format   uint8    // relocate.Format of the body
	Body     BodyKind
	At       Place  // of a PackBody
	Path     string // mirror path once assigned; "" before
	Name     string // under which the site offers the file, if that is not the name of the URL (phm.SafeName)
	Target   uint32 // ID of the redirect's target plus one; 0 for none
	Fragment string // of the address that the redirect names, without '#'; only kept with a Target
	Changed  int    // version for which the body, its type or its encoding last changed
	Moved    int    // version for which the URL last entered the mirror, left it, or got another path or target

	Referrer uint32 // ID of the document in which the URL was first seen, plus one; 0 is a seed
	Depth    int    // links from a seed when first seen
	Requis   bool   // first seen as a page requisite
	NoFollow bool   // its links are not followed (meta robots, X-Robots-Tag)
	Shape    uint32 // hash of a page's title and links; 0 for no page
	ShapeNew bool   // the body before had another shape or was like no page, or there was none
	Listing  bool   // a directory index made by the server
	Cut      uint16 // the limits that cut the document short (result.Cut); its links before the cut stay
	// Evidence is a hash of what a directory listing [0] and a sitemap [1] said of the resource just before it
	// was last found to be as it is; 0 is nothing. As long as they say the same, no request is needed.
	Evidence [2]uint64
	Expires  int64 // Unix seconds until which the site said that it stays as it is; 0 if it said nothing

	NoETag   bool          // its ETag stayed as it was when the body changed: it is not to be sent
	NoDate   bool          // the same of Last-Modified
	Recent   uint16        // what was found when it was looked at again, the last time in bit 0: 1 is a change
	Observed int           // how often it was looked at again; Recent has the last 16 of these
	Volatile volatile.Rule // what always changes in it
	Source   string        // the URL on a replica that the body came from; "" when the site itself sent it
	// ID, plus one, of a page that says nearly the same as the body and was there before; 0 for none
	Like     uint32
	SameText bool // it says the same, to the word

	Head     HeadPlace // of the response with the body
	LastHead HeadPlace // of the last answer when that was a redirect or an error
	// heads.Head.Sum of the last answer that told nothing that Head does not say; 0 for none
	HeadSum uint64
	Answer  *heads.Head // of the last answer, until Commit has it; not in the value
}

// Observe notes that the resource was looked at again.
func (r *Resource) Observe(changed bool) {
	r.Recent <<= 1
	if changed {
		r.Recent |= 1
	}
	r.Observed++
}

// ComesWhole reports whether a request transfers the body although nothing changed: there are no validators
// to send, or the last answer was the same body once more.
func (r *Resource) ComesWhole() bool {
	if r.Status == http.StatusNotModified {
		return false
	}
	asks := (r.ETag != "" && !r.NoETag) || (r.LastModified != "" && !r.NoDate)
	again := r.Status == http.StatusOK && r.Observed > 0 && r.Recent&1 == 0
	return !asks || again
}

func urlPath(u site.URL) string {
	p := u.Path()
	if p == "" {
		return ""
	}
	return p[1:]
}

// StoredURL returns the URL that this package wrote as s. Any other string is damage.
func StoredURL(s string) (site.URL, error) {
	if !strings.HasPrefix(s, "http://") && !strings.HasPrefix(s, "https://") {
		return site.URL{}, fmt.Errorf("%.80q is no URL: %w", s, ErrValue)
	}
	u := site.Canonical(s)
	if u.IsZero() || u.Host() == "" {
		return site.URL{}, fmt.Errorf("%.80q is no URL: %w", s, ErrValue)
	}
	return u, nil
}

// URLOfKey returns the URL of a key of the resources.
func URLOfKey(k []byte) (site.URL, error) {
	u, err := site.URLFromKey(k)
	if err != nil {
		return u, fmt.Errorf("%w: %v", ErrValue, err)
	}
	return u, nil
}

// HeadPlace is the place of a response's headers; the zero value stands for no place.
type HeadPlace struct {
	File uint32 // number of the file, from 1
	// bytes from its start to the bundle, times headsAtOnce, and the number of the head in it, from 0
	Off int64
}

// IsZero reports whether there is no head.
func (p HeadPlace) IsZero() bool { return p == HeadPlace{} }

func (at *Place) code(c *coder) {
	numbers(c, &at.Pack)
	numbers(c, &at.Off)
	numbers(c, &at.Len)
}

// Append writes a place, but for Doc.
func (at Place) Append(b []byte) []byte { return written(b, at.code) }

func ReadPlace(d *binread.Reader) (at Place) {
	read(d, at.code)
	return at
}

// ErrValue says that a value of a database cannot be decoded. The door makes a DatabaseError of it.
var ErrValue error = badValue{}

type badValue struct{}

func (badValue) Error() string { return "its value cannot be decoded" }

func (badValue) Is(target error) bool { return target == disk.ErrDamaged }

var ErrNewerFormat = disk.Said("written by a newer mirrord")

// TextSum is by what digests know a body: the beginning of its SHA-256, with what else decides which words it
// has: the same bytes say something else under another type or encoding.
func (r *Resource) TextSum() uint64 {
	kind := crc32.ChecksumIEEE([]byte(r.MIME + "\x00" + r.Charset))
	return binary.BigEndian.Uint64(r.Digest[:]) ^ uint64(kind)
}

// A one-off mirror identifies most of its documents by a quick digest instead of the SHA-256 of the body as
// it came: only its own next run compares it. It is the XXH3 of 128 bits and a mark. A site that makes two
// pages of one quick digest hides the change of its own page, which it could as well by answering 304.
var quickMark = [16]byte([]byte("XXH3-128 of body"))

// QuickDigest is the quick digest of a body.
func QuickDigest(body []byte) (d [32]byte) {
	sum := xxh3.Hash128(body)
	binary.BigEndian.PutUint64(d[:], sum.Hi)
	binary.BigEndian.PutUint64(d[8:], sum.Lo)
	copy(d[16:], quickMark[:])
	return d
}

// HexOf is a digest as file tables have it.
func HexOf(d [32]byte) string { return hex.EncodeToString(d[:]) }

// IsQuick reports whether a digest is a quick one.
func IsQuick(d [32]byte) bool { return [16]byte(d[16:]) == quickMark }

// DigestLike is the digest of a body, a quick one where another digest is.
func DigestLike(d [32]byte, body []byte) [32]byte {
	if IsQuick(d) {
		return QuickDigest(body)
	}
	return sha256.Sum256(body)
}

// IsDigestOf reports whether a digest, quick or SHA-256, is that of a body.
func IsDigestOf(d [32]byte, body []byte) bool { return DigestLike(d, body) == d }

// Mention is added to the number of a URL that a document names and does not lead to: rel=nofollow,
// rel=canonical. Relocation needs to know of it; whether the URL is reached does not depend on it. Such
// numbers are greater than all others.
const Mention uint32 = 1 << 31

// Guess is added to the number of a URL that only a string in a script names. It is reached like any other;
// but as long as it is gone it need not be requested in every run. Such numbers are greater than those of
// links and less than mentions.
const Guess uint32 = 1 << 30

// Unnumbered stands last in the list of a document that names URLs which have no number, because no
// known URL links to them yet.
const Unnumbered = ^uint32(0)

// AppendTargets encodes the distinct URL numbers that a document links to. The numbers must be sorted;
// repeats are dropped.
func AppendTargets(b []byte, ids []uint32) []byte {
	prev := uint32(0)
	for i, id := range ids {
		if i > 0 && id == prev {
			continue
		}
		b = binary.AppendUvarint(b, uint64(id-prev))
		prev = id
	}
	return b
}

// Targets calls yield for each number of a list that AppendTargets made of sorted numbers, and reports
// whether the list is well formed as far as it was read.
func Targets(b []byte, yield func(id uint32) bool) bool {
	id := uint64(0)
	for len(b) > 0 {
		v, n := binary.Uvarint(b)
		if n <= 0 || v > math.MaxUint32 || id+v > math.MaxUint32 {
			return false
		}
		b = b[n:]
		id += v
		if !yield(uint32(id)) {
			return true
		}
	}
	return true
}
