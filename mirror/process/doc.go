// SPDX-License-Identifier: Apache-2.0

// Package process is what happens to one URL: it is requested, the answer is read, and a finding comes out.
//
//	ask      look.go: whether a request is needed and permitted; fallback.go: other sources than the origin
//	answer   answer.go, redirect.go: what the answer means for the URL, and whether it gets another turn
//	body     body.go, document.go, keep.go: what the body says, by package parse, and where it is stored
//	store    save.go, seen.go: Saver writes documents to the packs and knows pages by their text
//	again    rescan.go, hear.go, resume.go: stored bodies are read instead of an answer
//
// What becomes of the URL is returned: a finding that the caller applies, or another turn. What a document
// says of other URLs takes effect here, before its finding is returned: what it links to enters the frontier,
// and what it lists is evidence, which must be known before another worker requests what it covers.
package process
