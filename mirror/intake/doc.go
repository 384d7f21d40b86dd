// SPDX-License-Identifier: Apache-2.0

// Package intake reads what an answer brought: links, robots metas, the shape of a page, directory listings,
// sitemaps, addresses in scripts, the words of a page, and what differs from the body before. It has no
// effects: bytes come in, a value goes out. The conductor decides what becomes of the candidates, stores the
// body and applies the finding.
package intake
