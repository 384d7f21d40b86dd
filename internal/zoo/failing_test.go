// SPDX-License-Identifier: Apache-2.0

package zoo

// failing are the tests that the program does not pass yet, in which "*" stands for anything, each with the
// reason. It is empty when the program passes all.
func failing() [][2]string {
	const (
		trap   = "a trap is not left out within 100 requests"
		deploy = "a 404 is confirmed after milliseconds"
		moved  = "a page that moved to another address counts as dropped"
		held   = "a run that is held back is repeated in full"
		job    = "what a changed job file removes counts as lost"
	)
	return [][2]string{
		{"a calendar without end", trap},
		{"a chain of CGI pages without end", trap},
		{"soft 404 with relative links", trap},
		{"moved to https between runs", moved},
		{"pages get another extension", moved},
		{"a held back run is repeated seldom", held},
		{"the job comes to exclude a section", job},
	}
}

// reason is why a test fails, or "".
func reason(name string) string {
	for _, f := range failing() {
		if match(f[0], name) {
			return f[1]
		}
	}
	return ""
}
