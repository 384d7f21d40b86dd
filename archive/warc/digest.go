// SPDX-License-Identifier: Apache-2.0

package warc

import (
	"bufio"
	"bytes"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"
)

// SHA256 returns a digest as the records of this package have it.
func SHA256(sum [32]byte) string { return "sha-256:" + hex.EncodeToString(sum[:]) }

// Sum is a digest as a record says it.
type Sum struct {
	New   func() hash.Hash
	Bytes []byte
}

// ParseSum reads a labelled digest: sha1, sha256 or md5, with or without a dash, in base32 or hexadecimal. ok
// is false for others, which cannot be checked.
func ParseSum(s string) (sum Sum, ok bool) {
	label, value, found := strings.Cut(strings.TrimSpace(s), ":")
	if !found {
		return sum, false
	}
	switch strings.ReplaceAll(strings.ToLower(label), "-", "") {
	case "sha1":
		sum.New = sha1.New
	case "sha256":
		sum.New = sha256.New
	case "md5":
		sum.New = md5.New
	default:
		return sum, false
	}
	size := sum.New().Size()
	if b, err := hex.DecodeString(value); err == nil && len(b) == size {
		sum.Bytes = b
		return sum, true
	}
	b, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(
		strings.TrimRight(strings.ToUpper(value), "="))
	if err != nil || len(b) != size {
		return sum, false
	}
	sum.Bytes = b
	return sum, true
}

// sums are the digests that a record names and that can be checked.
type sums struct {
	block, body       Sum
	hasBlock, hasBody bool
}

// sums returns them. That of a revisit's body is not one, nor that of a record in parts: the body is
// elsewhere. Revisits of wget name as that of their block the digest of nothing.
func (r *Record) sums() (s sums) {
	s.block, s.hasBlock = ParseSum(r.Header.Get("WARC-Block-Digest"))
	if r.Type() == Revisit {
		s.hasBlock = s.hasBlock && !s.block.isOf(nil)
	} else if !r.segment() {
		s.body, s.hasBody = ParseSum(r.Header.Get("WARC-Payload-Digest"))
	}
	return s
}

var (
	errBlockSum = fmt.Errorf("%w of the block", ErrDigest)
	errBodySum  = fmt.Errorf("%w of the body", ErrDigest)
)

// Verify reads the remainder of the record, which must be its whole block or, after [Record.Message], its
// whole body, and compares it with the digests that the record names. The body of a chunked message may have
// been digested with its chunks or without. Digests of other kinds are not checked, nor is that of a revisit,
// whose body is elsewhere.
func (r *Record) Verify() error {
	s := r.sums()
	m, err := r.Message()
	if err != nil {
		return err
	}
	var into []io.Writer
	var ofBlock, ofBody hash.Hash
	if s.hasBlock {
		ofBlock = s.block.New()
		if m != nil {
			ofBlock.Write(m.Raw)
		}
		into = append(into, ofBlock)
	}
	if s.hasBody {
		ofBody = s.body.New()
		into = append(into, ofBody)
	}
	plain, err := r.digest(io.MultiWriter(into...), s.body, s.hasBody && (m != nil) && chunked(m.Header))
	if err != nil {
		return err
	}
	if s.hasBlock && !bytes.Equal(ofBlock.Sum(nil), s.block.Bytes) {
		return r.fail(errBlockSum)
	}
	if s.hasBody && !bytes.Equal(ofBody.Sum(nil), s.body.Bytes) && !bytes.Equal(plain, s.body.Bytes) {
		return r.fail(fmt.Errorf("%w of %s", errBodySum, r.URL()))
	}
	return nil
}

// isOf reports whether the digest is that of b.
func (s *Sum) isOf(b []byte) bool {
	h := s.New()
	h.Write(b)
	return bytes.Equal(h.Sum(nil), s.Bytes)
}

const readAtOnce = 32 << 10 // bytes of a body

// digest reads the body into w, and returns the digest of the content of its chunks.
func (r *Record) digest(w io.Writer, sum Sum, chunks bool) ([]byte, error) {
	if !chunks {
		_, err := io.CopyBuffer(w, r, make([]byte, min(r.left+1, readAtOnce))) // most records are small
		return nil, err
	}
	h := sum.New()
	b := bufio.NewReader(io.TeeReader(r, w))
	_, err := io.Copy(h, &dechunker{b: b})
	if err != nil && errors.As(err, new(*RecordError)) {
		return nil, err
	}
	_, err = io.Copy(io.Discard, b) // trailers, or a body without chunks
	return h.Sum(nil), err
}
