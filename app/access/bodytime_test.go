// SPDX-License-Identifier: Apache-2.0

package access

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// A body that does not come ends with its time; one that came leaves the handler the time that it needs.
func TestBodyTime(t *testing.T) {
	const short = 100 * time.Millisecond
	ended := make(chan error, 1)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		BodyTime(w, r, short)
		_, err := io.ReadAll(r.Body)
		if err == nil {
			time.Sleep(3 * short) // the handler needs longer than the body may
			err = r.Context().Err()
		}
		ended <- err
	}))
	defer s.Close()
	res, err := http.Post(s.URL, "text/plain", strings.NewReader("all of it"))
	if err == nil {
		res.Body.Close()
		err = <-ended
	}
	if err != nil {
		t.Errorf("a body that came: %v", err)
	}
	c, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	io.WriteString(c, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nhalf")
	if err := <-ended; err == nil {
		t.Error("a body that did not come was read")
	}
}
