// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"
)

// The walks from obstacles to a connection: proxies and certificates.

func walkProxyLogin(t *testing.T, cause string) {
	w := newWalk(t, cause)
	proxy := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Proxy-Authorization") == "" {
			rw.Header().Set("Proxy-Authenticate", `Basic realm="x"`)
			rw.WriteHeader(http.StatusProxyAuthRequired)
			return
		}
		page(rw, r)
	}))
	defer proxy.Close()
	through := fmt.Sprintf("proxy = %q", proxy.URL)
	w.job(w.site.URL+"/", through)
	w.lasts("proxy = \"http://USER:${VARIABLE}@HOST:PORT\" in the job's file")
	through = strings.Replace(through, "://", "://me@", 1)
	w.job(w.site.URL+"/", through, "auth.proxy_password_file = "+w.secret())
	w.gone()
}

func walkCertificate(t *testing.T, cause string) {
	w := newWalk(t, cause)
	secure := httptest.NewTLSServer(http.HandlerFunc(page))
	defer secure.Close()
	w.job(secure.URL + "/")
	w.lasts("name the authority that you trust for it in tls.ca_file")
	authority := w.file("ca.pem")
	block := &pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw}
	if err := os.WriteFile(authority, pem.EncodeToMemory(block), 0o644); err != nil {
		t.Fatal(err)
	}
	w.job(secure.URL+"/", fmt.Sprintf("tls.ca_file = %q", authority))
	w.gone()
}

func walkExpiredCertificate(t *testing.T, cause string) {
	w := newWalk(t, cause)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	of := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(-time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, of, of, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	secure := httptest.NewUnstartedServer(http.HandlerFunc(page))
	secure.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	secure.StartTLS()
	defer secure.Close()
	w.job(secure.URL + "/")
	w.lasts("its certificate has expired", "tls.insecure in the job's file")
	w.job(secure.URL+"/", "tls.insecure = true")
	w.gone()
}

func walkOtherName(t *testing.T, cause string) {
	w := newWalk(t, cause)
	secure := httptest.NewTLSServer(http.HandlerFunc(page))
	defer secure.Close()
	w.job(strings.Replace(secure.URL, "127.0.0.1", "wiki.test", 1)+"/", "polite.allow_private = true")
	w.lasts("its certificate is for example.com, *.example.com: look at the name in url")
	w.job(w.site.URL + "/")
	w.gone()
}

func walkNoHTTPS(t *testing.T, cause string) {
	w := newWalk(t, cause)
	w.job(strings.Replace(w.site.URL, "http:", "https:", 1) + "/")
	w.lasts("it speaks no HTTPS at that port: look at scheme and port in url")
	w.job(w.site.URL + "/")
	w.gone()
}

func walkHandshake(t *testing.T, cause string) {
	w := newWalk(t, cause)
	secure := httptest.NewUnstartedServer(http.HandlerFunc(page))
	secure.TLS = &tls.Config{MaxVersion: tls.VersionTLS11}
	secure.StartTLS()
	defer secure.Close()
	w.job(secure.URL + "/")
	w.lasts("the TLS handshake fails: the server may be too old", "works with http")
	w.job(w.site.URL + "/")
	w.gone()
}

func walkProxyRefuses(t *testing.T, cause string) {
	w := newWalk(t, cause)
	proxy := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		rw.WriteHeader(http.StatusForbidden)
	}))
	defer proxy.Close()
	w.job("https://www.example.org/", fmt.Sprintf("proxy = %q", proxy.URL))
	w.lasts("the proxy refuses that", "check proxy in the job's file")
	w.job(w.site.URL + "/")
	w.gone()
}
