// SPDX-License-Identifier: Apache-2.0

package wacz

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/asn1"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"time"
)

// Signature is signedData of datapackage-digest.json (WACZ Signing and Verification 0.1.0): of the text of
// the hash, by a key that stands there, or by that of a certificate for a domain.
type Signature struct {
	Hash       string `json:"hash"`
	Signature  string `json:"signature"`
	PublicKey  string `json:"publicKey,omitempty"` // base64 of SubjectPublicKeyInfo
	Created    string `json:"created"`
	Software   string `json:"software"`
	Domain     string `json:"domain,omitempty"`
	DomainCert string `json:"domainCert,omitempty"` // PEM, that of the domain first
}

var (
	errKey       = errors.New("it is no private key in PEM, of ECDSA or Ed25519")
	errSignature = errors.New("the signature does not fit")
)

// ParseKey reads a private key: PKCS #8, or SEC 1 as openssl ecparam writes it.
func ParseKey(text []byte) (crypto.Signer, error) {
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		var key any
		var err error
		switch block.Type {
		case "PRIVATE KEY":
			key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
		case "EC PRIVATE KEY":
			key, err = x509.ParseECPrivateKey(block.Bytes)
		default:
			continue // parameters of the curve
		}
		switch k := key.(type) {
		case *ecdsa.PrivateKey:
			return k, err
		case ed25519.PrivateKey:
			return k, err
		}
		return nil, errors.Join(errKey, err)
	}
	return nil, errKey
}

// pair is how X.509 writes a signature of ECDSA; browsers write both numbers one after the other.
type pair struct{ R, S *big.Int }

// sign signs a hash.
func sign(key crypto.Signer, hash, software string, created time.Time) (*Signature, error) {
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return nil, err
	}
	s := &Signature{
		Hash:      hash,
		PublicKey: base64.StdEncoding.EncodeToString(public),
		Created:   stamp(created),
		Software:  software,
	}
	k, isEC := key.(*ecdsa.PrivateKey)
	text, how := []byte(hash), crypto.Hash(0)
	if isEC {
		sum := sha256.Sum256(text)
		text, how = sum[:], crypto.SHA256
	}
	raw, err := key.Sign(nil, text, how) // the same each time (RFC 6979)
	if err != nil {
		return nil, err
	}
	if isEC {
		var p pair
		if _, err := asn1.Unmarshal(raw, &p); err != nil {
			return nil, err
		}
		size := (k.Params().BitSize + 7) / 8
		raw = append(p.R.FillBytes(make([]byte, size)), p.S.FillBytes(make([]byte, size))...)
	}
	s.Signature = base64.StdEncoding.EncodeToString(raw)
	return s, nil
}

// fits reports whether a signature of a text is that of a key.
func fits(key any, text string, raw []byte) bool {
	switch k := key.(type) {
	case *ecdsa.PublicKey:
		sum := sha256.Sum256([]byte(text))
		if n := len(raw) / 2; len(raw) == 2*((k.Params().BitSize+7)/8) {
			r, s := new(big.Int).SetBytes(raw[:n]), new(big.Int).SetBytes(raw[n:])
			return ecdsa.Verify(k, sum[:], r, s)
		}
		var p pair
		rest, err := asn1.Unmarshal(raw, &p)
		return err == nil && len(rest) == 0 && ecdsa.Verify(k, sum[:], p.R, p.S)
	case ed25519.PublicKey:
		return ed25519.Verify(k, []byte(text), raw)
	}
	return false
}

// check returns who signed a hash: a domain whose certificate one of roots confirms, nil for those of the
// system, else an unknown signer, with the SHA-256 of the key.
func (s *Signature) check(hash string, roots *x509.CertPool) (who string, err error) {
	raw, err := base64.StdEncoding.DecodeString(s.Signature)
	if err != nil || s.Hash != hash {
		return "", errors.Join(errSignature, err)
	}
	public, err := base64.StdEncoding.DecodeString(s.PublicKey)
	if err != nil {
		return "", errors.Join(errSignature, err)
	}
	chain := s.certificates()
	if len(public) == 0 && len(chain) > 0 {
		public = chain[0].RawSubjectPublicKeyInfo
	}
	key, err := x509.ParsePKIXPublicKey(public)
	if err != nil || !fits(key, hash, raw) {
		return "", errors.Join(errSignature, err)
	}
	who = fmt.Sprintf("an unknown signer, with the key sha256:%x", sha256.Sum256(public))
	if len(chain) == 0 || !bytes.Equal(chain[0].RawSubjectPublicKeyInfo, public) {
		return who, nil
	}
	others := x509.NewCertPool()
	for _, c := range chain[1:] {
		others.AddCert(c)
	}
	at, err := time.Parse(time.RFC3339, s.Created)
	if err != nil {
		at = chain[0].NotBefore
	}
	if _, err := chain[0].Verify(x509.VerifyOptions{
		DNSName:       s.Domain,
		Intermediates: others,
		Roots:         roots,
		CurrentTime:   at,
		KeyUsages:     []x509.ExtKeyUsage{x509.ExtKeyUsageAny},
	}); err != nil || s.Domain == "" {
		return who, nil
	}
	return s.Domain + ", whose certificate was valid then", nil
}

// certificates reads the chain of the domain.
func (s *Signature) certificates() (all []*x509.Certificate) {
	for block, rest := pem.Decode([]byte(s.DomainCert)); block != nil; block, rest = pem.Decode(rest) {
		if c, err := x509.ParseCertificate(block.Bytes); err == nil {
			all = append(all, c)
		}
	}
	return all
}
