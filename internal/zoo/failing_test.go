// SPDX-License-Identifier: Apache-2.0

package zoo

// failing are the tests that the program does not pass yet, in which "*" stands for anything, each with the
// reason. It is empty when the program passes all.
func failing() [][2]string {
	const (
		gap      = "what fails holds back the version: no verdict gaps"
		entry    = "an entry point that fails holds back the version"
		written  = "an origin that is silent in three runs is not written off"
		wait     = "a wait of the host fails its URLs"
		trap     = "a trap is not left out within 100 requests"
		deploy   = "a 404 is confirmed after milliseconds"
		moved    = "a page that moved to another address counts as dropped"
		held     = "a run that is held back is repeated in full"
		job      = "what a changed job file removes counts as lost"
		trickles = "a URL that trickles holds the run for minutes"
	)
	return [][2]string{
		{"a calendar without end", trap},
		{"a chain of CGI pages without end", trap},
		{"soft 404 with relative links", trap},
		{"a deploy answers 404 for a minute", deploy},
		{"a rate limiter with Retry-After", wait},
		{"a broken page beside: a rate limiter with Retry-After", wait},
		{"a section closes with 401", gap},
		{"broken entry *", entry},
		{"broken section *", gap},
		{"content network*", gap},
		{"dead origin *", written},
		{"https link, *", written},
		{"loopback body that trickles", gap},
		{"loopback header that trickles", gap},
		{"loopback connection *", gap},
		{"loopback *closed port*", written},
		{"loopback certificate of a stranger", written},
		{"loopback plain http on the port of https", written},
		{"many seeds at a host that goes offline", entry},
		{"moved to https between runs", moved},
		{"one URL trickles", trickles},
		{"one of three seeds is dead", entry},
		{"one of two seeds dies later", entry},
		{"one template *", gap},
		{"picture* on *", written},
		{"pictures at an https host that refuses", written},
		{"seeds of which three have no name", entry},
		{"a held back run is repeated seldom", held},
		{"pages get another extension", moved},
		{"the job comes to exclude a section", job},
		{"most of a site fails at first", gap},
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
