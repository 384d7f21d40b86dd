// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mirrord/cmd/mirrord/cli"
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

// A console with a certificate is reached over TLS only; where others reach it, there is a user first.
func TestConsoleTLS(t *testing.T) {
	dir := t.TempDir()
	names, pool := putCert(t, dir, 1)
	for names, want := range map[string]string{"x": "CERT,KEY", "x,y": "no such file"} {
		code, _, errs := runArgs(t, nil, "daemon", "--state", t.TempDir(), "--console-tls", names)
		if code != cli.ExitUsage || !strings.Contains(errs, want) {
			t.Errorf("%s: %d %s", names, code, errs)
		}
	}
	for _, address := range []string{"mirrors.example.org", "127.0.0.1:8080", "javascript:alert(1)"} {
		code, _, errs := runArgs(t, nil, "daemon", "--state", t.TempDir(), "--console-mirrors", address)
		if code != cli.ExitUsage || !strings.Contains(errs, "is not an http or https address") {
			t.Errorf("%s: %d %s", address, code, errs)
		}
	}
	code, _, errs := runArgs(t, nil, "daemon", "--jobs", t.TempDir(), "--state", t.TempDir(), "--console",
		"0.0.0.0:0", "--console-tls", names)
	if code == cli.ExitOK || !strings.Contains(errs, "mirrord console user add") {
		t.Errorf("without a user: %d %s", code, errs)
	}
	d := startDaemon(t, t.TempDir(), t.TempDir(), "--console", "127.0.0.1:0", "--console-tls", names)
	link := strings.TrimSpace(d.do(cli.ExitOK, "^https://127", "open"))
	client := &http.Client{
		Transport:     &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := client.Get(link)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	client.CloseIdleConnections()
	if resp.ProtoMajor != 2 {
		t.Errorf("the console speaks %s", resp.Proto)
	}
	if c := resp.Cookies(); resp.StatusCode != http.StatusSeeOther || len(c) != 1 || !c[0].Secure {
		t.Errorf("%s, %v", resp.Status, c)
	}
	resp, err = http.Get("http" + strings.TrimPrefix(link, "https"))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusBadRequest {
		t.Errorf("without TLS: %s", resp.Status)
	}
}
