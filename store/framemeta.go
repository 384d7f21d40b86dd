// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/json"
	"strconv"
)

// encode appends the JSON of a head to b, as json.Marshal has it: a mirror makes one for each document, and
// reflection takes ten times as long.
func (m *FrameMeta) encode(b []byte) ([]byte, error) {
	for _, s := range [...]string{m.URL, m.MIME, m.Charset, m.ETag, m.LastModified, m.Digest} {
		if !isPlainText(s) {
			text, err := json.Marshal(m)
			return append(b, text...), err
		}
	}
	b = strconv.AppendUint(append(b, `{"id":`...), uint64(m.ID), 10)
	b = appendText(append(b, `,"url":`...), m.URL)
	if m.MIME != "" {
		b = appendText(append(b, `,"type":`...), m.MIME)
	}
	if m.Charset != "" {
		b = appendText(append(b, `,"charset":`...), m.Charset)
	}
	b = strconv.AppendInt(append(b, `,"fetched":`...), m.Fetched, 10)
	if m.ETag != "" {
		b = appendText(append(b, `,"etag":`...), m.ETag)
	}
	if m.LastModified != "" {
		b = appendText(append(b, `,"last-modified":`...), m.LastModified)
	}
	b = strconv.AppendInt(append(b, `,"size":`...), m.Size, 10)
	b = appendText(append(b, `,"sha256":`...), m.Digest)
	b = strconv.AppendUint(append(b, `,"format":`...), uint64(m.Format), 10)
	return append(b, '}'), nil
}

// isPlainText reports whether all that JSON escapes in a text are quotation marks and backslashes.
func isPlainText(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '<' || c == '>' || c == '&' {
			return false
		}
	}
	return true
}

// appendText appends a plain text as a string of JSON.
func appendText(b []byte, s string) []byte {
	b = append(b, '"')
	for i := range len(s) {
		if s[i] == '"' || s[i] == '\\' {
			b = append(b, '\\')
		}
		b = append(b, s[i])
	}
	return append(b, '"')
}
