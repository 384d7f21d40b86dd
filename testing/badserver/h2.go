// SPDX-License-Identifier: Apache-2.0

package badserver

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// H2 is a server of HTTP/2 over TLS that misbehaves at the level of frames. Its paths: /ok, /goaway (a
// graceful GOAWAY that does not cover the request, then good on the next connection), /goaway-error and /cut
// (the connection ends within the body, with and without a GOAWAY), /rst (RST_STREAM within the body),
// /refused (REFUSED_STREAM on the first try), /short (END_STREAM before the declared length), /long (more
// than declared), /stall (silence within the body while other streams continue), /flood and /flood-huge
// (header lists of 264 KB and 2.4 MB), /bad-frame (a frame on stream 0 that must not be).
type H2 struct {
	URL string // "https://127.0.0.1:port"
	CA  []byte // PEM, the server's own certificate

	l    net.Listener
	done chan struct{}
	wg   sync.WaitGroup

	mu    sync.Mutex
	conns map[net.Conn]bool
	hits  map[string]int
}

// StartH2 runs an H2 until the test ends.
func StartH2(t testing.TB) *H2 {
	t.Helper()
	cert, ca := certificate(t)
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		Certificates: []tls.Certificate{cert},
		NextProtos:   []string{"h2"},
	})
	if err != nil {
		t.Fatal(err)
	}
	s := &H2{
		URL:   "https://" + l.Addr().String(),
		CA:    ca,
		l:     l,
		done:  make(chan struct{}),
		conns: map[net.Conn]bool{},
		hits:  map[string]int{},
	}
	s.wg.Add(1)
	go func() {
		defer s.wg.Done()
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.conns[c] = true
			s.mu.Unlock()
			s.wg.Add(1)
			go s.serve(c)
		}
	}()
	t.Cleanup(func() {
		close(s.done)
		l.Close()
		s.mu.Lock()
		for c := range s.conns {
			c.Close()
		}
		s.mu.Unlock()
		s.wg.Wait()
	})
	return s
}

// Hits returns how often path was requested.
func (s *H2) Hits(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hits[path]
}

func certificate(t testing.TB) (tls.Certificate, []byte) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		NotBefore:             now.Add(-time.Hour),
		NotAfter:              now.Add(time.Hour),
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{
		Certificate: [][]byte{der},
		PrivateKey:  key,
	}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func (s *H2) serve(c net.Conn) {
	defer s.wg.Done()
	defer func() {
		c.Close()
		s.mu.Lock()
		delete(s.conns, c)
		s.mu.Unlock()
	}()
	preface := make([]byte, len(http2.ClientPreface))
	if _, err := io.ReadFull(c, preface); err != nil || string(preface) != http2.ClientPreface {
		return
	}
	f := http2.NewFramer(c, c)
	f.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	if f.WriteSettings() != nil {
		return
	}
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			return
		}
		switch frame := frame.(type) {
		case *http2.SettingsFrame:
			if !frame.IsAck() {
				f.WriteSettingsAck()
			}
		case *http2.PingFrame:
			if !frame.IsAck() {
				f.WritePing(true, frame.Data)
			}
		case *http2.MetaHeadersFrame:
			path := frame.PseudoValue("path")
			s.mu.Lock()
			s.hits[path]++
			nth := s.hits[path]
			s.mu.Unlock()
			if !answerH2(f, frame.StreamID, path, nth) {
				return
			}
		}
	}
}

// answerH2 answers one request and reports whether the connection is kept.
func answerH2(f *http2.Framer, id uint32, path string, nth int) bool {
	page := []byte(Page)
	head := func(length int, extra ...string) {
		var b bytes.Buffer
		e := hpack.NewEncoder(&b)
		e.WriteField(hpack.HeaderField{Name: ":status", Value: "200"})
		e.WriteField(hpack.HeaderField{Name: "content-type", Value: "text/html"})
		if length >= 0 {
			e.WriteField(hpack.HeaderField{Name: "content-length", Value: strconv.Itoa(length)})
		}
		for i := 0; i < len(extra); i += 2 {
			e.WriteField(hpack.HeaderField{Name: extra[i], Value: extra[i+1]})
		}
		block := b.Bytes()
		first := block[:min(len(block), 16<<10)]
		block = block[len(first):]
		f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: first, EndHeaders: len(block) == 0})
		for len(block) > 0 {
			next := block[:min(len(block), 16<<10)]
			block = block[len(next):]
			f.WriteContinuation(id, len(block) == 0, next)
		}
	}
	switch path {
	case "/goaway":
		if nth == 1 {
			f.WriteGoAway(0, http2.ErrCodeNo, nil)
			return false
		}
	case "/goaway-error":
		head(500)
		f.WriteData(id, false, page)
		f.WriteGoAway(id, http2.ErrCodeEnhanceYourCalm, []byte("enough"))
		return false
	case "/cut":
		head(-1)
		f.WriteData(id, false, page)
		return false
	case "/rst":
		head(500)
		f.WriteData(id, false, page)
		f.WriteRSTStream(id, http2.ErrCodeInternal)
		return true
	case "/refused":
		if nth == 1 {
			f.WriteRSTStream(id, http2.ErrCodeRefusedStream)
			return true
		}
	case "/short":
		head(500)
		f.WriteData(id, true, page)
		return true
	case "/long":
		head(10)
		f.WriteData(id, true, page)
		return true
	case "/stall":
		head(500)
		f.WriteData(id, false, page)
		return true
	case "/flood", "/flood-huge":
		extra := make([]string, 0, 400)
		for i := range map[string]int{"/flood": 22, "/flood-huge": 200}[path] {
			extra = append(extra, "x-flood-"+strconv.Itoa(i), strings.Repeat("abc", 4000))
		}
		head(len(page), extra...)
		f.WriteData(id, true, page)
		return true
	case "/bad-frame":
		f.WriteRawFrame(http2.FrameData, 0, 0, page)
		return true
	}
	head(len(page))
	f.WriteData(id, true, page)
	return true
}
