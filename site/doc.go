// Package site is mirrord's vocabulary: URL, scope, outcome. It knows no network, disk, clock or log.
//
// A URL is what a browser would ask for (WHATWG URL standard). The common cases are decided by code of this package without
// allocation; everything unusual goes through github.com/nlnwa/whatwg-url, so both agree by test.
package site
