// SPDX-License-Identifier: Apache-2.0

package zoo

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"sync"
	"time"
)

// Authority is where a job finds the certificate that the sites of https are signed by: the value of
// tls.ca_file.
const Authority = "/zoo/ca.pem"

// authority is made once for a test binary. It is valid at the time of bubbles and of clocks on walls.
var authority = sync.OnceValue(func() (a struct {
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
	pem  []byte
}) {
	var err error
	if a.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		panic(err)
	}
	t := template("zoo")
	t.IsCA, t.BasicConstraintsValid, t.KeyUsage = true, true, x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, t, t, a.key.Public(), a.key)
	if err != nil {
		panic(err)
	}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		panic(err)
	}
	a.pem = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return a
})

func template(name string) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: name},
		DNSNames:     []string{name},
		NotBefore:    time.Date(1990, 1, 1, 0, 0, 0, 0, time.UTC),
		NotAfter:     time.Date(2090, 1, 1, 0, 0, 0, 0, time.UTC),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
}

// serverTLS is how a host answers a handshake; wrong: with the certificate of another name.
func serverTLS(host string, wrong bool) *tls.Config {
	if wrong {
		host = "parking.invalid"
	}
	a := authority()
	der, err := x509.CreateCertificate(rand.Reader, template(host), a.cert, a.key.Public(), a.key)
	if err != nil {
		panic(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: a.key}}}
}
