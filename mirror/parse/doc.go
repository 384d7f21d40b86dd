// SPDX-License-Identifier: Apache-2.0

// Package parse reads the content of an answer: links, robots metas, the shape of a page, directory listings,
// sitemaps, addresses in scripts, the words of a page, and what differs from the body before. It has no
// effects: bytes come in, a value goes out. Package exchange admits the candidates, has the body stored and
// makes the finding.
package parse
