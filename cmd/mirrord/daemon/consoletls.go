// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"crypto/tls"
	"errors"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"mirrord/internal/regular"
)

// certFiles is a certificate that is replaced while the daemon runs, as by a program that renews it. It is
// safe for concurrent use.
type certFiles struct {
	cert, key string
	log       *slog.Logger

	mu     sync.Mutex
	looked time.Time
	made   [2]time.Time // when the files were last changed
	pair   *tls.Certificate
}

// certLook is how often is looked whether the files were replaced.
const certLook = 10 * time.Second

// newCertFiles reads CERT,KEY: the names of two PEM files.
func newCertFiles(names string, log *slog.Logger) (*certFiles, error) {
	cert, key, ok := strings.Cut(names, ",")
	if !ok || cert == "" || key == "" {
		return nil, errors.New("want CERT,KEY: the names of two PEM files")
	}
	c := &certFiles{cert: cert, key: key, log: log}
	return c, c.load()
}

func (c *certFiles) load() error {
	made := [2]time.Time{}
	for i, name := range []string{c.cert, c.key} {
		fi, err := os.Stat(name)
		if err != nil {
			return err
		}
		made[i] = fi.ModTime()
	}
	if c.pair != nil && made == c.made {
		return nil
	}
	cert, err := regular.ReadSmall(c.cert)
	if err != nil {
		return err
	}
	key, err := regular.ReadSmall(c.key)
	if err != nil {
		return err
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return err
	}
	c.pair, c.made = &pair, made
	return nil
}

// get is the certificate as it is now; one that cannot be read leaves the one before.
func (c *certFiles) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); now.Sub(c.looked) >= certLook {
		c.looked = now
		if err := c.load(); err != nil {
			c.log.Error("the console's certificate cannot be read again; the last one is used", "err", err)
		}
	}
	return c.pair, nil
}

func (c *certFiles) config() *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		NextProtos:     []string{"h2", "http/1.1"},
		GetCertificate: c.get,
	}
}
