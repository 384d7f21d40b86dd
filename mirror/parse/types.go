// SPDX-License-Identifier: Apache-2.0

package parse

import "mirrord/relocate"

// IsUnknownType reports whether a type is one of those of which the bytes decide (MIME Sniffing, section 7).
func IsUnknownType(mime string) bool {
	switch mime {
	case "", "unknown/unknown", "application/unknown", "*/*":
		return true
	}
	return false
}

// TypeOf returns the type of a body: that of its answer or, where that said nothing, of what the body was
// found to be.
func TypeOf(mime string, format relocate.Format) string {
	if IsUnknownType(mime) && format == relocate.HTML {
		return "text/html"
	}
	return mime
}
