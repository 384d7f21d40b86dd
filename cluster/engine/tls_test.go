// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mirrord/cluster/engine"
	"mirrord/cluster/keeper"
	"mirrord/testing/poll"
)

// certificates makes an authority and a certificate of this machine that it has signed.
func certificates(t *testing.T) keeper.Certificates {
	t.Helper()
	dir := t.TempDir()
	files := keeper.Certificates{
		Cert: filepath.Join(dir, "cert.pem"),
		Key:  filepath.Join(dir, "key.pem"),
		CA:   filepath.Join(dir, "ca.pem"),
	}
	write := func(file, kind string, der []byte, err error) {
		t.Helper()
		if err == nil {
			err = os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	made := func() *ecdsa.PrivateKey {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	caKey, key := made(), made()
	ca := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "authority"},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(time.Hour),
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign,
	}
	cert := &x509.Certificate{
		SerialNumber: big.NewInt(2),
		Subject:      pkix.Name{CommonName: "keeper"},
		NotBefore:    ca.NotBefore,
		NotAfter:     ca.NotAfter,
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, ca, ca, caKey.Public(), caKey)
	write(files.CA, "CERTIFICATE", der, err)
	der, err = x509.CreateCertificate(rand.Reader, cert, ca, key.Public(), caKey)
	write(files.Cert, "CERTIFICATE", der, err)
	der, err = x509.MarshalPKCS8PrivateKey(key)
	write(files.Key, "PRIVATE KEY", der, err)
	return files
}

// With certificates a keeper serves no client that does not encrypt, and a node trusts no keeper that another
// authority signs for.
func TestTLS(t *testing.T) {
	t.Parallel()
	files := certificates(t)
	address := freePort(t)
	o := keepersWith(t, 1, func(k *keeper.Options) { k.Listen, k.TLS = address, files })
	o.Keeper, o.Node = nil, "a"
	refused := func(what, says string, change func(*engine.Options)) {
		t.Helper()
		with := o
		change(&with)
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		switch e, err := engine.Open(ctx, with); {
		case err == nil:
			e.Close()
			t.Errorf("%s: not refused", what)
		case !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "outbound buffer"):
			t.Errorf("%s: %v", what, err)
		}
	}
	o.Servers, o.CA = []string{"tls://" + address}, files.CA
	e := node(t, o)
	e.Want(wanted(3), nil, "")
	poll.Until(t, "a node over TLS has its share", func() bool { return len(e.Shared()) == 3 })
	refused("another authority", "x509: ", func(with *engine.Options) { with.CA = certificates(t).CA })
	refused("no authority", "x509: ", func(with *engine.Options) { with.CA = "" })
	refused("another secret", "another secret than --cluster-secret", func(with *engine.Options) {
		with.Secret = "another"
	})
	plain := freePort(t)
	p := keepersWith(t, 1, func(k *keeper.Options) { k.Listen = plain })
	p.Keeper, p.Node, p.CA, p.Servers = nil, "a", files.CA, []string{"tls://" + plain}
	o = p
	refused("a keeper without certificate", "nats:// instead of tls://", func(*engine.Options) {})
	refused("no keeper", "connection refused", func(with *engine.Options) {
		with.Servers = []string{"nats://" + freePort(t)}
	})
}

// Keepers speak TLS to one another; one whose certificate another authority has signed takes no part.
func TestRoutesTLS(t *testing.T) {
	if os.Getenv("MIRRORD_LONG") == "" {
		t.Skip("three keepers take seconds to choose a leader: set MIRRORD_LONG=1")
	}
	files := certificates(t)
	var joins keeper.Options
	o := keepersWith(t, 3, func(k *keeper.Options) {
		k.TLS = files
		joins = *k
	})
	for i, s := range o.Servers {
		o.Servers[i] = strings.Replace(s, "nats://", "tls://", 1)
	}
	o.Node, o.CA = "a", files.CA
	e := node(t, o)
	keepers := func() int {
		s, err := e.Look(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return len(s.Keepers)
	}
	if n := keepers(); n != 3 {
		t.Errorf("%d keepers", n)
	}
	stranger := certificates(t)
	joins.Name, joins.Dir, joins.TLS = "stranger", t.TempDir(), stranger
	joins.Listen, joins.Routes = freePort(t), freePort(t)
	k, err := keeper.Start(joins)
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	o.Node, o.CA, o.Servers = "b", stranger.CA, []string{"tls://" + joins.Listen}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if e, err := engine.Open(ctx, o); err == nil {
		e.Close()
		t.Error("a keeper of another authority takes part")
	}
}
