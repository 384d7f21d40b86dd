// SPDX-License-Identifier: Apache-2.0

package source

import (
	"bytes"
	"io"

	"mirrord/fetch"
)

// PageSink takes a body into memory. The zero value is ready; its user bounds the body by the request's
// MaxBody.
type PageSink struct{ bytes.Buffer }

// Begin allocates the buffer for the body from its start.
func (s *PageSink) Begin(*fetch.Head) (io.Writer, error) {
	s.Reset()
	return &s.Buffer, nil
}
