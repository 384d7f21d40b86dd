// SPDX-License-Identifier: Apache-2.0

package phm

import (
	"bytes"
	"encoding/json"
)

// marshal returns JSON of v as the format writes it: compact, and without escapes that only HTML needs. Of a
// string it escapes the quote, the backslash, controls, U+2028 and U+2029; U+FFFD stands for invalid UTF-8.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
