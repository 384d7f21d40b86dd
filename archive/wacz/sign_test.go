// SPDX-License-Identifier: Apache-2.0

package wacz

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"mirrord/archive/warc"
	"mirrord/internal/inorder"
)

// signed is a file of one record that a key has signed.
func signed(t *testing.T, key crypto.Signer) []byte {
	t.Helper()
	var out bytes.Buffer
	b, err := NewWriter(&out, Details{Software: "test", Created: then, Sign: key}, nil)
	if err == nil {
		_, err = b.Data().Write(&warc.RecordDraft{Type: warc.Info, Date: then})
	}
	if err == nil {
		err = b.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// signerOf reads a file, and who has signed it.
func signerOf(t *testing.T, file []byte, roots *x509.CertPool) (who string, wrong []string) {
	t.Helper()
	c, err := Open(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	c.roots = roots
	note := func(name string, err error) { wrong = append(wrong, name+": "+err.Error()) }
	c.Verify(inorder.Crew{}, note)
	return c.Signer(), wrong
}

// resigned is a file whose signature is another one.
func resigned(t *testing.T, file []byte, change func(*Signature)) []byte {
	t.Helper()
	return changed(t, file, digestName, func(text []byte) []byte {
		var d packageDigest
		if err := json.Unmarshal(text, &d); err != nil {
			t.Fatal(err)
		}
		change(d.Signed)
		out, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		return out
	})
}

func ecKey(t *testing.T, curve elliptic.Curve) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// A file that was signed with a key names it; one whose signature does not fit is damaged.
func TestSigned(t *testing.T) {
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for _, made := range []crypto.Signer{ecKey(t, elliptic.P384()), ecKey(t, elliptic.P256()), ed} {
		der, err := x509.MarshalPKCS8PrivateKey(made)
		if err != nil {
			t.Fatal(err)
		}
		key, err := ParseKey(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
		if err != nil {
			t.Fatal(err)
		}
		public, err := x509.MarshalPKIXPublicKey(key.Public())
		if err != nil {
			t.Fatal(err)
		}
		file := signed(t, key)
		sum := base64.StdEncoding.EncodeToString(public)
		who, wrong := signerOf(t, file, nil)
		if !strings.HasPrefix(who, "an unknown signer, with the key sha256:") || len(wrong) > 0 {
			t.Errorf("%T: %q, %q", made, who, wrong)
		}
		for name, change := range map[string]func(*Signature){
			"another hash": func(s *Signature) { s.Hash = strings.Replace(s.Hash, "sha256:", "sha256:0", 1) },
			"no base64":    func(s *Signature) { s.Signature = "%" },
			"cut":          func(s *Signature) { s.Signature = s.Signature[:8] },
			"another key": func(s *Signature) {
				other, err := x509.MarshalPKIXPublicKey(ecKey(t, elliptic.P384()).Public())
				if err != nil || s.PublicKey != sum {
					t.Error(err, s.PublicKey)
				}
				s.PublicKey = base64.StdEncoding.EncodeToString(other)
			},
		} {
			who, wrong := signerOf(t, resigned(t, file, change), nil)
			if who != "" || !slices.ContainsFunc(wrong, func(w string) bool {
				return strings.Contains(w, errSignature.Error())
			}) {
				t.Errorf("%T, %s: %q, %q", made, name, who, wrong)
			}
		}
	}
	for _, text := range []string{"", "text", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"} {
		if _, err := ParseKey([]byte(text)); err == nil {
			t.Errorf("%q is a key", text)
		}
	}
}

// A signature for a domain counts when its certificate was valid when the file was made.
func TestSignedForDomain(t *testing.T) {
	root, leaf := ecKey(t, elliptic.P256()), ecKey(t, elliptic.P256())
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: "Root"},
		NotBefore:    then.Add(-time.Hour),
		NotAfter:     then.Add(time.Hour),
		IsCA:         true,

		BasicConstraintsValid: true,
	}
	of := *ca
	of.SerialNumber, of.Subject, of.IsCA = big.NewInt(2), pkix.Name{CommonName: "sign.test"}, false
	of.DNSNames = []string{"sign.test"}
	issue := func(c *x509.Certificate, key crypto.PublicKey) []byte {
		der, err := x509.CreateCertificate(rand.Reader, c, ca, key, root)
		if err != nil {
			t.Fatal(err)
		}
		return der
	}
	top, err := x509.ParseCertificate(issue(ca, root.Public()))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(top)
	chain := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: issue(&of, leaf.Public())}))
	for name, c := range map[string]struct {
		domain string
		made   time.Time
		roots  *x509.CertPool
		want   string
	}{
		"good":           {"sign.test", then, roots, "sign.test, whose"},
		"another domain": {"other.test", then, roots, "an unknown"},
		"too late":       {"sign.test", then.Add(2 * time.Hour), roots, "an unknown"},
		"another root":   {"sign.test", then, x509.NewCertPool(), "an unknown"},
	} {
		file := resigned(t, signed(t, leaf), func(s *Signature) {
			sum := sha256.Sum256([]byte(s.Hash))
			raw, err := leaf.Sign(rand.Reader, sum[:], crypto.SHA256) // as X.509 writes it
			if err != nil {
				t.Fatal(err)
			}
			s.PublicKey, s.Signature = "", base64.StdEncoding.EncodeToString(raw)
			s.Domain, s.DomainCert, s.Created = c.domain, chain, stamp(c.made)
		})
		who, wrong := signerOf(t, file, c.roots)
		if !strings.HasPrefix(who, c.want) || len(wrong) > 0 {
			t.Errorf("%s: %q, %q", name, who, wrong)
		}
	}
}
