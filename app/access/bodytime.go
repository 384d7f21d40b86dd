// SPDX-License-Identifier: Apache-2.0

package access

import (
	"io"
	"net/http"
	"time"
)

// How long the body of a request may take, from when it is known who sends it.
const (
	BeforeLogin = 10 * time.Second // of anybody
	AfterLogin  = time.Minute
)

// BodyTime bounds the time that the body of a request may take from now on; the answer is not bounded. A
// request without a body is left alone.
func BodyTime(w http.ResponseWriter, r *http.Request, d time.Duration) {
	if r.ContentLength == 0 {
		return
	}
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Now().Add(d)) // a recorder of a test has none
	r.Body = &timedBody{r.Body, rc}
}

// timedBody is a body that has a time. With its end that is over: it would end the context of the request.
type timedBody struct {
	io.ReadCloser
	rc *http.ResponseController
}

func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		_ = b.rc.SetReadDeadline(time.Time{})
	}
	return n, err
}
