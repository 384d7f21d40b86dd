// SPDX-License-Identifier: Apache-2.0

package volatile

import (
	"fmt"
	"strings"
)

// mostExamples is how many texts Examples names.
const mostExamples = 3

// Examples names some texts in a sentence.
func Examples(texts []string) string {
	var b strings.Builder
	for i, t := range texts {
		if i == mostExamples {
			fmt.Fprintf(&b, " and %d more", len(texts)-i)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%q", t)
	}
	return b.String()
}
