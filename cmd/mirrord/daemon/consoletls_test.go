// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// putCert writes a certificate for 127.0.0.1, and returns the pool that trusts it.
func putCert(t *testing.T, dir string, serial int64) (names string, pool *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{
		SerialNumber: big.NewInt(serial),
		NotAfter:     time.Now().Add(time.Hour),
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, about, about, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	put(t, dir, "cert.pem", string(cert))
	put(t, dir, "key.pem", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})))
	pool = x509.NewCertPool()
	pool.AppendCertsFromPEM(cert)
	return filepath.Join(dir, "cert.pem") + "," + filepath.Join(dir, "key.pem"), pool
}

// A renewed certificate is used, and a broken one is not.
func TestCertIsRenewed(t *testing.T) {
	dir := t.TempDir()
	names, _ := putCert(t, dir, 1)
	c, err := newCertFiles(names, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	at := time.Now()
	serial := func() int64 {
		t.Helper()
		at = at.Add(time.Minute)
		for _, name := range strings.Split(names, ",") { // files of one moment look the same
			if err := os.Chtimes(name, at, at); err != nil {
				t.Fatal(err)
			}
		}
		c.looked = time.Time{}
		pair, err := c.get(nil)
		if err != nil {
			t.Fatal(err)
		}
		return pair.Leaf.SerialNumber.Int64()
	}
	if n := serial(); n != 1 {
		t.Errorf("certificate %d", n)
	}
	putCert(t, dir, 2)
	if n := serial(); n != 2 {
		t.Errorf("certificate %d", n)
	}
	put(t, dir, "cert.pem", "broken")
	if n := serial(); n != 2 {
		t.Errorf("certificate %d", n)
	}
}
